from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.data.binning.bin_mapper import ExactBinMapper
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.dataset import Dataset as UserDataset
from sapwood.data.tables.table import read_table
from sapwood.errors import ParameterError
from sapwood.grow.exact import ExactGrower, exact_threshold
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels.grow.exact_tree import sort_columns
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from tests.reference.exact_grower import Data, Node, grow_slowly

NO_WEIGHT = np.empty(0)
VALUES = [np.nan, -np.inf, -2.5, -0.0, 0.0, 1.0, 2.0, 4.0, np.inf]


def dataset_of(X: np.ndarray) -> BinnedDataset:
    table = read_table(X)
    encoder = ExactBinMapper.of(table)
    return BinnedDataset(encoder.schema, encoder, *encoder.encode(table), np.arange(len(X), dtype=np.uint64))


def params_of(**changes) -> TreeParams:
    base = {"max_leaves": 8, "min_child_samples": 1, "min_child_weight": 0.0, "split_search": "exact"}
    return TreeParams(**{**base, **changes})


def grower_of(X: np.ndarray, params: TreeParams, n_outputs: int = 1, members: int = 1) -> ExactGrower:
    grower = ExactGrower(dataset_of(X), n_outputs, params, 0, Team(members))
    for room in grower._presorted[1:]:  # all but the sorted rows are workspace
        room.view(np.uint8)[:] = 0xA5
    return grower


def check_same(grown: GrownTree, node: int, slow: Node, X: np.ndarray) -> None:
    """Compare two trees from a node on."""
    assert grown.count[node] == len(slow.rows)
    if not slow.children:
        assert grown.feature[node] == -1
        return
    cut = slow.cut
    assert grown.feature[node] == cut.feature
    assert grown.gain[node] == cut.gain
    assert cut.below <= grown.threshold[node]
    assert grown.threshold[node] == np.inf if cut.above is None else grown.threshold[node] < cut.above
    if np.isnan(X[slow.rows, cut.feature]).any():
        assert bool(grown.missing_left[node]) == cut.missing_left
    for side, child in enumerate(slow.children):
        check_same(grown, grown.left[node] + side, child, X)


@st.composite
def problems(draw):
    """A table with few values, pairs that floats add up exactly, and rules of every kind."""
    n, f, k = draw(st.integers(1, 30)), draw(st.integers(1, 3)), draw(st.integers(1, 2))
    kinds = [VALUES, [v for v in VALUES if v == v], [1.0, 3.0]]
    columns = [draw(arrays(np.float64, n, elements=st.sampled_from(draw(st.sampled_from(kinds))))) for _ in range(f)]
    pairs = np.empty((k, n, 2), dtype=np.float32)
    pairs[:, :, 0] = draw(arrays(np.int8, (k, n))) / 8
    pairs[:, :, 1] = draw(arrays(np.int8, (k, n), elements=st.integers(0, 16))) / 8
    weights = arrays(np.float64, n, elements=st.sampled_from([0.5, 1.0, 2.0]))
    weight = draw(weights) if draw(st.booleans()) else NO_WEIGHT
    pick = lambda *values: draw(st.sampled_from(values))  # noqa: E731
    params = params_of(
        growth=pick("leafwise", "levelwise"),
        max_leaves=pick(2, 5, 40),
        max_depth=pick(None, 1, 3),
        min_child_samples=pick(1, 3),
        min_child_weight=pick(0.0, 1.0),
        min_split_gain=pick(0.0, 0.5),
        reg_lambda=pick(0.0, 1.0),
        reg_alpha=pick(0.0, 0.25),
        max_delta_step=pick(0.0, 0.5),
        monotone_constraints=[pick(0, 1, -1) for _ in range(f)] if k == 1 and draw(st.booleans()) else None,
    )
    return np.column_stack(columns), pairs, weight, params


@given(problems(), st.sampled_from([1, 3]))
def test_a_tree_is_that_of_the_slow_twin(problem, members):
    """X3: every gap between two values of a leaf is tried, missing values on both sides."""
    X, pairs, weight, params = problem
    grower = grower_of(X, params, len(pairs), members)
    grown = grower.grow(pairs, weight, 0)
    weighted = pairs.astype(np.float64) * (weight[None, :, None] if len(weight) else 1.0)
    data = Data(X, weighted, grower._features.monotone)
    slow = grow_slowly(data, grower.grow_params(), params.growth == "levelwise")
    check_same(grown, 0, slow, X)


