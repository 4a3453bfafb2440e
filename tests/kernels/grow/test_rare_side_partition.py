"""Partitions with a rare side, found by column: the same as row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.kernels.grow import rare_side_partition
from tests.guarded import Guards


def limits(limit: int, missing_left: bool) -> tuple[np.uint32, np.uint32]:
    """Return the shift that is subtracted from bins, and the largest shifted bin that goes left."""
    shift = np.uint32(0 if missing_left else 1)
    return shift, np.uint32(limit) - shift


@settings(max_examples=200)
@given(
    st.integers(1, 300), st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]), st.sampled_from([0.1, 0.7, 1.0]), st.booleans(),
    st.booleans(), st.booleans(), st.sampled_from([np.uint8, np.uint16]), st.integers(0, 2**32),
)  # fmt: skip
def test_rows_go_to_their_sides_in_their_order(n, fraction, kept, missing_left, is_left_rare, in_place, dtype, seed):
    random = np.random.default_rng(seed)
    rare, common = ([0, 1, 2], [3, 4, 255]) if is_left_rare else ([3, 4, 255], [0, 1, 2])
    bins = np.where(random.uniform(size=n) < fraction, random.choice(rare, n), random.choice(common, n)).astype(dtype)
    rows = np.flatnonzero(random.uniform(size=n) < kept)
    rows = (rows if len(rows) else np.array([n - 1])).astype(np.uint32)
    goes_left = np.where(bins[rows] == 0, missing_left, bins[rows] <= 2)
    guards = Guards()
    before = guards.copy(np.concatenate([[7, 7], rows, [7]]).astype(np.uint32))
    scratch = guards.array(len(before), np.uint32)
    start, stop = 2, 2 + len(rows)

    side = rare_side_partition.RARE_LEFT if is_left_rare else rare_side_partition.RARE_RIGHT
    with np.errstate(over="ignore"):
        n_left = rare_side_partition.partition_rare_side(
            bins, *limits(2, missing_left), side, before, before if in_place else scratch, scratch, start, stop
        )

    guards.check()
    left_rows = (before if in_place else scratch)[start : start + n_left]
    assert n_left == goes_left.sum()
    assert left_rows.tolist() == rows[goes_left].tolist()
    assert scratch[start + n_left : stop][::-1].tolist() == rows[~goes_left].tolist()
    assert before[[0, 1, -1]].tolist() == [7, 7, 7]


def side_of(bins: np.ndarray, rows: np.ndarray) -> int:
    with np.errstate(over="ignore"):
        return int(rare_side_partition.find_rare_side(bins, *limits(1, False), rows.astype(np.uint32), 0, len(rows)))


@pytest.mark.parametrize(
    ("n_left", "side"),
    [(0, "RARE_LEFT"), (2, "RARE_LEFT"), (32, "NO_RARE_SIDE"), (62, "RARE_RIGHT"), (64, "RARE_RIGHT")],
)
def test_the_rare_side_is_estimated_from_samples(n_left, side):
    bins = np.tile(np.repeat([1, 2], [n_left, 64 - n_left]), 80).astype(np.uint8)
    assert side_of(bins, np.arange(len(bins))) == getattr(rare_side_partition, side)


def test_few_rows_and_rows_far_apart_are_asked_one_by_one():
    bins = np.ones(30_000, dtype=np.uint8)
    assert side_of(bins, np.arange(rare_side_partition.MIN_ROWS)) == rare_side_partition.RARE_RIGHT
    assert side_of(bins, np.arange(rare_side_partition.MIN_ROWS - 1)) == rare_side_partition.NO_RARE_SIDE
    assert side_of(bins, np.arange(0, 30_000, 2)) == rare_side_partition.RARE_RIGHT
    assert side_of(bins, np.arange(0, 30_000, 3)) == rare_side_partition.NO_RARE_SIDE


@pytest.mark.parametrize("behind", [1, 63])
def test_samples_end_with_the_rows_of_the_leaf(behind):
    """A sample that begins behind them, or reaches beyond them, is not taken: the column may end there."""
    bins = np.repeat([1, 2], [rare_side_partition.MIN_ROWS, behind]).astype(np.uint8)
    assert side_of(bins, np.arange(len(bins))) == rare_side_partition.RARE_RIGHT


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("limit", [65_534, 65_535])
def test_the_largest_bins_go_to_their_sides(limit, missing_left):
    """Missing is bin 0, which is above any limit where it goes right."""
    with np.errstate(over="ignore"):
        goes_left = [
            bool(rare_side_partition.goes_left(np.uint16(b), *limits(limit, missing_left)))
            for b in (0, 1, 65_534, 65_535)
        ]
    assert goes_left == [missing_left, True, True, limit == 65_535]
