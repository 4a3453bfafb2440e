from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.data.tables.schema import Schema
from sapwood.errors import ParameterError
from sapwood.explain.cover import node_cover
from sapwood.explain.players import Players
from sapwood.explain.shapley import expected_scores, shap_interaction_values, shap_values
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.model import Model
from tests.explain.test_importance import model_of
from tests.model.forests import leaf_tree, linear_ensemble, random_ensemble, random_rows, small_tree, tree_of
from tests.reference.shapley import forest_game, interaction_values, interventional_game, shapley_values


def games_of(model: Model, rows: np.ndarray):
    """Yield the game of each row; ``rows`` are the features of the trees."""
    players, ensemble = Players.of(model), model.ensemble
    covers = np.split(node_cover(ensemble), ensemble.tree_start[1:-1])
    for row in rows:
        yield forest_game(ensemble, covers, row, players.of_column, players.n_players)


def brute_force(model: Model, rows: np.ndarray) -> np.ndarray:
    """Shapley values (rows, features, outputs) by all subsets."""
    players = Players.of(model)
    values = np.zeros((len(rows), model.n_features, model.n_outputs))
    for out, game in zip(values, games_of(model, rows), strict=True):
        for p, value in enumerate(shapley_values(game, players.n_players)):
            sources = players.share_feature[players.share_start[p] : players.share_start[p + 1]]
            out[sources] += value / len(sources)
    return values


def check_against_brute_force(model: Model, X, rows: np.ndarray) -> None:
    values = shap_values(model, X)
    values = values[:, :, None] if values.ndim == 2 else values
    np.testing.assert_allclose(values, brute_force(model, rows), rtol=1e-10, atol=1e-12)


def test_a_hand_computes_the_values_of_a_small_tree():
    """x0 goes left for 8 of 20 rows, then x1 left for 6 of 12: both known 10, x0 alone 15, x1 alone 6.4, none 9.4."""
    model = model_of(small_tree(), n_features=2)
    expected = [((15 - 9.4) + (10 - 6.4)) / 2, ((6.4 - 9.4) + (10 - 15)) / 2]
    np.testing.assert_allclose(shap_values(model, [[1.0, 1.0]]), [expected], rtol=1e-14)
    np.testing.assert_allclose(expected_scores(model), [9.4], rtol=1e-15)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_features=st.integers(1, 5), n_leaves=st.integers(1, 14))
def test_values_of_random_trees_equal_the_definition(seed, n_features, n_leaves):
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(rng, 3, n_features, leaves=(n_leaves, n_leaves))
    check_against_brute_force(Model(Schema(n_features), ensemble, np.zeros(1)), *[random_rows(rng, 3, n_features)] * 2)


@pytest.mark.parametrize("width", [1, 3])
def test_several_outputs_have_values_each(width):
    rng = np.random.default_rng(width)
    ensemble = random_ensemble(rng, 6, 4, n_outputs=3, width=width)
    check_against_brute_force(Model(Schema(4), ensemble, np.ones(3)), *[random_rows(rng, 9, 4)] * 2)


def test_nodes_without_cover_count_half_each_and_leave_no_division_by_zero():
    feature, left = [0, 1, 0, 1, -1, -1, -1, -1, -1], [1, 3, 7, 5, 0, 0, 0, 0, 0]
    tree = tree_of(
        feature, [0.0] * 9, left, [1] * 9, [0, 0, 0, 0, 4.0, 1.0, 2.0, 3.0, 5.0],
        weight=[10.0, 0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 10.0, 0.0],
    )  # fmt: skip
    X = np.array([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [np.nan, np.nan]])
    model = model_of(tree, n_features=2)
    check_against_brute_force(model, X, X)
    np.testing.assert_allclose(shap_values(model, X).sum(axis=1) + expected_scores(model), model.predict_raw(X))


