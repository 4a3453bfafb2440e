"""Quantiles and smallest keys of the rows of several workers are those of one that has all rows."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.distributed import Communicator, selection
from sapwood.distributed.selection import kth_smallest, select_quantiles, smallest_keys
from sapwood.distributed.workers import LOCAL, ROWS, Workers
from sapwood.kernels.leaves.quantile import leaf_quantiles
from tests.distributed.worker_threads import run_on_rows, run_workers

LEAVES = 6  # the last has no rows


def select(leaf: np.ndarray, residuals: np.ndarray, weight: np.ndarray, quantile: float, size: int) -> np.ndarray:
    def work(communicator: Communicator) -> np.ndarray:
        own = np.arange(len(leaf)) % size == communicator.rank
        return select_quantiles(leaf[own], residuals[own], weight[own], LEAVES, quantile, Workers(communicator, ROWS))

    first, *others = run_workers(size, work)
    assert all(np.array_equal(first, other) for other in others)
    return np.asarray(first)


def test_a_quantile_by_hand() -> None:
    """Weights 1, 2, 1 of the residuals -1, 0.5, 4: half of the weight is reached at 0.5, nine tenths at 4."""
    leaf, residuals, weight = np.zeros(3, dtype=np.int64), np.array([4.0, -1.0, 0.5]), np.array([1.0, 1.0, 2.0])
    assert select(leaf, residuals, weight, 0.5, 2).tolist() == [0.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert select(leaf, residuals, weight, 0.9, 3)[0] == 4.0
    assert select(leaf[:2], residuals[:2], weight[:2], 0.5, 2)[0] == 1.5  # between -1 and 4


@pytest.mark.parametrize("quantile", [0.01, 0.5, 0.77])
@pytest.mark.parametrize("seed", range(6))
def test_quantiles_are_those_of_the_kernel(seed: int, quantile: float) -> None:
    source = np.random.default_rng(seed)
    n = 200
    leaf = np.sort(source.integers(0, LEAVES - 1, n))
    residuals = source.normal(size=n) * 10.0 ** source.integers(-300, 300, n) if seed % 2 else source.integers(-3, 3, n)
    weight = np.ones(n) if seed < 2 else source.choice([0.0, 0.3, 1.0, 1e6], n)
    weight[leaf == 1] = 0.0
    expected = np.empty(LEAVES)
    leaf_quantiles(
        np.arange(n, dtype=np.uint32), np.searchsorted(leaf, np.arange(LEAVES + 1)), residuals * 1.0, np.zeros(n),
        weight, quantile, np.empty(n), np.empty(n, dtype=np.uint32), expected,
    )  # fmt: skip
    for size in (1, 3):
        assert select(leaf, residuals * 1.0, weight, quantile, size).tolist() == expected.tolist()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_smallest_keys_of_each_group(size: int) -> None:
    source = np.random.default_rng(2)
    keys = source.integers(0, 2**64 - 1, 300, dtype=np.uint64) >> np.uint64(3)
    group, counts = source.integers(0, 4, 300), np.array([3, 0, 70, 1, 0])
    expected = np.zeros(300, dtype=bool)
    for k in range(4):
        rows = np.flatnonzero(group == k)
        expected[rows[np.argsort(keys[rows])[: counts[k]]]] = True
    assert np.array_equal(smallest_keys(keys, group, counts, LOCAL), expected)

    def work(rows: np.ndarray, workers: Workers) -> bool:
        return np.array_equal(smallest_keys(keys[rows], group[rows], counts, workers), expected[rows])

    assert all(run_on_rows(size, 300, work))


KEYS = {
    "spread": np.random.default_rng(3).integers(0, 2**64 - 1, 200, dtype=np.uint64),
    "in a window": np.uint64(2**63) + np.random.default_rng(4).integers(0, 1000, 200).astype(np.uint64),
    "ties": np.random.default_rng(5).integers(0, 3, 200).astype(np.uint64),
    "equal": np.full(200, 2**64 - 1, dtype=np.uint64),
}


@pytest.mark.parametrize("max_gathered", [1, 7, 1000])
@pytest.mark.parametrize("name", KEYS)
def test_the_kth_smallest_key(name: str, max_gathered: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_GATHERED", max_gathered)
    keys = KEYS[name]
    for k in (1, 2, 77, 199, 200):
        bound = np.sort(keys)[k - 1]
        expected = int(bound), int(np.count_nonzero(keys <= bound))
        assert kth_smallest(keys, k, 200) == expected
        for size in (1, 2, 3):
            assert set(
                run_on_rows(size, 200, lambda rows, workers, k=k: kth_smallest(keys[rows], k, 200, workers))
            ) == {expected}
    assert kth_smallest(keys, 0, 200) is None
    assert kth_smallest(keys, 201, 200) is None


def test_few_keys_are_gathered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "MAX_GATHERED", 16)

    def work(rows: np.ndarray, workers: Workers) -> int:
        kth_smallest(KEYS["spread"][rows], 100, 200, workers)
        return workers.communicator.sent["start"]

    # Two bounds, 256 counts and at most 16 keys.
    assert max(run_on_rows(2, 200, work)) <= 8 * (2 + 256 + 16)
