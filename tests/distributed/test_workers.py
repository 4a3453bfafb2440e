"""Workers combine what belongs to their rows; where one has all rows, nothing is sent or copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sapwood.distributed.communicator import Communicator
from sapwood.distributed.workers import FEATURES, LOCAL, ROWS, Workers
from sapwood.errors import InputError
from tests.distributed.worker_threads import run_workers


class Unreachable(Communicator):
    """A transport that must not be used."""

    def exchange(self, parts: Any) -> Any:
        raise AssertionError("nothing should be sent")


@pytest.mark.parametrize("workers", [LOCAL, Workers(Unreachable(0, 2), FEATURES)], ids=["local", "features"])
def test_a_worker_with_all_rows_gets_its_arguments_back(workers: Workers) -> None:
    values = np.arange(6)
    assert workers.sum(values) is values
    assert workers.max(values) is values
    assert workers.gather_rows(values) is values
    assert workers.exchange_columns([values]) is values
    assert workers.gather_columns([values])[0] is values
    assert workers.min(values).tolist() == values.tolist()
    assert workers.extrema(values.astype(float)) == (0.0, 5.0)
    assert workers.count_rows(6) == 6
    assert workers.row_offset(6) == 0
    assert workers.column_slices(2, 9) == [(2, 9)]
    assert not workers.splits_rows


def test_a_local_worker_agrees_with_itself() -> None:
    classes = np.array(["a", "b"])
    assert LOCAL.is_local
    assert not Workers(Unreachable(0, 1), ROWS).is_local
    assert LOCAL.broadcast_text(None) is None
    assert LOCAL.broadcast_text("late") == "late"
    assert LOCAL.broadcast_bool(True) is True
    assert LOCAL.broadcast_bool(False) is False
    assert LOCAL.gather_classes(classes) is classes
    LOCAL.check_same({"a": 1})


def test_rows_of_all_workers_follow_each_other() -> None:
    def work(communicator: Communicator) -> None:
        workers, rank = Workers(communicator, ROWS), communicator.rank
        here = np.arange(rank + 1) + 10 * rank
        assert workers.count_rows(len(here)) == 6
        assert workers.row_offset(len(here)) == [0, 1, 3][rank]
        assert workers.gather_rows(here).tolist() == [0, 10, 11, 20, 21, 22]
        both = workers.gather_rows(np.stack([here, -here]))
        assert both.flags.c_contiguous
        assert both[1].tolist() == [0, -10, -11, -20, -21, -22]
        assert workers.gather_rows(here, at_first=True).tolist() == [[0, 10, 11, 20, 21, 22], [], []][rank]
        assert workers.sum(np.array([rank])).tolist() == [3]
        assert workers.max(np.array([rank])).tolist() == [2]
        assert workers.min(np.array([5, 4, 4], dtype=np.uint64)[rank]) == 4
        assert workers.min(np.array([-0.5, rank])).tolist() == [-0.5, 0.0]
        assert workers.extrema(here[rank == 0 :] - 11.0) == (-1.0, 11.0)  # the first worker has no rows

    run_workers(3, work)


def test_each_worker_receives_a_slice_of_the_columns_for_all_rows() -> None:
    table = np.arange(40.0).reshape(5, 8)  # columns, rows
    rows_of = [slice(0, 3), slice(3, 4), slice(4, 8)]

    def work(communicator: Communicator) -> list[np.ndarray]:
        workers = Workers(communicator, ROWS)
        slices = workers.column_slices(0, 5)
        values = workers.exchange_columns([table[a:b, rows_of[communicator.rank]] for a, b in slices])
        start, stop = slices[communicator.rank]
        assert np.array_equal(values, table[start:stop])
        return workers.gather_columns([column[: int(column[0]) % 3] for column in values])

    for columns in run_workers(3, work):
        assert [column.tolist() for column in columns] == [column[: int(column[0]) % 3].tolist() for column in table]


def test_there_may_be_more_workers_than_columns() -> None:
    def work(communicator: Communicator) -> list[np.ndarray]:
        workers = Workers(communicator, ROWS)
        slices = workers.column_slices(0, 1)
        values = workers.exchange_columns([np.full((b - a, 2), 7.0) for a, b in slices])
        return workers.gather_columns(list(values))

    for columns in run_workers(3, work):
        assert [column.tolist() for column in columns] == [[7.0] * 6]


def test_worker_0_decides() -> None:
    def work(communicator: Communicator) -> tuple[str | None, bool]:
        workers = Workers(communicator, FEATURES)
        return workers.broadcast_text(f"text {communicator.rank}"), workers.broadcast_bool(communicator.rank == 1)

    assert run_workers(2, work) == [("text 0", False)] * 2


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda workers, rank: workers.check_rows(1 - rank), "worker 1 has no rows"),
        (lambda workers, rank: workers.check_same({"depth": rank}), "depth is 0 at worker 0 but 1 at worker 1"),
        (lambda workers, rank: workers.gather_classes(np.array([["a"], [1]][rank])), "different types"),
    ],
    ids=["no rows", "other facts", "other types of labels"],
)
def test_all_workers_raise_the_same_error(check: Any, words: str) -> None:
    def work(communicator: Communicator) -> str:
        with pytest.raises(InputError, match=words) as error:
            check(Workers(communicator, ROWS), communicator.rank)
        return str(error.value)

    assert len(set(run_workers(2, work))) == 1


def test_classes_are_those_of_all_workers() -> None:
    def work(communicator: Communicator) -> list[str]:
        classes = np.array([["b", "d"], ["a", "b"]][communicator.rank], dtype=object)
        return Workers(communicator, ROWS).gather_classes(classes).tolist()

    assert run_workers(2, work) == [["a", "b", "d"]] * 2
