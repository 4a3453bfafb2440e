"""Bundles of columns that (almost) never differ from their default bins together (L2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from sapwood import Bundle, Dataset, SapwoodClassifier, SapwoodRegressor
from sapwood.data.binning import binned_dataset, bundling
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout, Bundler
from sapwood.data.tables.table import read_table
from sapwood.errors import ParameterError
from sapwood.grow.feature_meta import make_features
from sapwood.grow.histogram import HistogramGrower
from sapwood.kernels.layout import FEATURE_STRIDE
from sapwood.native.threads.team import Team
from sapwood.objectives import Softmax
from sapwood.params.declaration import TreeParams
from tests.grow.small_tables import COLUMNS


def bundles_of(columns: list[list[int]], cells: int = 3, max_conflicts: int = 0, n_rows: int = 12) -> list[list[int]]:
    bundler = Bundler(n_rows, max_conflicts)
    for f, rows in enumerate(columns):
        bundler.add(f, np.array(rows, dtype=np.intp), cells)
    return bundler.bundles


def test_a_column_joins_the_first_bundle_that_differs_in_none_of_its_rows():
    """L2 by hand: 0 and 2 meet in row 1, 1 meets nobody, 3 meets 2 in row 5."""
    assert bundles_of([[0, 1], [2, 3], [1, 5], [5, 6], [7]]) == [[0, 1, 3, 4], [2]]


def test_a_bundle_is_full_when_a_byte_cannot_hold_its_cells():
    assert bundles_of([[0], [1], [2]], cells=127) == [[0, 1], [2]]
    assert bundles_of([[0], [1], [2]], cells=128) == [[0], [1], [2]]


def test_columns_that_never_differ_go_anywhere():
    assert bundles_of([[0, 1], [], [0]]) == [[0, 1], [2]]


def test_conflicts_of_a_bundle_are_counted_together():
    """Two conflicts are allowed: 1 brings one, 2 would bring two more, 3 one more."""
    bundler = Bundler(8, 2)
    lost = [bundler.add(f, np.array(rows), 3).tolist() for f, rows in enumerate([[0, 1, 2], [2, 3], [0, 1], [1, 4]])]
    assert bundler.bundles == [[0, 1, 3], [2]]
    assert lost == [[], [2], [], [1]]


@given(
    st.lists(st.sets(st.integers(0, 11), max_size=4), max_size=150), st.integers(0, 3), st.sampled_from([4, 64]),
    st.sampled_from([1, 4096]),
)  # fmt: skip
def test_no_bundle_has_more_conflicts_than_are_allowed(columns, max_conflicts, n_open, probed_rows):
    """However many bundles are open, and however many rows are looked at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bundling, "MAX_OPEN", n_open)
        patch.setattr(bundling, "PROBED_ROWS", probed_rows)
        bundler = Bundler(12, max_conflicts)
        kept = [
            rows - set(bundler.add(f, np.array(sorted(rows), dtype=np.intp), 3).tolist())
            for f, rows in enumerate(columns)
        ]
    assert sorted(f for bundle in bundler.bundles for f in bundle) == list(range(len(columns)))
    for bundle in bundler.bundles:
        assert sum(len(kept[f]) for f in bundle) == len(set().union(*(columns[f] for f in bundle)))
        assert sum(len(columns[f]) - len(kept[f]) for f in bundle) <= max_conflicts
        assert 3 * len(bundle) <= bundling.MAX_CELLS


def test_of_too_many_bundles_the_later_half_stays_open(monkeypatch):
    """All meet in row 0; when the fifth bundle begins, the first two are closed."""
    monkeypatch.setattr(bundling, "MAX_OPEN", 4)
    columns = [[0, 1], [0, 2], [0, 3], [0, 4], [0, 5], [1], [3], [2, 3, 4]]
    assert bundles_of(columns) == [[0], [1], [2, 5], [3, 6], [4, 7]]


def test_the_default_bin_is_that_of_at_least_half_of_the_rows():
    columns = np.array([[1, 1, 2, 3], [1, 2, 3, 4], [5, 5, 5, 0]], dtype=np.uint8)
    assert bundling.find_default_bins(columns).tolist() == [1, -1, 5]
    assert bundling.find_default_bins(columns, step=3).tolist() == [1, 1, 0]


