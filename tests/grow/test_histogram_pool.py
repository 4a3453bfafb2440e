"""Histograms of a pool that leaves have, lose and hand over."""

from __future__ import annotations

import numpy as np

from sapwood.grow.histogram_pool import HistogramPool
from sapwood.grow.workspace import WorkspaceSize, make_leaf_table
from sapwood.kernels import layout


def make_pool(n_histograms: int) -> tuple[HistogramPool, layout.LeafTable]:
    """A pool whose first histogram the root, row 0 of the table, has; no other row has one."""
    leaves = make_leaf_table(WorkspaceSize(10, 1, 4, 1, False))
    leaves.ints[:, layout.LEAF_HIST] = -1
    leaves.ints[0, layout.LEAF_HIST] = 0
    pool = HistogramPool(leaves, n_histograms)
    pool.begin_tree()
    return pool, leaves


def test_a_leaf_hands_its_histogram_over_to_one_child_and_the_other_gets_a_new_one():
    pool, leaves = make_pool(3)
    pool.hand_over(np.array([0]), np.array([2]))
    pool.give(np.array([1]))
    assert leaves.ints[:3, layout.LEAF_HIST].tolist() == [-1, 1, 0]
    assert pool.has(np.array([0, 1, 2])).tolist() == [False, True, True]
    assert pool.n_free == 1


def test_the_leaf_of_least_gain_loses_its_histogram_but_not_the_one_that_is_kept():
    pool, leaves = make_pool(3)
    pool.give(np.array([1, 2]))
    leaves.floats[:3, layout.LEAF_GAIN] = 5.0, 1.0, 3.0
    pool.reserve(1, 1, 3)
    assert pool.has(np.array([0, 1, 2])).tolist() == [True, True, False]
    pool.reserve(2, 1, 3)
    assert pool.has(np.array([0, 1, 2])).tolist() == [False, True, False]


def test_a_new_tree_begins_with_all_histograms_but_that_of_the_root():
    pool, _ = make_pool(4)
    pool.give(np.array([1, 2, 3]))
    pool.begin_tree()
    assert pool.n_free == 3
