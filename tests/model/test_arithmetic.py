"""Sums and multiples of models, and slices with a step."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import ParameterError, SchemaError
from sapwood.model.arithmetic import average_models, multiply_outputs
from sapwood.objectives import Softmax

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(300, 3))
Y = X[:, 0] + np.abs(X[:, 1])
LABELS = np.digitize(Y, [0.0, 1.0])
FRAME = pd.DataFrame({"x": X[:, 0], "city": np.array(list("abc"))[LABELS]})


def model(n_estimators: int = 4, table=X, y=Y, **params) -> sapwood.Model:
    estimator = SapwoodClassifier if y is LABELS else SapwoodRegressor
    return estimator(n_estimators=n_estimators, **params).fit(table, y).model_


@pytest.mark.parametrize(
    "params", [{}, {"leaf_model": "linear"}, {"boosting": "dart"}, {"objective": "absolute"}], ids=str
)
def test_the_scores_of_a_sum_are_the_sums_of_the_scores(params, tmp_path):
    one, other = model(4, **params), model(3, random_state=1, subsample=0.5, **params)
    total = one + other
    assert total.n_iterations == 7
    np.testing.assert_allclose(total.predict_raw(X), one.predict_raw(X) + other.predict_raw(X), rtol=1e-12)
    total.save(tmp_path / "sum")
    assert sapwood.load(tmp_path / "sum").fingerprint() == total.fingerprint()


@pytest.mark.parametrize("params", [{}, {"leaf_model": "linear"}, {"boosting": "dart"}], ids=str)
def test_outputs_are_multiples_of_the_score(params):
    one = model(4, **params)
    several = multiply_outputs(one, (1.0, -2.5), "sorted")
    assert (several.n_outputs, several.n_iterations, several.link) == (2, 4, "sorted")
    np.testing.assert_allclose(several.predict_raw(X), one.predict_raw(X)[:, None] * [1.0, -2.5], rtol=1e-12)


@pytest.mark.parametrize("vector_leaves", [False, True])
def test_classes_are_added_score_by_score(vector_leaves):
    one, other = (model(k, y=LABELS, objective=Softmax(vector_leaves=vector_leaves)) for k in (2, 5))
    np.testing.assert_allclose((one + other).predict_raw(X), one.predict_raw(X) + other.predict_raw(X), rtol=1e-12)


def test_models_with_categories_are_added():
    encodings = [{"category_encoding": "ordered"}, {"category_encoding": "partition"}, {"category_encoding": "one_hot"}]
    models = [model(3, FRAME, **encoding) for encoding in encodings]
    np.testing.assert_allclose(
        sum(models).predict_raw(FRAME), np.sum([one.predict_raw(FRAME) for one in models], axis=0), rtol=1e-12
    )


def test_categories_that_only_one_model_knows_are_unknown_to_the_other():
    fewer = FRAME[FRAME.city != "c"]
    one, other = model(3, fewer, Y[fewer.index]), model(3, FRAME)
    for total in (one + other, other + one):
        np.testing.assert_allclose(
            total.predict_raw(FRAME), one.predict_raw(FRAME) + other.predict_raw(FRAME), rtol=1e-12
        )


def test_a_multiple_has_the_multiple_of_the_scores():
    one, other = model(4), model(3, boosting="forest")
    mean = 0.25 * one + other * 0.75
    expected = 0.25 * one.predict_raw(X) + 0.75 * other.predict_raw(X)
    np.testing.assert_allclose(mean.predict_raw(X), expected, rtol=1e-12)
    with pytest.raises(ParameterError, match="finite number, got nan"):
        one * float("nan")
    with pytest.raises(TypeError):
        one * "2"
    with pytest.raises(TypeError):
        one + 1


@pytest.mark.parametrize(
    ("other", "error", "words"),
    [
        (lambda: model(1, X[:, :2]), SchemaError, "3 columns and 2 columns"),
        (lambda: model(1, y=LABELS), ParameterError, "with link 'identity' and 'softmax'"),
        (lambda: model(1, zero_as_missing=True), SchemaError, "zero_as_missing"),
        (lambda: model(1, categorical_features=[2], table=np.round(X)), SchemaError, "categorical_features"),
    ],
)
def test_models_that_do_not_fit_are_refused(other, error, words):
    with pytest.raises(error, match=words):
        model(1) + other()


def test_models_of_other_classes_or_codes_are_refused():
    one = SapwoodClassifier(n_estimators=1).fit(X, Y > 0).model_
    with pytest.raises(ParameterError, match="models of the classes"):
        one + SapwoodClassifier(n_estimators=1).fit(X, np.where(Y > 0, "b", "a")).model_
    fewer = FRAME[FRAME.city != "a"]
    with pytest.raises(SchemaError, match="'city' have different codes"):
        model(1, FRAME) + model(1, fewer, Y[fewer.index])


@pytest.mark.parametrize("params", [{}, {"leaf_model": "linear"}, {"boosting": "dart"}], ids=str)
def test_a_step_keeps_every_kth_round(params):
    whole = model(9, **params)
    thinned = whole[1:8:3]
    assert thinned.n_iterations == 3
    stages = [whole[:8].predict_raw(X) * 0 + whole.base_scores[0]]
    for k in (1, 4, 7):
        stages.append(stages[-1] + whole[:8][k:].predict_raw(X) - whole[:8][k + 1 :].predict_raw(X))
    np.testing.assert_allclose(thinned.predict_raw(X), stages[-1], rtol=1e-9)
    assert whole[::1].fingerprint() == whole.fingerprint()
    assert whole[::20].n_iterations == 1


def test_rounds_of_several_classes_are_kept_whole():
    thinned = model(6, y=LABELS)[::2]
    assert thinned.ensemble.tree_output.tolist() == [0, 1, 2] * 3
    assert thinned.ensemble.tree_round.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("rounds", [slice(None, None, -1), slice(None, None, 0), slice(None, 1.5), 3])
def test_other_slices_are_refused(rounds):
    with pytest.raises(ParameterError, match="rounds"):
        model(2)[rounds]


@pytest.mark.parametrize("params", [{}, {"leaf_model": "linear"}], ids=str)
def test_an_average_has_the_trees_of_each_round_side_by_side(params):
    one, other = model(4, **params), model(6, random_state=1, subsample=0.5, **params)
    average = average_models([one, other], [0.25, 0.75])
    assert average.ensemble.tree_round.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 5]
    expected = 0.25 * one[:2].predict_raw(X) + 0.75 * other[:2].predict_raw(X)
    np.testing.assert_allclose(average[:2].predict_raw(X), expected, rtol=1e-12)
    again = average_models([one], [1.0])
    assert again.fingerprint() == one.fingerprint()


def test_an_average_of_models_with_categories_numbers_their_features_anew():
    models = [model(3, FRAME, category_encoding=encoding) for encoding in ("ordered", "partition", "one_hot")]
    expected = np.mean([one.predict_raw(FRAME) for one in models], axis=0)
    np.testing.assert_allclose(average_models(models, [1 / 3] * 3).predict_raw(FRAME), expected, rtol=1e-12)