# --- conflicts --------------------------------------------------------------------------------------------------------


def counts(n: int = 4000, n_columns: int = 12, share: float = 0.04) -> np.ndarray:
    """Columns that are mostly 0 and rarely differ from it together."""
    source = np.random.default_rng(11)
    return source.poisson(1.0, (n, n_columns)) * (source.random((n, n_columns)) < share) * 1.0


def test_where_columns_of_a_bundle_meet_only_the_first_keeps_its_value():
    X = np.zeros((40, 3))
    X[:8, 0], X[7:12, 1], X[20:30, 2] = 1.0, 1.0, 1.0
    found = bundling.remove_conflicts(binned_dataset.BinnedDataset.build(read_table(X)), 1 / 40)
    expected = X + 1.0
    expected[7, 1] = 1.0
    np.testing.assert_array_equal(found.columns, expected.T)
    np.testing.assert_array_equal(found.tiles[0, :, :3], expected)


def test_the_rows_that_were_given_keep_all_values():
    dataset = binned_dataset.BinnedDataset.build(read_table(counts()))
    columns, tiles = dataset.columns.copy(), dataset.tiles.copy()
    assert not np.array_equal(bundling.remove_conflicts(dataset, 0.02).columns, columns)
    np.testing.assert_array_equal(dataset.columns, columns)
    np.testing.assert_array_equal(dataset.tiles, tiles)


def test_columns_that_are_mostly_missing_lose_values_too():
    X = np.full((40, 2), np.nan)
    X[:8, 0], X[7:12, 1] = np.arange(8) % 2, np.arange(5) % 2
    found = bundling.remove_conflicts(binned_dataset.BinnedDataset.build(read_table(X)), 1 / 40)
    assert found.columns[:, 7].tolist() == [2, 0]


@pytest.mark.parametrize(("n_bins", "kept"), [(126, 1), (127, 2)])
def test_columns_that_do_not_fit_into_a_byte_together_lose_nothing(n_bins, kept):
    """Missing values have a cell as well: 2 · 128 are more than 255."""
    X = np.zeros((600, 2))
    X[: n_bins - 1, 0] = X[n_bins - 2 : 2 * n_bins - 3, 1] = np.arange(1, n_bins)
    dataset = binned_dataset.BinnedDataset.build(read_table(X))
    assert dataset.n_bins.tolist() == [n_bins, n_bins]
    found = bundling.remove_conflicts(dataset, 1 / 600)
    assert int((found.columns[:, n_bins - 2] != 1).sum()) == kept


def test_too_many_conflicts_change_nothing():
    dataset = binned_dataset.BinnedDataset.build(read_table(counts(share=0.4)))
    found = bundling.remove_conflicts(dataset, 0.001)
    np.testing.assert_array_equal(found.columns, dataset.columns)


@pytest.mark.parametrize("kind", [scipy.sparse.csr_matrix, scipy.sparse.csc_array])
def test_bytes_and_sparse_bins_lose_the_same_values(kind):
    X = counts()
    y = X[:, 0] - 2.0 * X[:, 5] + X.sum(axis=1)
    models = [
        SapwoodRegressor(n_estimators=8, min_child_samples=5, bundle=Bundle(conflicts)).fit(table, y).model_
        for conflicts in (0.02, 0.0)
        for table in (X, kind(X))
    ]
    prints = [model.fingerprint() for model in models]
    assert prints[0] == prints[1]
    assert prints[2] == prints[3]
    assert prints[0] != prints[2]