@pytest.mark.parametrize("n_features", [20, 60, 120])
def test_paths_of_many_distinct_features_stay_exact(n_features):
    """A chain with one split per feature: with equal thresholds, features that agree have equal values."""
    n = 2 * n_features + 1
    feature, left = [0, *[v for k in range(1, n_features) for v in (-1, k)], -1, -1], [0] * n
    nodes = [0, *range(2, n - 1, 2)]
    for node in nodes:
        left[node] = node + 1
    cover = np.zeros(n)
    cover[0] = 1.0
    for node in nodes:
        cover[node + 1], cover[node + 2] = 0.1 * cover[node], 0.9 * cover[node]
    value = np.zeros(n)
    value[-1] = 1.0
    tree = tree_of(feature, [0.0] * n, left, [0] * n, value, weight=cover)
    model = model_of(tree, n_features=n_features)
    values = shap_values(model, np.ones((1, n_features)))
    np.testing.assert_allclose(values, np.full((1, n_features), (1 - 0.9**n_features) / n_features), rtol=1e-12)
    # One feature fails: the game is worth 0 whenever it is known, so it loses what the others would have gained.
    row = np.ones((1, n_features))
    row[0, 0] = -1.0
    values = shap_values(model, row)
    assert values.sum() == pytest.approx(-(0.9**n_features), rel=1e-9)
    np.testing.assert_allclose(values[0, 1:], values[0, 1], rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_values_of_linear_leaves_equal_the_definition(seed):
    rng = np.random.default_rng(seed)
    model = Model(Schema(4), linear_ensemble(rng, 3), np.zeros(1))
    X = random_rows(rng, 4, 4)
    check_against_brute_force(model, X, X)
    np.testing.assert_allclose(
        shap_values(model, X).sum(axis=1) + expected_scores(model), model.predict_raw(X), rtol=1e-10, atol=1e-12
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n_features=st.integers(1, 4), width=st.sampled_from([1, 3]))
def test_values_with_a_background_equal_the_definition(seed, n_features, width):
    rng = np.random.default_rng(seed)
    model = Model(Schema(n_features), random_ensemble(rng, 3, n_features, width, width), np.ones(width))
    X, background = random_rows(rng, 3, n_features), random_rows(rng, 7, n_features)
    values = shap_values(model, X, background=background).reshape(3, n_features, width)
    for found, row in zip(values, X, strict=True):
        expected = shapley_values(interventional_game(model.predict_raw, row, background), n_features)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("encoding", ["partition", "ordered"])
def test_values_with_a_background_add_up_to_the_score(encoding):
    X, y = people()
    model = SapwoodRegressor(n_estimators=9, category_encoding=encoding).fit(X, y)
    explanation = model.explain(X[:50], background=X[50:80])
    np.testing.assert_allclose(explanation.base_values, model.predict_raw(X[50:80]).mean(), rtol=1e-13)
    np.testing.assert_allclose(
        explanation.base_values + explanation.values.sum(axis=1), model.predict_raw(X[:50]), rtol=1e-10
    )


def test_linear_leaves_take_no_background():
    model = Model(Schema(4), linear_ensemble(np.random.default_rng(0)), np.zeros(1))
    with pytest.raises(ParameterError, match="linear leaves"):
        shap_values(model, np.zeros((1, 4)), background=np.zeros((2, 4)))


def test_a_table_of_many_features_and_classes_is_explained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2000))
    model = SapwoodClassifier(n_estimators=1, max_leaves=4).fit(X, np.arange(120) % 50)
    explanation = model.explain(X[:3])
    assert explanation.values.shape == (3, 2000, 50)
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_raw(X[:3]), rtol=1e-10)


def check_pairs(model: Model, X: np.ndarray) -> None:
    values = shap_interaction_values(model, X)
    values = values[..., None] if values.ndim == 3 else values
    used = Players.of(model).share_feature
    for found, game in zip(values, games_of(model, X), strict=True):
        expected = np.zeros_like(found)
        expected[np.ix_(used, used)] = interaction_values(game, len(used))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n_features=st.integers(2, 5), n_leaves=st.integers(2, 14))
def test_interactions_of_random_trees_equal_the_definition(seed, n_features, n_leaves):
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(rng, 3, n_features, leaves=(n_leaves, n_leaves))
    check_pairs(Model(Schema(n_features), ensemble, np.zeros(1)), random_rows(rng, 3, n_features))


@pytest.mark.parametrize("seed", range(5))
def test_interactions_of_linear_leaves_equal_the_definition(seed):
    rng = np.random.default_rng(seed)
    check_pairs(Model(Schema(4), linear_ensemble(rng, 3), np.zeros(1)), random_rows(rng, 4, 4))


def test_interactions_of_vector_leaves_equal_the_definition():
    rng = np.random.default_rng(0)
    ensemble = random_ensemble(rng, 3, 4, n_outputs=3, width=3)
    check_pairs(Model(Schema(4), ensemble, np.zeros(3)), random_rows(rng, 4, 4))


@pytest.mark.parametrize("options", [{}, {"category_encoding": "ordered", "max_combination": 2}])
def test_interactions_are_symmetric_and_add_up_to_the_values(options):
    X, y = people()
    model = SapwoodRegressor(n_estimators=9, **options).fit(X, y)
    pairs = model.shap_interaction_values(X)
    np.testing.assert_allclose(pairs, pairs.transpose(0, 2, 1), rtol=1e-12)
    np.testing.assert_allclose(pairs.sum(axis=2), model.shap_values(X), rtol=1e-10, atol=1e-12)


