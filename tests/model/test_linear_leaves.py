"""Linear leaves in finished models: prediction, files, tables."""

from __future__ import annotations

import numpy as np
import pytest

import sapwood
from sapwood.data.tables.schema import Schema
from sapwood.errors import ModelFileError
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.io.serialize import from_bytes, to_bytes
from sapwood.model.model import Model
from tests.model.forests import linear_ensemble, random_rows, random_tree, same_trees, slow_scores
from tests.model.io.test_damage import forged, taken_apart

BASE = np.array([0.25, -0.5])


@pytest.fixture
def model() -> Model:
    return Model(Schema(4), linear_ensemble(np.random.default_rng(0), n_trees=8, n_outputs=2), BASE)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("team", ["1", "3"])
def test_predictions_are_those_of_the_slow_twin(monkeypatch, model, dtype, team):
    monkeypatch.setenv("SAPWOOD_TEAM", team)
    X = random_rows(np.random.default_rng(1), 300, 4, dtype)
    np.testing.assert_array_equal(model.predict_raw(X).T, slow_scores(model.ensemble, X, BASE))
    np.testing.assert_array_equal(model.predict_raw(np.asfortranarray(X)), model.predict_raw(X))


def test_one_row_at_a_time_gets_the_same_predictions(model):
    X = random_rows(np.random.default_rng(1), 50, 4)
    one = model.predictor()
    np.testing.assert_array_equal([one.predict_raw(row) for row in X], model.predict_raw(X))


def test_a_prediction_that_is_not_finite_is_replaced_by_the_value(model):
    X = np.full((1, 4), 1e308)
    assert np.isfinite(model.predict_raw(X)).all()


def test_stages_end_in_the_prediction_and_slices_add_up(model):
    X = random_rows(np.random.default_rng(1), 40, 4)
    stages = list(model.staged_predict(X))
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    np.testing.assert_array_equal(stages[1], model[:2].predict(X))
    joined = model.ensemble.slice(0, 1).concatenate(model.ensemble.slice(1))
    assert same_trees(joined, model.ensemble)


def test_trees_with_and_without_slopes_can_be_joined(model):
    builder = EnsembleBuilder(2)
    for k in range(4):
        builder.append(random_tree(np.random.default_rng(k), 5, 4), output=k % 2, round=k // 2)
    plain = builder.build()
    X = random_rows(np.random.default_rng(1), 40, 4)
    for joined in (plain.concatenate(model.ensemble), model.ensemble.concatenate(plain)):
        np.testing.assert_array_equal(Model(Schema(4), joined, BASE).predict_raw(X).T, slow_scores(joined, X, BASE))


def test_a_file_holds_the_slopes(model, tmp_path):
    model.save(tmp_path / "linear.sapwood")
    again = sapwood.load(tmp_path / "linear.sapwood")
    assert same_trees(again.ensemble, model.ensemble)
    assert again.fingerprint() == model.fingerprint()


def test_a_slope_counts_in_the_fingerprint(model):
    text, tensors = taken_apart(to_bytes(model))
    tensors["term_slope"][0] += 1.0
    assert from_bytes(forged(text, tensors)).fingerprint() != model.fingerprint()


FORGERIES = {
    "terms that overlap": ("term_start", 1, 10**6),
    "terms that start late": ("term_start", 0, 1),
    "terms beyond the end": ("term_start", -1, 10**6),
    "terms that go back": ("term_start", -2, -1),
    "feature too large": ("term_feature", 0, 4),
    "feature too small": ("term_feature", 0, -1),
    "slope not a number": ("term_slope", 0, np.nan),
    "slope infinite": ("term_slope", 0, np.inf),
    "centre not a number": ("term_centre", 0, np.nan),
    "intercept infinite": ("term_intercept", 0, np.inf),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_number_is_refused(model, forgery):
    name, place, value = FORGERIES[forgery]
    text, tensors = taken_apart(to_bytes(model))
    tensors[name][place] = value
    with pytest.raises(ModelFileError):
        from_bytes(forged(text, tensors))


def test_slopes_of_an_inner_node_are_refused(model):
    text, tensors = taken_apart(to_bytes(model))
    inner = int(np.argmax(tensors["feature"] >= 0))
    tensors["term_start"][inner + 1 :] = np.maximum(
        tensors["term_start"][inner + 1 :], tensors["term_start"][inner] + 1
    )
    with pytest.raises(ModelFileError, match=r"inner node|divide"):
        from_bytes(forged(text, tensors))


@pytest.mark.parametrize("name", ["term_start", "term_intercept", "term_feature", "term_centre", "term_slope"])
def test_terms_of_another_length_or_type_or_none_are_refused(model, name):
    text, tensors = taken_apart(to_bytes(model))
    for changed in (tensors[name][:-1].copy(), tensors[name].astype(np.uint64), tensors[name][None], None):
        others = {key: value for key, value in tensors.items() if key != name}
        with pytest.raises(ModelFileError):
            from_bytes(forged(text, others if changed is None else others | {name: changed}))


def test_tables_and_text_show_the_slopes(model):
    slopes, nodes = model.leaf_coefficients, model.trees
    assert (
        len(slopes["slope"])
        == len(model.terms["slope"])
        == nodes["n_terms"].sum()
        == len(model.ensemble.leaf_coefficients)
    )
    first = int(np.argmax(nodes["n_terms"] > 0))
    assert (slopes["tree"][0], slopes["node"][0]) == (nodes["tree"][first], nodes["node"][first])
    slope, centre = float(slopes["slope"][0]), float(slopes["centre"][0])
    sign, shift = "+-"[slope < 0], "-+"[centre < 0]
    assert f"{sign} {abs(slope)!r} * ({slopes['name'][0]} {shift} {abs(centre)!r})" in model.to_text()


def test_constant_leaves_have_no_slopes_in_any_table():
    builder = EnsembleBuilder()
    builder.append(random_tree(np.random.default_rng(0), 5, 4))
    model = Model(Schema(4), builder.build(), np.zeros(1))
    assert len(model.leaf_coefficients["slope"]) == 0
    assert "n_terms" not in model.trees
