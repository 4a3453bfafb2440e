"""Trees of a forest against a slow twin, node by node."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.kernels.grow import forest_tree
from sapwood.kernels.grow.forest_tree import ForestParams, ForestRows, ForestScratch
from sapwood.native.threads.team import Team
from tests.guarded import Guards
from tests.reference.forest_tree import SlowTree


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 40),
    n_outputs=st.sampled_from([1, 1, 3]),
    limits=st.tuples(
        st.sampled_from([2, 1 << 30]), st.integers(2, 5), st.integers(1, 3), st.integers(1, 4), st.integers(1, 3)
    ),
    random_thresholds=st.integers(0, 1),
)
def test_trees_equal_those_of_the_slow_twin(dtype, seed, n, n_outputs, limits, random_thresholds):
    random = np.random.default_rng(seed)
    n_bins = random.integers(1, 90, size=3)
    columns = np.array([random.integers(0 if random.uniform() < 0.5 else 1, b + 1, size=n) for b in n_bins], dtype)
    edges = [np.sort(random.normal(size=b - 1)) for b in n_bins]
    sample = np.flatnonzero(random.uniform(size=n) < 0.8).astype(np.uint32)
    sample = sample if len(sample) else np.zeros(1, np.uint32)
    weights = random.integers(1, 4, size=n)
    targets = random.integers(0, 3, size=n) if n_outputs > 1 else random.integers(-5, 6, size=n)
    amounts = targets if n_outputs > 1 else targets * weights
    max_depth, min_split, min_leaf, min_weight, max_features = limits
    params = ForestParams(
        7, n_outputs, max_depth, min_split, min_leaf, min_weight, max_features, random_thresholds
    )  # fmt: skip
    slow = SlowTree(
        columns.astype(np.int64), edges, params, 5, {int(r): int(weights[r]) for r in sample},
        {int(r): int(amounts[r]) for r in sample},
    ).grow()  # fmt: skip
    nodes, gains, rows = run_kernel(columns, edges, params, sample, weights, amounts, targets)
    assert len(nodes) == len(slow)
    for node, gain, expected in zip(nodes.tolist(), gains.tolist(), slow, strict=True):
        assert node[:4] == [expected.feature, expected.bin, expected.missing_left, expected.left]
        assert node[forest_tree.COUNT] == len(expected.rows)
        begin = node[forest_tree.BEGIN]
        assert sorted(rows[begin : begin + len(expected.rows)].tolist()) == expected.rows
        assert node[forest_tree.SUMS] == sum(int(weights[r]) for r in expected.rows)
        assert (gain == 0.0) or expected.feature >= 0


def run_kernel(columns, edges, params, sample, weights, amounts, targets):
    """Grow the tree on the second of two members and check that nothing else was written."""
    guards, n, k = Guards(), columns.shape[1], params.n_outputs
    n_cells = int(max(len(e) for e in edges)) + 2
    rows = ForestRows(
        np.zeros((2, n), np.uint32), np.zeros((2, n), np.int64), np.zeros((2, n), np.int64), targets.astype(np.int64)
    )
    m = len(sample)
    rows.rows[1, :m], rows.weights[1, :m], rows.amounts[1, :m] = sample, weights[sample], amounts[sample]
    scratch = ForestScratch(
        cells=np.zeros((2, n_cells * (k + 2)), np.int64),
        bits=np.zeros((2, n_cells // 64 + 1), np.uint64),
        bins=guards.array((2, n), np.uint32),
        order=guards.array((2, len(columns)), np.int64),
        best=guards.array((2, forest_tree.BEST_SUMS + k + 1), np.int64),
        sums=guards.array((2, k + 1), np.int64),
        stack=guards.array((2, n + 2), np.int64),
    )
    nodes, gains = guards.array((2, 2 * n + 1, forest_tree.SUMS + k + 1), np.int64), guards.array((2, 2 * n + 1), float)
    n_nodes = guards.array(2, np.int64)
    Team(2).run(
        forest_tree.grow_forest_trees, columns, np.concatenate([*edges, np.empty(0)]),
        np.cumsum([0, *(len(e) for e in edges)]), params, np.array([-1, 5]), np.array([0, m]), rows, scratch, nodes,
        gains, n_nodes,
    )  # fmt: skip
    guards.check()
    assert not scratch.cells.any() and not scratch.bits.any()
    return nodes[1, : n_nodes[1]], gains[1, : n_nodes[1]], rows.rows[1]


@given(st.integers(1, 2**64 - 1))
def test_the_lowest_set_bit(word):
    with np.errstate(over="ignore"):
        assert int(forest_tree.lowest_set_bit(np.uint64(word))) == (word & -word).bit_length() - 1
