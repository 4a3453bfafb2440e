from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from sapwood.data.tables.schema import Schema
from sapwood.errors import ParameterError, SchemaError
from sapwood.model.model import Model
from tests.model.example_models import class_model, regression_model
from tests.model.forests import leaf_of, random_ensemble, random_rows, slow_scores

ROWS = random_rows(np.random.default_rng(0), 40, 4)


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=0))
    return (e / e.sum(axis=0)).T


def test_raw_predictions_are_base_plus_trees():
    model = regression_model()
    np.testing.assert_array_equal(model.predict_raw(ROWS), slow_scores(model.ensemble, ROWS, [0.75])[0])


def test_raw_predictions_of_several_outputs_have_a_column_each():
    model = class_model(3)
    expected = slow_scores(model.ensemble, ROWS, model.base_scores).T
    np.testing.assert_array_equal(model.predict_raw(ROWS), expected)


def test_the_identity_link_predicts_the_score():
    model = regression_model()
    np.testing.assert_array_equal(model.predict(ROWS), model.predict_raw(ROWS))


def test_two_classes_give_the_probability_of_the_second():
    model = class_model(2)
    np.testing.assert_allclose(model.predict_response(ROWS), 1 / (1 + np.exp(-model.predict_raw(ROWS))), rtol=1e-14)


def test_several_classes_give_a_column_of_probabilities_each():
    model = class_model(4)
    np.testing.assert_allclose(model.predict_response(ROWS), softmax(model.predict_raw(ROWS).T), rtol=1e-13)


def test_the_first_rounds_can_predict_alone():
    model = class_model(3)
    for rounds in range(4):
        expected = slow_scores(model.ensemble.slice(0, rounds), ROWS, model.base_scores).T
        np.testing.assert_array_equal(model.predict_raw(ROWS, iterations=rounds), expected)


@pytest.mark.parametrize("iterations", [-1, 6])
def test_rounds_that_do_not_exist_are_refused(iterations):
    with pytest.raises(ParameterError, match="between 0 and 5"):
        regression_model().predict(ROWS, iterations=iterations)


def test_stages_are_the_predictions_of_growing_models():
    model = class_model(3)
    stages = list(model.staged_predict(ROWS))
    assert len(stages) == 3
    for k, stage in enumerate(stages):
        np.testing.assert_array_equal(stage, model.predict(ROWS, iterations=k + 1))


def test_leaf_indices_are_the_nodes_where_rows_end():
    model = class_model(3)
    found = model.leaf_indices(ROWS, iterations=2)
    assert found.tolist() == [[leaf_of(tree, row) for tree in model.ensemble.slice(0, 2)] for row in ROWS]


def test_a_slice_of_rounds_is_a_model():
    model = regression_model()
    np.testing.assert_array_equal(model[:2].predict(ROWS), model.predict(ROWS, iterations=2))
    assert (model[:2].n_iterations, len(model[1:])) == (2, 4)
    assert model[:-1].n_iterations == 4


@pytest.mark.parametrize("index", [0, slice(4, 0, -1)])
def test_only_slices_forward_cut_a_model(index):
    with pytest.raises(ParameterError, match=r"model\[(:50|::2)\]"):
        regression_model()[index]


def test_a_list_of_rows_is_predicted():
    model = regression_model()
    np.testing.assert_array_equal(model.predict(np.nan_to_num(ROWS).tolist()), model.predict(np.nan_to_num(ROWS)))


def test_a_table_with_another_number_of_columns_is_refused():
    with pytest.raises(SchemaError, match="3 features"):
        regression_model().predict(ROWS[:, :3])


def test_a_model_without_trees_predicts_its_base_score():
    model = regression_model()[:0]
    np.testing.assert_array_equal(model.predict(ROWS), np.full(40, 0.75))
    assert list(model.staged_predict(ROWS)) == []
    assert model.leaf_indices(ROWS).shape == (40, 0)