def test_columns_beside_sparse_bins_lose_the_same_values(monkeypatch):
    """Of six columns the second and the fifth are too full to be sparse; 0 is the last but one bin of the fifth."""
    monkeypatch.setattr("sapwood.data.binning.sparse_bins.MAX_TILED_COLUMNS", 0)
    X, source = counts(2000, 6), np.random.default_rng(5)
    X[:, 1] = source.random(2000) < 0.4
    X[:, 4] = (source.random(2000) < 0.45) * source.integers(-3, 2, 2000)
    full, sparse = (
        bundling.remove_conflicts(binned_dataset.BinnedDataset.build(read_table(table)), 0.3)
        for table in (X, scipy.sparse.csr_matrix(X))
    )
    assert sparse.sparse_bins is not None and sparse.sparse_bins.column.tolist() == [-1, 0, -1, -1, 1, -1]
    np.testing.assert_array_equal(sparse.columns, full.columns[[1, 4]])
    for f, rows in enumerate(sparse.sparse_bins.rows_by_feature()):
        if f not in (1, 4):
            assert rows.tolist() == np.flatnonzero(full.columns[f] != 1).tolist()


def test_few_conflicts_cost_little_loss():
    X = counts(20_000, 30, 0.02)
    y = (X @ np.linspace(-1.0, 1.0, 30) + np.random.default_rng(0).normal(0.0, 0.1, len(X))).astype(np.float32)
    losses = []
    for bundle in (False, Bundle(0.01)):
        model = SapwoodRegressor(n_estimators=60, bundle=bundle, max_bins=64).fit(X[:15_000], y[:15_000])
        losses.append(np.mean((model.predict(X[15_000:]) - y[15_000:]) ** 2))
    assert losses[0] < losses[1] < 1.5 * losses[0]


# --- the parameter ----------------------------------------------------------------------------------------------------


def mixed_one_hot(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(3)
    levels = source.integers(0, 25, (n, 4))
    X = np.concatenate(
        [(levels[:, [k]] == np.arange(25)) * 1.0 for k in range(4)] + [source.normal(size=(n, 2))], axis=1
    )
    X = X[:, source.permutation(X.shape[1])]
    return X, X @ source.normal(size=X.shape[1]) + source.normal(size=n)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"growth": "symmetric"},
        {"sampling": "goss"},
        {"colsample_bynode": 0.3, "random_strength": 1.0},
        {"boosting": "dart"},
        {"objective": "quantile", "monotone_constraints": {3: 1, 40: -1}},
        {"boosting": "ordered"},
    ],
    ids=str,
)
def test_bundled_and_other_models_have_the_same_fingerprint(params):
    """L2: without conflicts, the model of bundles is that without."""
    X, y = mixed_one_hot()
    prints = {
        SapwoodRegressor(n_estimators=12, bundle=bundle, n_jobs=n_jobs, **params).fit(table, y).model_.fingerprint()
        for bundle, n_jobs, table in (
            (False, 1, X), ("auto", 1, X), (True, 2, X), (Bundle(), 3, X),
            (False, 2, scipy.sparse.csr_matrix(X)), ("auto", 2, scipy.sparse.csr_matrix(X)),
        )
    }  # fmt: skip
    assert len(prints) == 1


def test_linear_leaves_find_their_features_in_bundles():
    X, y = mixed_one_hot()
    prints = {
        SapwoodRegressor(n_estimators=5, bundle=bundle, leaf_model="linear").fit(X, y).model_.fingerprint()
        for bundle in (False, True)
    }
    assert len(prints) == 1


def test_classes_in_vector_leaves_are_bundled_alike():
    X, y = mixed_one_hot()
    labels = np.digitize(y, [-1.0, 1.0])
    prints = {
        SapwoodClassifier(n_estimators=5, bundle=bundle, objective=Softmax(vector_leaves=True))
        .fit(X, labels)
        .model_.fingerprint()
        for bundle in (False, True)
    }
    assert len(prints) == 1


@pytest.mark.parametrize("bundle", ["no", 1, None, 0.5])
def test_what_bundle_cannot_be_is_named(bundle):
    with pytest.raises(ParameterError, match="bundle must be 'auto', True, False or a Bundle object, got"):
        SapwoodRegressor(bundle=bundle).fit(np.eye(4), np.arange(4))


@pytest.mark.parametrize("share", [-0.1, 1.0, "few", True, float("nan")])
def test_an_invalid_fraction_of_conflicts_is_named(share):
    with pytest.raises(ParameterError, match="Bundle: conflicts must be a number of at least 0 and below 1"):
        Bundle(share)


