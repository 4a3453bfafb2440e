"""Leaf values: exact sums of true gradients, values, monotone projection, and new scores."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.kernels import layout
from sapwood.kernels.leaves import leaf_values
from sapwood.native.runtime.kernel import SERIAL_SYNC
from sapwood.native.threads.team import Team
from tests.guarded import Guards

COUNT, WEIGHT, GAIN = layout.NODE_COUNT, layout.NODE_WEIGHT, layout.NODE_GAIN
GRADIENT, HESSIAN, VALUE = range(layout.NODE_OUTPUTS, layout.NODE_OUTPUTS + 3)


def make_params(**chosen) -> layout.GrowParams:
    return layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | chosen)


# --- sums -------------------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(st.integers(1, 50), st.integers(1, 6), st.integers(1, 5), st.integers(1, 3), st.booleans(), st.booleans())
def test_members_add_up_every_row_of_every_leaf_once(n, n_leaves, members, n_outputs, weighted, row_by_row):
    source = np.random.default_rng(n)
    order = source.permutation(n).astype(np.uint32)
    edges = np.sort(source.integers(0, n + 1, n_leaves - 1)).tolist()
    spans = list(zip([0, *edges], [*edges, n], strict=True))
    pairs = source.normal(size=(n_outputs, n, 2)).astype(np.float32)
    weight = source.uniform(0.5, 2.0, n) if weighted else np.empty(0)
    weight_scale = 2.0**40 if weighted else 1.0
    exact = np.array([[2.0**40, 2.0**38]] * n_outputs)
    guards = Guards()
    integers = guards.array((n_leaves, layout.LEAF_SUMS + 4), np.int64)
    for leaf, (first, last) in enumerate(spans):
        integers[leaf, [layout.LEAF_BEGIN, layout.LEAF_END, layout.LEAF_NODE]] = first, last, n_leaves - 1 - leaf
    partial = guards.array((members, n_leaves * (2 * n_outputs + 1)), np.int64)
    nodes = layout.TreeNodes(
        guards.array((n_leaves, layout.NODE_INTS), np.int64),
        guards.array((n_leaves, layout.NODE_OUTPUTS + layout.NODE_PER_OUTPUT * n_outputs), np.float64),
        guards.array(4, np.int64),
    )
    gradients = layout.Gradients(pairs.reshape(n_outputs, -1), weight, np.empty(0, np.uint64), weight_scale)
    leaf_of_row = guards.array(n, np.uint32)
    for member in range(members):
        leaf_values.mark_leaves(member, members, n_leaves, integers, order, leaf_of_row)
    for member in range(members):
        if row_by_row:
            leaf_values.sum_row_by_row(member, members, n_leaves, gradients, leaf_of_row, exact, partial)
        else:
            leaf_values.sum_leaf_pairs(member, members, n_leaves, integers, gradients, order, exact, partial)
    leaf_values.set_leaf_sums(members, n_leaves, integers, weight_scale, exact, partial, nodes)
    guards.check()

    for leaf, (first, last) in enumerate(spans):
        node, rows = n_leaves - 1 - leaf, order[first:last]
        own = [float(weight[i]) if weighted else 1.0 for i in rows]
        assert nodes.ints[node, COUNT] == last - first
        assert nodes.floats[node, WEIGHT] == sum(round(w * weight_scale) for w in own) / weight_scale
        for k in range(n_outputs):
            for side in range(2):
                scale = float(exact[k, side])
                total = sum(round(w * float(pairs[k, i, side]) * scale) for w, i in zip(own, rows, strict=True))
                assert nodes.floats[node, GRADIENT + layout.NODE_PER_OUTPUT * k + side] == total / scale


@pytest.mark.parametrize("rows", [[4, 1, 3], [4, 1, 3, 0, 5, 2]], ids=["some", "all"])
def test_several_outputs_are_summed_over_the_rows_of_the_tree(rows):
    """The last leaf has the last row."""
    pairs = np.random.default_rng(2).normal(size=(2, 6, 2)).astype(np.float32)
    order, m = np.array(rows, np.uint32), len(rows)
    integers = np.zeros((2, layout.LEAF_SUMS + 4), np.int64)
    integers[:, [layout.LEAF_BEGIN, layout.LEAF_END, layout.LEAF_NODE]] = [0, m - 1, 1], [m - 1, m, 2]
    nodes = layout.TreeNodes(
        np.zeros((3, layout.NODE_INTS), np.int64), np.zeros((3, layout.NODE_OUTPUTS + 6)), np.array([3, 0, 0])
    )
    nodes.ints[:, [layout.NODE_FEATURE, layout.NODE_LEFT]] = [0, 1], [-1, 0], [-1, 0]
    gradients = layout.Gradients(pairs.reshape(2, -1), np.empty(0), np.empty(0, np.uint64), 1.0)
    nothing = np.empty((0, m), np.int64)
    partition = layout.RowPartition(
        **dict.fromkeys(layout.RowPartition._fields, nothing) | {"rows": order, "scratch": order.copy()}
    )
    scales = layout.Scales(np.ones((2, 2)), np.full((2, 2), 2.0**30), np.zeros((2, 2), np.int64))
    scratch = layout.Scratch(np.empty((1, 8)), np.empty((1, 8), np.int64), np.full((1, 10), 7))
    leaf_values.set_leaf_values(
        0, 1, SERIAL_SYNC, 2, np.zeros(1, np.int64), make_params(reg_lambda=1.0), gradients, partition, scales, scratch,
        layout.LeafTable(integers, np.empty((2, layout.LEAF_FLOATS))), nodes,
    )  # fmt: skip
    for node, own in ((0, rows), (1, rows[:-1]), (2, rows[-1:])):
        found = nodes.floats[node, GRADIENT:].reshape(2, layout.NODE_PER_OUTPUT)[:, :2]
        np.testing.assert_allclose(found, pairs[:, own].sum(axis=1), atol=1e-6)
        assert nodes.ints[node, COUNT] == nodes.floats[node, WEIGHT] == len(own)


def test_a_sum_is_exact_where_its_terms_are():
    """Odd integers beyond 2^52 are whole already; rounding must leave them alone."""
    values = np.array([[2.0**52 + 1.0, 0.0], [2.0**52 + 3.0, 0.0]])
    out = np.zeros(2, dtype=np.int64)
    leaf_values.sum_pairs(
        values.reshape(-1), np.empty(0), np.arange(2, dtype=np.uint32), 0, 2, np.array([1.0, 1.0]), out
    )
    assert out[0] == 2**53 + 4


# --- values -----------------------------------------------------------------------------------------------------------


def random_tree(n_splits: int, source: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The tables of a tree of random shape on four features, its leaves with random sums."""
    n_nodes = 2 * n_splits + 1
    integers = np.zeros((n_nodes, layout.NODE_INTS), np.int64)
    integers[:, layout.NODE_FEATURE] = -1
    open_nodes, made = [0], 1
    for _ in range(n_splits):
        node = open_nodes.pop(source.integers(len(open_nodes)))
        integers[node, [layout.NODE_FEATURE, layout.NODE_LEFT]] = source.integers(4), made
        open_nodes += [made, made + 1]
        made += 2
    numbers = source.normal(size=(n_nodes, layout.NODE_OUTPUTS + layout.NODE_PER_OUTPUT))
    numbers[:, HESSIAN] = source.uniform(0.1, 3.0, n_nodes)
    integers[:, COUNT] = source.integers(1, 100, n_nodes)
    return integers, numbers


