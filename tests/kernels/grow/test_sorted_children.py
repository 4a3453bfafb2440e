"""Division of sorted entries among children."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.sorted_children import divide_entries
from tests.guarded import Guards


def test_entries_of_a_child_keep_their_order_and_other_nodes_are_not_touched():
    rng = np.random.default_rng(0)
    guards = Guards()
    order = guards.copy(np.stack([rng.permutation(30) for _ in range(3)]).astype(np.int32))
    order[:, 5:25] = np.stack([rng.permutation(np.arange(5, 25)) for _ in range(3)])
    before = order.copy()
    child = guards.copy(rng.integers(0, 3, 30).astype(np.int32))
    counts = np.bincount(child[5:25], minlength=3)
    starts = 5 + np.concatenate([[0], np.cumsum(counts)[:-1]])
    position, scratch = guards.array(3, np.int64), guards.array(30, np.int32)
    divide_entries(order, 5, 25, child, starts, position, scratch)
    for column, old in zip(order, before, strict=True):
        inside = [[entry for entry in old[5:25] if child[entry] == c] for c in range(3)]
        np.testing.assert_array_equal(column, [*old[:5], *(e for part in inside for e in part), *old[25:]])
    guards.check()