@pytest.mark.parametrize("bundle", [True, Bundle(0.1)])
def test_exact_search_has_nothing_to_bundle(bundle):
    with pytest.raises(ParameterError, match=r"bundle=.* is not supported with split_search='exact'"):
        SapwoodRegressor(bundle=bundle, split_search="exact").fit(np.eye(4), np.arange(4))


def test_a_dataset_takes_conflicts_too():
    X = counts()
    y = X[:, 0] - 2.0 * X[:, 5] + X.sum(axis=1)
    model = SapwoodRegressor(n_estimators=8, bundle=Bundle(0.02))
    assert model.fit(Dataset(X), y).model_.fingerprint() == model.fit(X, y).model_.fingerprint()


def one_hot(codes: np.ndarray, n: int) -> np.ndarray:
    return (codes[:, None] == np.arange(n)).astype(float)


def make_table(n: int = 3000, missing: bool = False) -> np.ndarray:
    """Two numbers, a category in 12 columns, a number, counts that are mostly 0 in 3 columns, a number."""
    source = np.random.default_rng(4)
    counts = one_hot(source.integers(0, 4, n), 3) * source.integers(1, 5, (n, 1))
    numbers = source.normal(size=(n, 4))
    X = np.hstack([numbers[:, :2], one_hot(source.integers(0, 13, n), 12), numbers[:, 2:3], counts, numbers[:, 3:]])
    if missing:
        X[::7, 4] = np.nan
        X[::5, 16] = np.nan
    return X


# Its columns with those of the two encodings mixed.
MIXED = [4, 18, 15, 0, 2, 16, 9, 3, 14, 5, 17, 6, 1, 13, 7, 8, 12, 10, 11]


def build(X: np.ndarray) -> BinnedDataset:
    return BinnedDataset.build(read_table(X))


def members(layout: BundleLayout) -> list[list[int]]:
    return [layout.order[group.start : group.stop].tolist() for group in layout.groups]


def test_neighbours_that_exclude_each_other_share_a_column():
    layout = BundleLayout.find(build(make_table()))
    assert members(layout) == [[0], [1], list(range(2, 14)), [14], [15, 16, 17], [18]]
    assert not layout.is_reordered
    assert layout.default_bins.tolist() == [-1, -1] + [1] * 12 + [-1] + [1] * 3 + [-1]


def test_columns_that_exclude_each_other_share_one_wherever_they_stand():
    layout = BundleLayout.find(build(make_table()[:, MIXED]))
    category = [place for place, f in enumerate(MIXED) if 2 <= f < 14]
    counts = [place for place, f in enumerate(MIXED) if 15 <= f < 18]
    assert sorted(map(sorted, members(layout))) == sorted(
        [category, counts, *([MIXED.index(f)] for f in (0, 1, 14, 18))]
    )
    assert layout.is_reordered
    assert sorted(layout.order.tolist()) == list(range(19))


@pytest.mark.parametrize(("bundle", "n_groups"), [("auto", 9), (True, 8), (Bundle(), 8), (False, 9)])
def test_two_columns_are_bundled_only_if_that_is_asked_for(bundle, n_groups):
    X = np.random.default_rng(7).normal(size=(400, 9))
    X[:, 8] = X[:, 2] > 1.0
    X[:, 3] = X[:, 2] < -1.0
    assert len(BundleLayout.find(build(X), bundle).groups) == n_groups


def test_a_single_row_in_which_two_differ_keeps_them_apart():
    X = make_table()
    X[1717, 2:4] = 1.0
    layout = BundleLayout.find(build(X))
    assert layout.has_bundles
    assert not any({2, 3} <= set(group) for group in members(layout))


def test_numbers_alone_are_left_as_they_are():
    layout = BundleLayout.find(build(np.random.default_rng(0).normal(size=(500, 20))))
    assert not layout.has_bundles
    assert len(layout.groups) == 20


def test_rows_in_several_orders_are_not_bundled():
    """What excludes each other in one of them may not do so in the next."""
    dataset = build(make_table())
    assert not BundleLayout.find(replace(dataset, permuted=(dataset,)), True).has_bundles