def leaves_below(integers: np.ndarray, node: int) -> list[int]:
    if integers[node, layout.NODE_FEATURE] < 0:
        return [node]
    left = integers[node, layout.NODE_LEFT]
    return leaves_below(integers, left) + leaves_below(integers, left + 1)


@given(st.integers(0, 12), st.integers(0, 10**6))
def test_inner_nodes_hold_what_their_leaves_hold_together(n_splits, seed):
    integers, numbers = random_tree(n_splits, np.random.default_rng(seed))
    of_leaves = integers.copy(), numbers.copy()
    leaf_values.set_node_values(integers, numbers, len(integers), 1, make_params(reg_lambda=1.0), np.zeros(4, np.int64))
    for node in range(len(integers)):
        below = leaves_below(integers, node)
        assert integers[node, COUNT] == of_leaves[0][below, COUNT].sum()
        for column in (WEIGHT, GRADIENT, HESSIAN):
            assert numbers[node, column] == pytest.approx(of_leaves[1][below, column].sum(), abs=1e-12)
        assert numbers[node, VALUE] == -numbers[node, GRADIENT] / (numbers[node, HESSIAN] + 1.0)


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("is_free", [False, True])
def test_both_sides_of_a_split_by_a_set_pay_its_penalty_unless_it_is_free(missing_left, is_free):
    integers, numbers = random_tree(1, np.random.default_rng(4))
    integers[0, layout.NODE_BIN] = layout.BITSET_SPLIT
    integers[0, layout.NODE_MISSING_LEFT] = missing_left + (layout.UNPENALISED if is_free else 0)
    params = make_params(reg_lambda=1.0, category_lambda=5.0)
    leaf_values.set_node_values(integers, numbers, 3, 1, params, np.zeros(4, np.int64))
    for node, penalty in ((0, 1.0), (1, 1.0 if is_free else 6.0), (2, 1.0 if is_free else 6.0)):
        assert numbers[node, VALUE] == -numbers[node, GRADIENT] / (numbers[node, HESSIAN] + penalty)


