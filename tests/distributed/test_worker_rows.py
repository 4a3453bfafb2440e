"""Rows keep their numbers on whichever worker they are, and partitions that changed are refused."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.distributed.partitions import Partition, describe_partition
from sapwood.distributed.worker_rows import WorkerRows, number_rows
from sapwood.errors import InputError

PARTITIONS = [Partition(np.full((n, 2), float(n)), np.arange(n)) for n in (3, 0, 2)]


def test_rows_are_numbered_in_the_order_of_partitions() -> None:
    stored = number_rows([describe_partition(one, "here") for one in PARTITIONS])
    rows = WorkerRows([stored[2], stored[0]], [PARTITIONS[2], PARTITIONS[0]], {})
    assert rows.row_numbers.tolist() == [3, 4, 0, 1, 2]
    assert WorkerRows([], [], {}).row_numbers.tolist() == []


def test_a_partition_that_was_computed_again_must_be_what_it_was() -> None:
    stored = number_rows([describe_partition(one, "here") for one in PARTITIONS])
    WorkerRows(stored, PARTITIONS, {}).check_content("there")
    changed = [*PARTITIONS[:2], PARTITIONS[2]._replace(y=np.array([0, 2]))]
    WorkerRows(stored, changed, {}).check_content("here")  # where it was computed first, and not again
    with pytest.raises(InputError, match="partition 2 was computed again"):
        WorkerRows(stored, changed, {}).check_content("there")
    with pytest.raises(InputError, match="partition 2 was computed again"):
        WorkerRows([], [], {"valid": (stored, changed, PARTITIONS[1])}).check_content("there")