def test_a_bundle_has_no_more_cells_than_a_byte_can_hold():
    codes = np.random.default_rng(1).integers(0, 200, 4000)
    layout = BundleLayout.find(build(one_hot(codes, 200)))
    assert [len(group) for group in layout.groups] == [85, 85, 30]


def test_bundles_lie_at_the_same_distances_as_numbers_beside_them():
    dataset = build(make_table())
    starts = make_features(dataset, 1, BundleLayout.find(dataset)).tile_offset
    assert np.diff(starts)[:4].tolist() == [FEATURE_STRIDE] * 4


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"precision": "wide"},
        {"growth": "levelwise", "max_depth": 4},
        {"growth": "symmetric", "max_depth": 4, "max_leaves": 16},
        {"min_child_samples": 200},
        {"reg_alpha": 0.1},
        {"colsample_bynode": 0.5},
        {"colsample_bytree": 0.5, "colsample_bylevel": 0.7},
        {"growth": "symmetric", "max_depth": 4, "max_leaves": 16, "colsample_bylevel": 0.5},
        {"monotone_constraints": {3: -1, 9: 1, 0: -1}},
        {"interaction_constraints": [[0, 3, 16], [9, 1]]},
    ],
)
@pytest.mark.parametrize("order", [list(range(19)), MIXED], ids=["neighbours", "mixed"])
def test_trees_do_not_depend_on_bundles(order, missing, members, rules):
    X = make_table(missing=missing)
    source = np.random.default_rng(2)
    n = len(X)
    signal = X[:, 0] + 2.0 * X[:, 3] - X[:, 9] + np.nan_to_num(X[:, 16])
    pairs = np.stack([signal + source.normal(size=n), source.uniform(0.1, 1.0, n)], axis=1).astype(np.float32)[None]
    dataset = build(X[:, order])
    assert BundleLayout.find(dataset).has_bundles
    bundled, plain = grown_with_and_without(dataset, pairs, Team(members), {"max_leaves": 20} | rules)
    assert {order.index(f) for f in (3, 9, 16)} & set(plain.feature.tolist())
    assert_same(bundled, plain)


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("rules", [{}, {"growth": "symmetric", "max_depth": 3, "max_leaves": 8}])
def test_of_equal_columns_the_first_in_the_table_is_taken_wherever_bundles_put_it(rules, members):
    source = np.random.default_rng(6)
    n = 4000
    first, second = one_hot(source.integers(0, 4, n), 3), one_hot(source.integers(0, 4, n), 3)
    # Columns 1 and 2 of the table are the same; so are 3 and 4. In tiles they lie the other way round.
    X = np.stack([first[:, 0], second[:, 0], second[:, 0], first[:, 1], first[:, 1], second[:, 1], first[:, 2]], axis=1)
    X = np.hstack([X, source.normal(size=(n, 1))])
    signal = 3.0 * second[:, 0] - 2.0 * first[:, 1] + second[:, 1]
    pairs = np.stack([signal + source.normal(size=n), np.ones(n)], axis=1).astype(np.float32)[None]
    dataset = build(X)
    assert BundleLayout.find(dataset).is_reordered
    bundled, plain = grown_with_and_without(dataset, pairs, Team(members), {"max_leaves": 8} | rules)
    assert {1, 3} <= set(plain.feature.tolist())
    assert not {2, 4} & set(plain.feature.tolist())
    assert_same(bundled, plain)


def test_split_noise_goes_by_the_number_of_a_column_wherever_bundles_put_it():
    source = np.random.default_rng(8)
    X = make_table()[:, MIXED]
    pairs = np.stack([source.normal(size=len(X)), np.ones(len(X))], axis=1).astype(np.float32)[None]
    assert_same(*grown_with_and_without(build(X), pairs, Team(2), {"max_leaves": 16}, noise=5.0))


def grown_with_and_without(dataset, pairs, team, rules, noise=0.0):
    trees = []
    for bundle in ("auto", False):
        grower = HistogramGrower(dataset, 1, TreeParams(**rules, bundle=bundle), 5, team)
        grower.split_noise = noise
        trees.append(grower.grow(pairs, np.empty(0), 3).without_rows())
    return trees


def assert_same(one, other):
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
