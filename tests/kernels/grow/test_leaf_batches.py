"""Leaves that are expanded in batches: whatever is expanded ahead, the splits are those of one leaf at a time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.grow.workspace import WorkspaceSize, make_leaf_table, make_tree_nodes
from sapwood.kernels import layout
from sapwood.kernels.grow import leaf_batches
from tests.kernels.split.test_best_split import make_params

SIZE = WorkspaceSize(10, 1, 9, 1, False)


class Splits:
    """The gain of every node that could be: that of a child is drawn when its parent is expanded."""

    def __init__(self, gains: list[float]) -> None:
        self.gains = gains

    def gain(self, path: tuple[int, ...]) -> float:
        return self.gains[hash(path) % len(self.gains)]


def split_slowly(splits: Splits, max_leaves: int, max_depth: int, growth: int) -> list[tuple[int, ...]]:
    """The paths of the leaves in the order in which they are split, one at a time."""
    leaves, nodes, n_nodes, order = [()], {(): 0}, 1, []
    while len(leaves) < max_leaves:
        gains = [splits.gain(path) if len(path) < max_depth else 0.0 for path in leaves]
        found = [k for k in range(len(leaves)) if gains[k] > 0.0]
        if not found:
            break
        if growth == layout.LEVELWISE:
            k = min(found, key=lambda k: (len(leaves[k]), nodes[leaves[k]]))
        else:
            k = max(found, key=lambda k: (gains[k], -k))
        path = leaves[k]
        order.append(path)
        leaves[k], new = (*path, 0), (*path, 1)
        leaves.append(new)
        nodes[(*path, 0)], nodes[new] = n_nodes, n_nodes + 1
        n_nodes += 2
    return order


def split_in_batches(
    splits: Splits, max_leaves: int, max_depth: int, growth: int, max_batch: int, min_large_gain: float
) -> tuple[list[int], list[tuple[int, ...]]]:
    """The nodes of the finished tree: the left child of each (0: a leaf), and the path of each."""
    params = make_params(growth=growth, max_leaves=max_leaves, max_depth=max_depth)
    leaves, nodes = make_leaf_table(SIZE), make_tree_nodes(SIZE, 1)
    nodes.info[:] = 1, 1, layout.OK
    n_rows = np.array([100, *[9, 91] * 13])  # one child of every leaf is large
    table_rows, queue, queued_gains = np.zeros(9, np.int64), np.zeros(18, np.int64), np.zeros(18)
    paths: list[tuple[int, ...]] = [()]
    leaves.floats[0, layout.LEAF_GAIN] = splits.gain(()) if max_depth > 0 else 0.0
    while True:
        leaf_batches.commit_leaves(params, leaves, nodes, table_rows)
        n_spare = (27 - len(paths)) // 2 - (max_leaves - int(nodes.info[layout.N_LEAVES]))
        batch, out = np.zeros((min(max_batch, 1 + n_spare), 4), np.int64), np.zeros(2, np.int64)
        leaf_batches.plan_batch(
            params, leaves, nodes, table_rows, n_rows, min_large_gain, queue, queued_gains, batch, out
        )  # fmt: skip
        if out[0] == 0:
            break
        for row in batch[: out[0], layout.BATCH_LEAF].tolist():
            leaves.ints[row, layout.LEAF_CHILD] = len(paths)
            for side in range(2):
                child = len(paths)
                paths.append((*paths[row], side))
                leaves.ints[child] = 0
                leaves.ints[child, layout.LEAF_DEPTH] = len(paths[child])
                is_open = not out[1] and len(paths[child]) < max_depth
                leaves.floats[child, layout.LEAF_GAIN] = splits.gain(paths[child]) if is_open else 0.0
    n_nodes = int(nodes.info[layout.N_NODES])
    left = nodes.ints[:n_nodes, layout.NODE_LEFT].tolist()
    path_of = {0: ()}
    for node in range(n_nodes):
        if left[node]:
            path_of[left[node]], path_of[left[node] + 1] = (*path_of[node], 0), (*path_of[node], 1)
    return left, [path_of[node] for node in range(n_nodes)]


@given(
    st.lists(st.floats(0.0, 10.0), min_size=1, max_size=40),
    st.integers(2, 9),
    st.integers(0, 6),
    st.sampled_from([layout.LEAFWISE, layout.LEVELWISE]),
    st.sampled_from([1, 2, 9]),
    st.floats(0.0, 10.0),
)
def test_the_order_of_splits_does_not_depend_on_what_is_expanded_ahead(
    gains, max_leaves, max_depth, growth, max_batch, min_large_gain
):
    splits = Splits(gains)
    order = split_slowly(splits, max_leaves, max_depth, growth)
    left, paths = split_in_batches(splits, max_leaves, max_depth, growth, max_batch, min_large_gain)
    assert [
        path for _, path in sorted((first, path) for first, path in zip(left, paths, strict=True) if first)
    ] == order


def table_of_leaves(gains: list[float]) -> tuple[layout.LeafTable, layout.TreeNodes]:
    """A tree of leaves that are not expanded, of these gains, in the first rows of the leaf table."""
    leaves, nodes = make_leaf_table(SIZE), make_tree_nodes(SIZE, 1)
    nodes.info[:] = 2 * len(gains) - 1, len(gains), layout.OK
    leaves.floats[: len(gains), layout.LEAF_GAIN] = gains
    return leaves, nodes


@pytest.mark.parametrize(("min_large_gain", "expected"), [(0.0, [0, 1, 2]), (2.9, [0, 1, 2]), (3.1, [0, 2])])
def test_large_leaves_are_expanded_ahead_only_with_enough_gain(min_large_gain, expected):
    leaves, nodes = table_of_leaves([4.0, 3.0, 2.0])
    batch, out = np.zeros((9, 4), np.int64), np.zeros(2, np.int64)
    leaf_batches.plan_batch(
        make_params(growth=layout.LEAFWISE, max_leaves=9, max_depth=9), leaves, nodes, np.arange(9),
        np.array([100, 90, 10]), min_large_gain, np.zeros(18, np.int64), np.zeros(18), batch, out,
    )  # fmt: skip
    assert batch[: out[0], layout.BATCH_LEAF].tolist() == expected


@pytest.mark.parametrize(("n_rows", "expected"), [([100, 50, 40], 4.0), ([100, 10, 11], 2.0), ([100, 10, 10], 0.0)])
def test_the_highest_gain_of_large_leaves_is_found(n_rows, expected):
    leaves, _ = table_of_leaves([9.0, 4.0, 2.0])
    found = np.full(1, np.nan)
    leaf_batches.find_large_gain(2, leaves, np.array([2, 1, 0]), np.array(n_rows), found)
    assert found[0] == expected


@pytest.mark.parametrize(("left", "right", "lighter"), [(3, 4, 0), (4, 3, 1), (3, 3, 0)])
@pytest.mark.parametrize("wide", [0, 1])
def test_the_lighter_child_has_the_smaller_sum_of_hessians(left, right, lighter, wide):
    sums = np.array([-9, left, 8, right]) if wide else np.array([(-9 << 32) + left, (8 << 32) + right])
    assert leaf_batches.lighter_child(sums, wide) == lighter