@given(problems())
def test_the_rows_of_leaves_are_where_the_values_send_them(problem):
    X, pairs, weight, params = problem
    grower = grower_of(X, params, len(pairs))
    grown = grower.grow(pairs, weight, 0)
    ends = grown.route_values(grower._dataset.tiles)
    for leaf, (first, last) in enumerate(grown.leaf_ranges):
        rows = grown.leaf_rows[first:last]
        assert (np.diff(rows.astype(np.int64)) > 0).all()
        assert (ends[rows] == grown.leaf_node[leaf]).all()


@given(problems(), st.data())
def test_a_tree_on_some_rows_is_the_tree_of_a_table_of_those(problem, data):
    X, pairs, weight, params = problem
    chosen = np.array(data.draw(arrays(bool, len(X))))
    chosen[data.draw(st.integers(0, len(X) - 1))] = True
    rows = np.flatnonzero(chosen).astype(np.uint32)
    params = TreeParams(**{**vars(params), "monotone_constraints": None})
    # Which cut wins a tie depends on whether the column has missing values anywhere.
    X[:, np.isnan(X).any(axis=0) & ~np.isnan(X[rows]).any(axis=0)] = 0.0
    some = grower_of(X, params, len(pairs)).grow(pairs, weight, 0, rows)
    part = np.ascontiguousarray(pairs[:, rows])
    alone = grower_of(X[rows], params, len(pairs)).grow(part, weight[rows] if len(weight) else weight, 0)
    for name in ("feature", "left", "missing_left", "count", "gain", "value", "weight", "gradient", "hessian"):
        np.testing.assert_array_equal(getattr(some, name), getattr(alone, name), err_msg=name)
    np.testing.assert_array_equal(some.leaf_rows, rows[alone.leaf_rows])


@given(arrays(np.uint32, st.tuples(st.integers(1, 3), st.integers(1, 50)), elements=st.integers(0, 9)))
def test_columns_are_sorted_by_bins_and_then_by_rows(columns):
    out, counts = np.full(columns.shape, 99, np.uint32), np.full((1, 12), -7)
    sort_columns(columns, np.full(len(columns), 10), counts, out)
    np.testing.assert_array_equal(out, np.argsort(columns, axis=1, kind="stable"))


def test_a_threshold_lies_halfway_between_the_values_of_the_leaf():
    assert exact_threshold(np.array([1.0, 2.0, 9.0]), 0, 2) == 5.0


def test_a_value_of_the_table_in_the_middle_goes_right():
    assert exact_threshold(np.array([1.0, 2.0, 3.0]), 0, 2) == 1.5


def test_a_threshold_between_neighbouring_floats_is_the_lower_one():
    above = np.nextafter(1.0, 2.0)
    assert exact_threshold(np.array([1.0, above]), 0, 1) == 1.0


def test_all_values_against_missing_is_an_infinite_threshold():
    assert exact_threshold(np.array([1.0, 2.0]), 1, -1) == np.inf


def test_ties_within_a_complete_column_go_to_the_last_cut():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])
    pairs = np.array([[[1.0, 1.0], [0.0, 1.0], [0.0, 1.0], [-1.0, 1.0]]], dtype=np.float32)
    grown = grower_of(X, params_of(max_leaves=2, reg_lambda=0.0)).grow(pairs, NO_WEIGHT, 0)
    assert grown.threshold[0] == 3.5


def test_ties_between_columns_go_to_the_first():
    X = np.array([[5.0, 1.0], [6.0, 2.0]])
    pairs = np.array([[[1.0, 1.0], [-1.0, 1.0]]], dtype=np.float32)
    assert grower_of(X, params_of()).grow(pairs, NO_WEIGHT, 0).feature[0] == 0


def noisy(n: int = 400, n_features: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, n_features)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0] * X[:, 1]) + np.nan_to_num(X[:, 2]) + rng.standard_normal(n)


EXACT = {"split_search": "exact", "min_child_samples": 5, "n_estimators": 10}


@pytest.mark.parametrize("growth", ["leafwise", "levelwise"])
@pytest.mark.parametrize("others", [{}, {"subsample": 0.5}, {"colsample_bynode": 0.5}])
def test_teams_of_any_size_grow_the_same_model(growth, others, monkeypatch):
    X, y = noisy()
    prints = set()
    for size in ("1", "2", "5"):
        monkeypatch.setenv("SAPWOOD_TEAM", size)
        prints.add(SapwoodRegressor(**EXACT, **others, growth=growth).fit(X, y).model_.fingerprint())
    assert len(prints) == 1