def people(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "job": rng.choice(["baker", "clerk", "diver", "monk", "nurse"], n),
            "town": rng.choice([f"town {k}" for k in range(12)], n),
        }
    )
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "job"] = None
    y = X["age"].fillna(40) / 10 + (X["job"] == "diver") * 3 + X["town"].str[-1].astype(int) * 0.2
    return X, y.to_numpy() + rng.normal(size=n) * 0.1


@pytest.mark.parametrize(
    ("growth", "encoding"),
    [(g, e) for g in ("leafwise", "symmetric") for e in ("one_hot", "ordered", "greedy")] + [("leafwise", "partition")],
)
def test_a_categorical_column_is_one_player_whatever_its_encoding(encoding, growth):
    X, y = people()
    options = {"max_combination": 2} if encoding in ("ordered", "greedy") else {}
    model = SapwoodRegressor(n_estimators=4, max_depth=4, growth=growth, category_encoding=encoding, **options)
    model.fit(X, y)
    some = X.head(5).copy()
    some.loc[0, "town"] = "never seen"
    rows = np.vstack([rows for _, rows in model.model_.transformer.transform(model.model_.align(some)).matrices(9)])
    check_against_brute_force(model.model_, some, rows)


@pytest.mark.parametrize(
    "options",
    [{}, {"growth": "symmetric"}, {"max_leaves": 255}, {"boosting": "dart"}, {"leaf_model": "linear"}],
)
def test_values_add_up_to_the_score(options):
    X, y = people(1000)
    model = SapwoodRegressor(n_estimators=30, **options).fit(X, y)
    explanation = model.explain(X)
    np.testing.assert_allclose(
        explanation.base_values + explanation.values.sum(axis=1), model.predict_raw(X), rtol=1e-10
    )


def test_values_add_up_to_the_scores_of_all_classes():
    X, y = people(600)
    model = SapwoodClassifier(n_estimators=5).fit(X, np.digitize(y, [4, 5, 6]))
    explanation = model.explain(X)
    assert explanation.values.shape == (600, 3, 4)
    np.testing.assert_allclose(
        explanation.base_values + explanation.values.sum(axis=1), model.predict_raw(X), rtol=1e-10, atol=1e-12
    )


def test_fewer_iterations_are_explained_as_the_shorter_model():
    X, y = people()
    model = SapwoodRegressor(n_estimators=9).fit(X, y)
    np.testing.assert_array_equal(model.shap_values(X, iterations=4), model.model_[:4].shap_values(X))
    explanation = model.explain(X, iterations=4)
    np.testing.assert_allclose(
        explanation.base_values + explanation.values.sum(axis=1), model.predict_raw(X, iterations=4), rtol=1e-10
    )


@pytest.mark.parametrize("team", ["2", "3", "8"])
def test_bits_are_the_same_for_any_team(team, monkeypatch):
    X, y = people(500)
    model = SapwoodRegressor(n_estimators=9).fit(X, y).model_
    monkeypatch.setenv("SAPWOOD_TEAM", "1")
    one = shap_values(model, X)
    monkeypatch.setenv("SAPWOOD_TEAM", team)
    assert shap_values(model, X).tobytes() == one.tobytes()
    assert shap_values(model, X[123:131]).tobytes() == one[123:131].tobytes()


@pytest.mark.parametrize("container", ["float32", "fortran", "sparse", "polars", "list"])
def test_every_container_gives_the_same_values(container):
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(200, 6)) * 4) / 4
    model = SapwoodRegressor(n_estimators=5).fit(X, X[:, 0] * X[:, 1] + X[:, 5])
    expected = model.shap_values(X)
    if container == "sparse":
        given = pytest.importorskip("scipy.sparse").csr_matrix(X)
    elif container == "polars":
        given = pytest.importorskip("polars").from_numpy(X)
    elif container == "list":
        given = X.tolist()
    else:
        given = X.astype(np.float32) if container == "float32" else np.asfortranarray(X)
    values = model.model_.shap_values(given)
    assert values.tobytes() == expected.tobytes()


def test_trees_without_a_split_belong_to_the_base_value():
    builder = EnsembleBuilder()
    builder.append(leaf_tree(2.5), round=0)
    model = Model(Schema(3), builder.build(), np.array([0.5]))
    explanation = model.explain(np.zeros((2, 3)))
    np.testing.assert_array_equal(explanation.values, np.zeros((2, 3)))
    np.testing.assert_array_equal(explanation.base_values, [3.0, 3.0])