def test_base_scores_must_fit_the_outputs():
    with pytest.raises(ValueError, match="base_scores"):
        regression_model(base_scores=np.zeros(2))


def test_vector_leaves_are_predicted():
    ensemble = random_ensemble(np.random.default_rng(1), 3, n_outputs=3, width=3)
    model = Model(Schema(4), ensemble, np.zeros(3), "softmax")
    np.testing.assert_allclose(
        model.predict_response(ROWS), softmax(slow_scores(ensemble, ROWS, np.zeros(3))), rtol=1e-13
    )


def test_the_table_of_trees_names_the_columns():
    assert set(regression_model().trees["name"]) <= {"", "a", "b", "c", "d"}
    assert set(class_model().trees["name"]) <= {"", "f0", "f1", "f2", "f3"}


def test_the_text_draws_every_tree():
    text = regression_model().to_text()
    assert text.startswith("base scores: 0.75\n\ntree 0 (round 0, output 0)\n0: ")
    assert text.count("\ntree ") == 5


def test_the_repr_says_how_large_the_model_is():
    assert repr(class_model(3)) == ("<sapwood.Model: 4 features, 3 outputs, 3 rounds, 9 trees, link softmax>")


def test_a_copy_of_a_model_is_the_same_model():
    model = class_model(3, metadata={"loss": float("nan"), "history": [1.0, float("inf")]})
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.fingerprint() == model.fingerprint()
        np.testing.assert_array_equal(other.predict(ROWS), model.predict(ROWS))
        assert str(other.metadata) == str(model.metadata)


# --- fingerprint ------------------------------------------------------------------------------------------------------


def changed(model: Model, name: str, node: int, value: float) -> Model:
    array = getattr(model.ensemble, name).copy()
    array[node] = value
    fields = {**model.ensemble.__dict__, name: array}
    return Model(
        **{**{k: v for k, v in model.__dict__.items() if k[0] != "_"}, "ensemble": type(model.ensemble)(**fields)}
    )


@pytest.mark.parametrize("what", ["threshold", "missing_left", "leaf value", "base", "link", "classes", "trees"])
def test_whatever_decides_a_prediction_changes_the_fingerprint(what):
    model = class_model(3)
    inner, leaf = np.flatnonzero(model.ensemble.feature >= 0)[0], np.flatnonzero(model.ensemble.feature < 0)[0]
    other = {
        "threshold": lambda: changed(model, "threshold", inner, 123.0),
        "missing_left": lambda: changed(model, "missing_left", inner, 1 - model.ensemble.missing_left[inner]),
        "leaf value": lambda: changed(model, "value", leaf, 9.0),
        "base": lambda: class_model(3, base_scores=np.zeros(3)),
        "link": lambda: class_model(3, link="one_vs_all"),
        "classes": lambda: class_model(3, classes=np.array([1, 2, 3])),
        "trees": lambda: model[:2],
    }[what]()
    assert other.fingerprint() != model.fingerprint()


@pytest.mark.parametrize("what", ["names", "params", "gain", "count", "inner value", "objective"])
def test_whatever_decides_nothing_leaves_the_fingerprint(what):
    model = class_model(3)
    inner = np.flatnonzero(model.ensemble.feature >= 0)[0]
    other = {
        "names": lambda: class_model(3, schema=Schema(4, ("p", "q", "r", "s"))),
        "params": lambda: class_model(3, metadata={"learning_rate": 1}),
        "gain": lambda: changed(model, "gain", inner, 77.0),
        "count": lambda: changed(model, "count", inner, 77),
        "inner value": lambda: changed(model, "value", inner, 77.0),
        "objective": lambda: class_model(3, objective={"name": "focal"}),
    }[what]()
    assert other.fingerprint() == model.fingerprint()


def test_labels_of_different_type_have_different_fingerprints():
    numbers, texts = class_model(2, classes=np.array([0, 1])), class_model(2, classes=np.array(["0", "1"]))
    assert numbers.fingerprint() != texts.fingerprint()