@given(st.integers(1, 15), st.integers(0, 10**6), st.lists(st.sampled_from([-1, 0, 1]), min_size=4, max_size=4))
def test_projected_values_rise_and_fall_as_they_should(n_splits, seed, directions):
    """Below every split on a monotone feature, each leaf of one side is at most each leaf of the other."""
    integers, numbers = random_tree(n_splits, np.random.default_rng(seed))
    params, monotone = make_params(reg_lambda=1.0, has_monotone=1), np.array(directions)
    leaf_values.set_node_values(integers, numbers, len(integers), 1, params, monotone)
    for node in range(len(integers)):
        feature, left = integers[node, layout.NODE_FEATURE], integers[node, layout.NODE_LEFT]
        if feature < 0 or directions[feature] == 0:
            continue
        sides = [numbers[leaves_below(integers, child), VALUE] for child in (left, left + 1)]
        lower, upper = sides if directions[feature] > 0 else reversed(sides)
        assert lower.max() <= upper.min()


def test_values_that_keep_the_direction_are_left_alone():
    integers, numbers = random_tree(1, np.random.default_rng(0))
    numbers[1:, GRADIENT] = 3.0, -3.0
    free, bound = numbers.copy(), numbers.copy()
    leaf_values.set_node_values(integers.copy(), free, 3, 1, make_params(reg_lambda=1.0), np.zeros(4, np.int64))
    leaf_values.set_node_values(
        integers, bound, 3, 1, make_params(reg_lambda=1.0, has_monotone=1), np.ones(4, np.int64)
    )
    assert bound[:, VALUE].tolist() == free[:, VALUE].tolist()


# --- scores -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 2, 7])
@pytest.mark.parametrize("width", [1, 3])
def test_the_values_of_leaves_are_added_to_the_scores_of_their_rows(members, width):
    source, guards = np.random.default_rng(8), Guards()
    n = 101
    order = source.permutation(n).astype(np.uint32)
    leaf_ints = np.array([[40, 101, 4], [0, 13, 1], [13, 40, 3], [0, 101, 0]])  # the last is beyond the leaves
    values = source.normal(size=(5, width))
    scores = guards.copy(source.normal(size=(5, n)))
    before = scores.copy()
    Team(members).run(leaf_values.add_leaf_values, order, leaf_ints, 3, values, 1, scores)
    guards.check()
    for k in range(5):
        for first, last, node in leaf_ints[:3]:
            for row in order[first:last]:
                added = values[node, k - 1] if 1 <= k < 1 + width else 0.0
                assert scores[k, row] == before[k, row] + added


@pytest.mark.parametrize("members", [1, 2, 7])
def test_the_values_of_all_outputs_are_added_together_where_leaves_have_all_rows(members):
    source, guards = np.random.default_rng(8), Guards()
    n = leaf_values.BLOCK + 101
    order = source.permutation(n).astype(np.uint32)
    span = np.array([[40, n], [0, 13], [13, 40]])
    values = source.normal(size=(3, 4))
    scores, leaf_of_row = guards.copy(source.normal(size=(4, n))), guards.array(n, np.uint32)
    expected = scores.copy()
    Team(1).run(leaf_values.add_leaf_values, order, np.column_stack([span, [0, 1, 2]]), 3, values, 0, expected)
    Team(members).run(leaf_values.add_leaf_vectors, order, span, values, leaf_of_row, scores)
    guards.check()
    np.testing.assert_array_equal(scores, expected)


def test_rows_outside_all_leaves_keep_their_scores():
    order, scores = np.arange(6, dtype=np.uint32), np.zeros((1, 6))
    leaf_values.add_leaf_values(order, np.array([[1, 3, 0]]), 1, np.array([[2.5]]), 0, scores)
    assert scores.tolist() == [[0.0, 2.5, 2.5, 0.0, 0.0, 0.0]]


@settings(max_examples=30)
@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=30))
def test_the_sum_of_a_leaf_is_within_a_step_per_row_of_the_true_sum(values):
    pairs = np.array([[v, abs(v)] for v in values], dtype=np.float32)
    out, scale = np.zeros(2, dtype=np.int64), 2.0**30
    leaf_values.sum_pairs(
        pairs.reshape(-1), np.empty(0), np.arange(len(values), dtype=np.uint32), 0, len(values), np.full(2, scale), out
    )
    true = sum(Fraction(float(v)) for v in pairs[:, 0])
    assert abs(Fraction(int(out[0])) / Fraction(scale) - true) <= Fraction(len(values)) / Fraction(2 * scale)
