"""The partition: stable, in parts, and nothing outside the leaf is touched."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.kernels import layout
from sapwood.kernels.grow import row_partition
from tests.guarded import Guards


def move_rows(
    partition: layout.RowPartition, bins: np.ndarray, limit: int, missing_left: int, span: tuple, parts: int
) -> int:
    """What the members of a team do, one after the other, the last first."""
    start, stop = span
    n = stop - start
    edges = [start + t * n // parts for t in range(parts + 1)]
    n_left = {}
    with np.errstate(all="ignore"):
        for t in reversed(range(parts)):
            here = edges[t], edges[t + 1]
            n_left[t] = int(
                row_partition.partition_numeric(bins, limit, missing_left, partition, *here, 1 if t == 0 else 0)
            )
        total = sum(n_left.values())
        for t in reversed(range(parts)):
            left_at = start + sum(n_left[s] for s in range(t))
            right_at = start + total + sum(edges[s + 1] - edges[s] - n_left[s] for s in range(t))
            row_partition.place_slice(
                partition, edges[t], edges[t + 1], n_left[t], left_at, right_at, 1 if t == 0 else 0
            )
    return total


@settings(max_examples=150)
@given(
    st.integers(0, 60),
    st.integers(1, 4),
    st.integers(1, 5),
    st.booleans(),
    st.sampled_from([np.uint8, np.uint16]),
    st.data(),
)
def test_rows_go_to_their_sides_in_their_order(n, parts, limit, missing_left, dtype, data):
    n += parts  # every part has a row
    start = data.draw(st.integers(0, n - parts))
    stop = data.draw(st.integers(start + parts, n))
    source = np.random.default_rng(n * 100 + parts)
    bins = source.integers(0, 6, n).astype(dtype) * dtype(1 if dtype is np.uint8 else 10_000)
    limit = limit if dtype is np.uint8 else limit * 10_000
    guards = Guards()
    partition = layout.RowPartition(
        rows=guards.copy(source.permutation(n).astype(np.uint32)),
        scratch=guards.array(n, np.uint32),
        pairs=guards.array((1, n), np.int64),
        pairs_by_row=guards.array((n, 4), np.int64),
    )
    row_numbers, pairs, pairs_by_row = partition.rows.copy(), partition.pairs.copy(), partition.pairs_by_row.copy()

    total = move_rows(partition, bins, limit, int(missing_left), (start, stop), parts)

    def goes_left(position: int) -> bool:
        bin_of_row = bins[row_numbers[position]]
        return missing_left if bin_of_row == 0 else bin_of_row <= limit

    inside = range(start, stop)
    moved = [k for k in inside if goes_left(k)] + [k for k in inside if not goes_left(k)]
    expected = [*range(start), *moved, *range(stop, n)]
    guards.check()
    assert total == sum(goes_left(k) for k in inside)
    assert partition.rows.tolist() == row_numbers[expected].tolist()
    assert partition.pairs.tolist() == pairs.tolist()
    assert partition.pairs_by_row.tolist() == pairs_by_row.tolist()


def test_the_largest_bin_can_be_a_limit():
    """All values go left; only what is missing goes right."""
    bins = np.array([0, 65_535, 1, 0, 65_534], dtype=np.uint16)
    partition = layout.RowPartition(np.arange(5, dtype=np.uint32), *(np.zeros(shape, kind) for shape, kind in (
        (5, np.uint32), ((1, 5), np.int64), ((0, 0), np.int64))))  # fmt: skip
    assert move_rows(partition, bins, 65_535, 0, (0, 5), 1) == 3
    assert partition.rows.tolist() == [1, 2, 4, 0, 3]


@given(st.lists(st.integers(0, 99), unique=True, max_size=30), st.data())
def test_a_move_can_be_undone(numbers, data):
    goes_left = data.draw(st.lists(st.booleans(), min_size=len(numbers), max_size=len(numbers)))
    ordered = sorted(numbers)
    left = [row for row, goes in zip(ordered, goes_left, strict=True) if goes]
    right = [row for row, goes in zip(ordered, goes_left, strict=True) if not goes]
    guards = Guards()
    row_numbers = guards.copy(np.array([7, *left, *right, 7], np.uint32))
    nothing = np.empty((0, 0), np.int64)
    partition = layout.RowPartition(row_numbers, guards.array(len(row_numbers), np.uint32), nothing, nothing)
    row_partition.undo_partition(partition, 1, 1 + len(left), 1 + len(ordered))
    guards.check()
    assert row_numbers.tolist() == [7, *ordered, 7]
