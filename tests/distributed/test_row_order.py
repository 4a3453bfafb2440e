"""Orders of the rows of all workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sapwood.distributed import Communicator
from sapwood.distributed.row_order import RowOrder
from sapwood.distributed.workers import ROWS, Workers
from tests.distributed.worker_threads import run_workers

N = 300
SOURCE = np.random.default_rng(0)
KEYS = {
    "hashes": SOURCE.permutation(2**40 + np.arange(N)).astype(np.uint64),
    "times with ties and missing ones": np.where(SOURCE.random(N) < 0.1, np.nan, np.round(SOURCE.normal(size=N), 1)),
    "one time": np.zeros(N),
}
VALUES = SOURCE.integers(0, 1000, (3, N))
DROPPED = SOURCE.random(N) < 0.3


def run(size: int, work: Callable[[np.ndarray, Workers], Any]) -> list[Any]:
    """Return ``work(rows, workers)`` of workers that have shuffled rows, the second of three or more none."""
    owner = np.random.default_rng(size).integers(0, size, N)
    owner[(owner == 1) & (size > 2)] = 0

    def of_worker(communicator: Communicator) -> Any:
        rows = np.random.default_rng(communicator.rank).permutation(np.flatnonzero(owner == communicator.rank))
        return work(rows, Workers(communicator, ROWS))

    return run_workers(size, of_worker)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("name", KEYS)
def test_ranges_of_workers_follow_each_other_in_the_order_of_one_worker(name: str, size: int) -> None:
    alone = RowOrder.of(KEYS[name], np.arange(N))

    def work(rows: np.ndarray, workers: Workers) -> Any:
        order = RowOrder.of(KEYS[name][rows], rows, workers)
        in_range = order.to_range(VALUES[:, rows])
        np.testing.assert_array_equal(order.to_rows(in_range), VALUES[:, rows])
        np.testing.assert_array_equal(order.gather_first(VALUES[:, rows], 50), alone.gather_first(VALUES, 50))
        places = np.array([7, 0, N - 1, 7])
        np.testing.assert_array_equal(order.values_at(VALUES[0, rows], places), VALUES[0, alone.permutation[places]])
        return in_range[:, order.range_order], order.count_first(50)

    in_ranges, counts = zip(*run(size, work), strict=True)
    np.testing.assert_array_equal(np.concatenate(in_ranges, axis=1), VALUES[:, alone.permutation])
    assert max(part.shape[1] for part in in_ranges) <= -(-N // size)
    assert sum(counts) == 50


def test_rows_of_one_machine_are_not_sent_or_copied() -> None:
    order = RowOrder.of(KEYS["hashes"], np.arange(N))
    assert order.to_range(VALUES) is VALUES
    assert order.to_rows(VALUES) is VALUES
    assert order.range_order is order.permutation


@pytest.mark.parametrize("size", [2, 4])
def test_dropped_rows_leave_the_others_in_their_order(size: int) -> None:
    alone = RowOrder.of(KEYS["hashes"], np.arange(N)).without(DROPPED)
    kept = VALUES[:, ~DROPPED]
    expected = [VALUES[0, row] for row in np.argsort(KEYS["hashes"]) if not DROPPED[row]]
    assert kept[0, alone.permutation].tolist() == expected

    def work(rows: np.ndarray, workers: Workers) -> Any:
        order = RowOrder.of(KEYS["hashes"][rows], rows, workers).without(DROPPED[rows])
        return order.gather_first(VALUES[:, rows[~DROPPED[rows]]], N)

    for together in run(size, work):
        np.testing.assert_array_equal(together, kept[:, alone.permutation])


def test_an_unchanged_order_is_that_of_row_numbers() -> None:
    assert RowOrder.unchanged(np.array([5, 7, 9])).permutation.tolist() == [0, 1, 2]
    for together in run(3, lambda rows, workers: RowOrder.unchanged(rows, workers).gather_first(VALUES[0, rows], N)):
        np.testing.assert_array_equal(together, VALUES[0])
