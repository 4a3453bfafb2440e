"""The leaves of a tree that is being grown, and which is split next."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.kernels import layout
from sapwood.kernels.grow import leaf_queue

LEAF_COLUMNS = layout.LEAF_SUMS + 2


def make_params(**given) -> layout.GrowParams:
    return layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | given)


def next_leaf(order: int, gains: list[float], depths: list[int], nodes: list[int]) -> int:
    integers = np.zeros((len(gains) + 1, LEAF_COLUMNS), np.int64)
    integers[:-1, layout.LEAF_DEPTH], integers[:-1, layout.LEAF_NODE] = depths, nodes
    numbers = np.full((len(gains) + 1, layout.LEAF_FLOATS), 99.0)  # what lies beyond the leaves is not looked at
    numbers[:-1, layout.LEAF_GAIN] = gains
    return leaf_queue.next_leaf(len(gains), order, integers, numbers, False)


@pytest.mark.parametrize(
    ("gains", "leaf"), [([0.0, 2.0, 3.0], 2), ([2.0, 2.0], 0), ([0.0, 0.0], -1), ([-1.0], -1), ([0.5], 0)]
)
def test_leafwise_the_first_of_the_largest_gain_is_next(gains, leaf):
    """L3."""
    assert next_leaf(layout.LEAFWISE, gains, [0] * len(gains), list(range(len(gains)))) == leaf


def test_levelwise_the_first_node_of_the_upper_level_is_next():
    """L3: gains only say whether there is a split."""
    assert next_leaf(layout.LEVELWISE, [9.0, 1.0, 2.0], [2, 1, 1], [3, 2, 1]) == 2
    assert next_leaf(layout.LEVELWISE, [9.0, 1.0, 0.0], [2, 1, 1], [3, 2, 1]) == 1


@pytest.mark.parametrize(
    ("n_rows", "depth", "allowed"), [(10, 0, True), (9, 0, False), (10, 2, True), (10, 3, False), (1000, 3, False)]
)
def test_a_leaf_may_be_split_if_both_children_can_be_large_enough_and_depth_allows(n_rows, depth, allowed):
    assert bool(leaf_queue.can_split(n_rows, depth, make_params(max_depth=3, min_child_samples=5))) is allowed


def test_a_single_row_is_never_split():
    assert not leaf_queue.can_split(1, 0, make_params(max_depth=3, min_child_samples=1))
