"""Digests of rows depend on the content of every row and on its number, not on the order or the worker of rows."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.boost.checkpoint.run_fingerprint import digest_rows
from sapwood.distributed.workers import LOCAL, Workers
from tests.distributed.worker_threads import run_on_rows

RANDOM = np.random.default_rng(6)
NUMBERS = np.arange(50, dtype=np.uint64)
COLUMNS = [RANDOM.integers(0, 256, (50, 11)).astype(np.uint8), RANDOM.normal(size=50), RANDOM.normal(size=(50, 3))]


def test_the_order_of_rows_has_no_effect() -> None:
    order = RANDOM.permutation(50)
    shuffled = digest_rows(NUMBERS[order], [column[order] for column in COLUMNS], LOCAL)
    assert shuffled == digest_rows(NUMBERS, COLUMNS, LOCAL)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_worker_of_a_row_has_no_effect(size: int) -> None:
    def work(rows: np.ndarray, workers: Workers) -> str:
        return digest_rows(NUMBERS[rows], [column[rows] for column in COLUMNS], workers)

    assert set(run_on_rows(size, 50, work)) == {digest_rows(NUMBERS, COLUMNS, LOCAL)}


def test_every_byte_and_number_has_an_effect() -> None:
    found = {digest_rows(NUMBERS, COLUMNS, LOCAL), digest_rows(NUMBERS + np.uint64(1), COLUMNS, LOCAL)}
    for k, column in enumerate(COLUMNS):
        for place in np.ndindex(*column.shape[1:]):
            changed = [one.copy() for one in COLUMNS]
            changed[k][(7, *place)] += 1
            found.add(digest_rows(NUMBERS, changed, LOCAL))
    assert len(found) == 2 + 11 + 1 + 3


def test_values_that_two_rows_exchange_and_columns_that_are_left_out_have_an_effect() -> None:
    swapped = COLUMNS[1].copy()
    swapped[[3, 4]] = swapped[[4, 3]]
    variants = [COLUMNS[1]], [swapped], [None], [COLUMNS[1], None], [None, COLUMNS[1]], [np.empty((50, 0))]
    assert len({digest_rows(NUMBERS, list(one), LOCAL) for one in variants}) == len(variants) - 1  # None adds nothing