@pytest.mark.parametrize("others", [{}, {"subsample": 0.5}])
def test_what_is_measured_while_training_is_the_loss_of_the_model(others):
    X, y = noisy(600)
    X = X + np.random.default_rng(1).standard_normal(X.shape)  # validation values lie between those of training
    model = SapwoodClassifier(**EXACT, **others, eval_metric="log_loss")
    model.fit(X[:300], y[:300] > 0, eval_set={"train": (X[:300], y[:300] > 0), "new": (X[300:], y[300:] > 0)})
    for name, rows in (("train", slice(0, 300)), ("new", slice(300, 600))):
        p = model.predict_proba(X[rows])[:, 1]
        truth = y[rows] > 0
        loss = -np.where(truth, np.log(p), np.log1p(-p)).mean()
        assert model.evals_result_[name]["log_loss"][-1] == pytest.approx(loss, rel=1e-12)


def test_rows_outside_the_sample_are_scored_like_the_model_scores_them():
    X, y = noisy()
    whole = SapwoodRegressor(**EXACT, subsample=0.3).fit(X, y)
    first = SapwoodRegressor(**{**EXACT, "n_estimators": 4}, subsample=0.3).fit(X, y)
    second = SapwoodRegressor(**{**EXACT, "n_estimators": 6}, subsample=0.3).fit(X, y, init_model=first)
    np.testing.assert_allclose(second.predict(X), whole.predict(X), rtol=1e-12)


def test_exact_search_knows_no_limit_of_distinct_values():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70_000, 1))
    y = (X[:, 0] > 0.25) + 0.01 * rng.standard_normal(len(X))
    model = SapwoodRegressor(split_search="exact", max_leaves=2, n_estimators=1).fit(X, y)
    below, above = X[X <= 0.25].max(), X[X > 0.25].min()
    assert model.model_.ensemble[0].threshold[0] == pytest.approx(0.5 * below + 0.5 * above, rel=1e-15)


def test_exact_search_fits_at_least_as_well_as_two_bins():
    X, y = noisy()
    losses = []
    for search in ({"split_search": "exact"}, {"max_bins": 2}):
        prediction = SapwoodRegressor(max_leaves=4, n_estimators=1, **search).fit(X, y).predict(X)
        losses.append(((prediction - y) ** 2).mean())
    assert losses[0] < losses[1]


def test_the_bins_of_a_dataset_are_not_used():
    X, y = noisy()
    plain = SapwoodRegressor(**EXACT).fit(X, y)
    binned = SapwoodRegressor(**EXACT).fit(UserDataset(X), y)
    assert plain.model_.fingerprint() == binned.model_.fingerprint()


def test_monotone_constraints_hold():
    X, y = noisy()
    model = SapwoodRegressor(**EXACT, monotone_constraints=[0, 0, 1, 0]).fit(X, y)
    line = np.tile(X[:1], (50, 1))
    for row in X[:20]:
        line[:] = row
        line[:, 2] = np.linspace(-4, 4, 50)
        assert (np.diff(model.predict(line)) >= 0).all()


def test_interaction_constraints_hold():
    X, y = noisy()
    model = SapwoodRegressor(**EXACT, interaction_constraints=[[0, 1], [2, 3]]).fit(X, y)
    for tree in model.model_.ensemble:
        paths = {0: frozenset()}
        for node in range(tree.n_nodes):
            if tree.feature[node] < 0:
                assert paths[node] <= {0, 1} or paths[node] <= {2, 3}
                continue
            for child in (tree.left[node], tree.left[node] + 1):
                paths[int(child)] = paths[node] | {int(tree.feature[node])}


def test_min_child_samples_counts_rows():
    X, y = noisy()
    model = SapwoodRegressor(split_search="exact", min_child_samples=37, n_estimators=5).fit(X, y)
    for tree in model.model_.ensemble:
        assert tree.n_leaves > 1
        assert tree.count.min() >= 37


def test_a_table_of_equal_rows_is_a_leaf():
    model = SapwoodRegressor(split_search="exact", n_estimators=1, min_child_samples=1)
    model.fit(np.ones((10, 2)), np.arange(10.0))
    assert model.model_.ensemble[0].n_leaves == 1


@pytest.mark.parametrize(
    ("others", "reason"), [({"growth": "symmetric"}, "all leaves of a depth"), ({"precision": "packed"}, "histograms")]
)
def test_what_exact_search_cannot_do_is_refused(others, reason):
    with pytest.raises(ParameterError, match=reason):
        SapwoodRegressor(split_search="exact", **others).fit([[1.0], [2.0]], [1.0, 2.0])
