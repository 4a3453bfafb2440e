"""The grower of kernels against the slow one, node by node, and examples computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, reject, settings

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import read_table
from sapwood.errors import TrainingError
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.histogram import HistogramGrower, is_wide
from sapwood.native.threads.team import SERIAL_TEAM, Team
from sapwood.params.declaration import TreeParams
from sapwood.params.options import Symmetric
from tests.grow.small_tables import COLUMNS, NO_WEIGHT, Example, check, examples, grow_fast, grow_slowly
from tests.reference.grower import TooCloseError

FREE = TreeParams(max_leaves=8, min_child_samples=1, min_child_weight=0.0, reg_lambda=0.0, precision="wide")


@settings(max_examples=300)
@given(examples())
def test_the_tree_is_that_of_the_slow_grower(example):
    try:
        slow = grow_slowly(example)
    except TooCloseError:
        reject()
    check(grow_fast(example), slow)


@settings(max_examples=40)
@given(examples())
def test_a_team_grows_the_tree_of_one(example):
    alone = grow_fast(example)
    for name in COLUMNS:
        expected = getattr(alone, name).copy()
        np.testing.assert_array_equal(getattr(grow_fast(example, 5), name), expected, err_msg=name)


@settings(max_examples=60)
@given(examples())
def test_the_rows_of_a_leaf_stay_in_their_order(example):
    try:
        slow = grow_slowly(example)
    except TooCloseError:
        reject()
    grown = grow_fast(example)
    for (first, last), node in zip(grown.leaf_ranges, grown.leaf_node, strict=True):
        assert grown.leaf_rows[first:last].tolist() == slow.nodes[node].rows


def test_a_large_table_with_all_rules_gives_the_same_tree_on_any_team():
    """Large enough that members share out both the rows of a leaf and the building of its histogram."""
    source = np.random.default_rng(3)
    X = source.normal(size=(20_000, 7)).round(2)
    X[source.uniform(size=X.shape) < 0.05] = np.nan
    pairs = np.stack([source.normal(size=20_000), source.uniform(0.01, 1.0, 20_000)], axis=1).astype(np.float32)
    for precision in ("packed", "wide"):
        params = TreeParams(max_leaves=40, min_child_samples=30, reg_alpha=0.01, precision=precision)
        example = Example(X, pairs, source.uniform(size=20_000), params)
        alone = grow_fast(example)
        span, order, value = alone.leaf_ranges.copy(), alone.leaf_rows.copy(), alone.value.copy()
        for members in (2, 3, 8):
            other = grow_fast(example, members)
            np.testing.assert_array_equal(other.leaf_ranges, span)
            np.testing.assert_array_equal(other.leaf_rows, order)
            np.testing.assert_array_equal(other.value, value)


def test_a_tree_that_is_kept_lets_go_of_the_rows():
    tree = grow_fast(Example(np.arange(40.0)[:, None], np.ones((40, 2), np.float32), None, FREE))
    kept = tree.without_rows()
    assert (kept.n_leaves, len(kept.leaf_rows), len(kept.leaf_ranges), len(kept.leaf_node)) == (0, 0, 0, 0)
    assert (kept.integers is tree.integers, kept.numbers is tree.numbers) == (True, True)


# --- by hand ----------------------------------------------------------------------------------------------------------


def by_hand(X, gradient, hessian, **rules) -> GrownTree:
    params = TreeParams(**(vars(FREE) | rules))
    pairs = np.array([gradient, hessian], dtype=np.float32).T
    return grow_fast(Example(np.array(X, dtype=float), pairs, None, params))


@pytest.mark.parametrize("lightest", [0.0, 40.0])
def test_cosine_finds_the_same_cuts_as_vector_code_and_by_every_rule(lightest):
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 6))
    X[random.random(X.shape) < 0.1] = np.nan
    pairs = np.stack([random.normal(size=3000), random.random(3000)], axis=1).astype(np.float32)[None]
    trees = []
    for limit in (0.0, 1e300):  # a limit that no value reaches is a rule nevertheless
        params = TreeParams(
            growth=Symmetric("cosine"), max_depth=5, max_leaves=32, min_child_weight=lightest, max_delta_step=limit,
            precision="packed",
        )  # fmt: skip
        grower = HistogramGrower(BinnedDataset.build(read_table(X)), 1, params, 0, Team(2))
        trees.append(grower.grow(pairs, NO_WEIGHT, 0))
    for name in ("feature", "bin", "missing_left", "gain"):
        assert np.array_equal(getattr(trees[0], name), getattr(trees[1], name))
    assert len(trees[0].feature) == 63


def test_the_leaves_of_five_rows_have_the_values_of_the_formula():
    """X1, X2: leaves I_1 = {1, 3}, I_2 = {4}, I_3 = {2, 5}; w_j = -G_j / (H_j + λ) with λ = 1."""
    g = [1.0, -3.0, 2.0, 6.0, -1.0]
    h = [1.0, 1.0, 2.0, 1.0, 3.0]
    leaf = [0.0, 2.0, 0.0, 1.0, 2.0]  # q(x): rows 1 and 3 on the left, then row 4, then rows 2 and 5
    tree = by_hand([[place] for place in leaf], g, h, reg_lambda=1.0, max_leaves=3)
    of_row = {}
    for (first, last), node in zip(tree.leaf_ranges, tree.leaf_node, strict=True):
        for row in tree.leaf_rows[first:last]:
            of_row[int(row) + 1] = float(tree.value[node, 0])
    assert of_row == {1: -3 / 4, 3: -3 / 4, 4: -6 / 2, 2: 4 / 5, 5: 4 / 5}
    objective = -0.5 * sum(G * G / (H + 1.0) for G, H in [(3.0, 3.0), (6.0, 1.0), (-4.0, 4.0)])
    of_root = -0.5 * 5.0**2 / (8.0 + 1.0)
    assert float(tree.gain.sum()) == pytest.approx(of_root - objective)


def test_the_second_split_of_eight_rows_has_the_gain_of_the_formula():
    """X2: {7, 8} split off first, then {1, ..., 6} into {1, 3, 5} and {2, 4, 6}, at the price γ of a leaf."""
    g = [1.0, -2.0, 1.5, -1.0, 2.0, -1.5, 6.0, 7.0]
    h = [1.0, 2.0, 1.0, 1.0, 0.5, 1.0, 1.0, 1.5]
    first = [0, 0, 0, 0, 0, 0, 1, 1]
    second = [0, 1, 0, 1, 0, 1, 0, 1]
    price, reg_lambda = 0.25, 1.0
    tree = by_hand(np.array([first, second]).T, g, h, reg_lambda=reg_lambda, min_split_gain=price, max_leaves=3)
    assert tree.feature.tolist() == [0, 1, -1, -1, -1]

    def score(G, H):
        return G * G / (H + reg_lambda)

    parts = {"78": (13.0, 2.5), "135": (4.5, 2.5), "246": (-4.5, 4.0), "1-6": (0.0, 6.5), "all": (13.0, 9.0)}
    before = 0.5 * (score(*parts["78"]) + score(*parts["1-6"]) - score(*parts["all"])) - price
    after = 0.5 * (score(*parts["135"]) + score(*parts["246"]) - score(*parts["1-6"])) - price
    assert tree.gain[:2].tolist() == pytest.approx([before, after], rel=1e-12)


def test_a_split_that_brings_no_more_than_its_price_is_not_made():
    """X2: no split with gain ≤ 0. Here ½[1/1 + 1/1 − 0] = 1 before the price."""
    X, g, h = [[0.0], [1.0]], [1.0, -1.0], [1.0, 1.0]
    assert by_hand(X, g, h, min_split_gain=0.99).feature.tolist() == [0, -1, -1]
    assert by_hand(X, g, h, min_split_gain=1.0).feature.tolist() == [-1]


def test_of_equal_features_the_first_is_taken():
    tree = by_hand([[0, 0], [0, 0], [1, 1]], [1.0, 1.0, -2.0], [1.0] * 3)
    assert tree.feature[0] == 0


def test_of_equal_cuts_the_first_bin_is_taken():
    """Cutting off the first or the last of three rows is worth the same."""
    tree = by_hand([[0], [1], [2]], [1.0, 0.0, 1.0], [1.0] * 3, max_leaves=2)
    assert (tree.bin[0], tree.count.tolist()) == (1, [3, 1, 2])


def test_where_the_side_of_the_missing_does_not_matter_they_go_right():
    """The missing row weighs nothing against either side: both sides bring the same gain."""
    tree = by_hand([[0], [1], [np.nan]], [1.0, -1.0, 0.0], [1.0, 1.0, 1.0], max_leaves=2)
    assert tree.missing_left[0] == 0


def test_where_nothing_is_missing_the_missing_will_go_to_the_heavier_side():
    assert by_hand([[0], [1]], [1.0, -1.0], [1.0, 2.0]).missing_left[0] == 0
    assert by_hand([[0], [1]], [1.0, -1.0], [2.0, 1.0]).missing_left[0] == 1
    assert by_hand([[0], [1]], [1.0, -1.0], [1.0, 1.0]).missing_left[0] == 1


def test_missing_values_alone_can_be_split_off():
    tree = by_hand([[0], [np.nan], [1], [np.nan]], [1.0, -5.0, 1.0, -5.0], [1.0] * 4, max_leaves=2)
    assert (tree.bin[0], tree.missing_left[0], tree.count.tolist()) == (2, 0, [4, 2, 2])


def test_rows_without_gradient_and_hessian_count_as_rows():
    """Rows 3 and 4 are missing and carry nothing; wherever they go, no leaf may have fewer than two rows."""
    X = [[0], [0], [1], [np.nan], [np.nan]]
    tree = by_hand(X, [1.0, 1.0, -2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 0.0, 0.0], min_child_samples=2)
    assert all(count >= 2 for count in tree.count)


# --- errors and precision ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("members", [1, 3])
def test_a_gradient_that_is_not_finite_is_an_error_that_names_the_first_row(bad, side, members):
    dataset = BinnedDataset.build(read_table(np.arange(50.0)[:, None]), np.r_[0.0, np.ones(49)])  # row 0 weighs nothing
    pairs = np.ones((1, 49, 2), dtype=np.float32)
    pairs[0, [16, 30, 48], side] = bad
    grower = HistogramGrower(dataset, 1, FREE, 0, Team(members))
    with pytest.raises(TrainingError, match=r"^round 5: the gradient of row 17, times its weight, is not"):
        grower.grow(pairs, NO_WEIGHT, 4)


def test_a_negative_hessian_is_an_error():
    dataset = BinnedDataset.build(read_table(np.arange(4.0)[:, None]))
    pairs = np.ones((1, 4, 2), dtype=np.float32)
    pairs[0, 2, 1] = -1e-6
    with pytest.raises(TrainingError, match=r"row 2, .* hessian is negative"):
        HistogramGrower(dataset, 1, FREE, 0, SERIAL_TEAM).grow(pairs, NO_WEIGHT, 0)


def test_a_grower_grows_on_after_an_error():
    dataset = BinnedDataset.build(read_table(np.arange(4.0)[:, None]))
    grower = HistogramGrower(dataset, 1, FREE, 0, SERIAL_TEAM)
    pairs = np.array([[[1.0, 1.0], [1.0, 1.0], [-1.0, 1.0], [np.nan, 1.0]]], dtype=np.float32)
    with pytest.raises(TrainingError):
        grower.grow(pairs, NO_WEIGHT, 0)
    pairs[0, 3, 0] = -1.0
    assert grower.grow(pairs, NO_WEIGHT, 0).feature[0] == 0


@pytest.mark.parametrize(
    ("precision", "n_rows", "wide"),
    [
        ("auto", 100, True),
        ("auto", 100_000, False),
        ("auto", 2**26, True),
        ("packed", 100, False),
        ("wide", 10**6, True),
    ],
)
def test_cells_are_wide_for_small_tables_and_where_packed_ones_would_starve(precision, n_rows, wide):
    assert is_wide(precision, n_rows) is wide
