"""Where boosting starts from: offsets, constants, other estimators, earlier models."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.boost.initial_scores import predictions_to_scores
from sapwood.errors import InputError, ParameterError, SchemaError
from sapwood.objectives import Softmax
from sapwood.objectives.links import LINKS

FEW = {"n_estimators": 10, "min_child_samples": 5}


def example(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, X[:, 0] + np.sin(3 * X[:, 1])


def labelled(n_classes: int, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    X, y = example(n)
    return X, np.array(["a", "b", "c"])[np.digitize(y, [-0.5, 0.5][: n_classes - 1])]


# --- init_score -------------------------------------------------------------------------------------------------------


def test_an_offset_of_squared_error_is_the_same_as_subtracting_it():
    X, y = example()
    offset = 2.0 * X[:, 2]
    shifted = SapwoodRegressor(**FEW).fit(X, y, init_score=offset)
    plain = SapwoodRegressor(init=0.0, **FEW).fit(X, y - offset)
    assert np.allclose(shifted.predict(X), plain.predict(X), atol=1e-6)


def test_predictions_do_not_add_the_offset_and_start_from_zero():
    X, y = example()
    fitted = SapwoodRegressor(**FEW).fit(X, y, init_score=np.full(len(y), 100.0))
    assert fitted.model_.base_scores.tolist() == [0.0]
    assert fitted.predict(X).mean() < -50.0


def test_classes_have_an_offset_each():
    X, y = labelled(3)
    offset = np.zeros((len(y), 3))
    offset[:, 1] = 50.0
    fitted = SapwoodClassifier(**FEW).fit(X, y, init_score=offset)
    assert fitted.predict_proba(X)[:, 1].mean() < 0.2


def test_the_offset_of_validation_rows_is_the_third_entry():
    X, y = example()
    offset = 2.0 * X[:, 2]
    fitted = SapwoodRegressor(**FEW).fit(X, y, init_score=offset, eval_set=(X, y, offset))
    expected = np.sqrt(np.mean((y - offset - fitted.predict(X)) ** 2))
    assert fitted.evals_result_["validation"]["rmse"][-1] == pytest.approx(expected)


def test_validation_rows_without_their_offset_are_refused():
    X, y = example()
    with pytest.raises(
        InputError, match="eval_set 'validation': init_score was passed for the training rows but not here"
    ):
        SapwoodRegressor(**FEW).fit(X, y, init_score=y, eval_set=(X, y))


def test_rows_split_off_take_their_offset_along():
    X, y = example()
    fitted = SapwoodRegressor(validation_fraction=0.3, **FEW).fit(X, y, init_score=y)
    assert fitted.evals_result_["validation"]["rmse"][-1] < 1e-9


@pytest.mark.parametrize("bad", [np.zeros(5), np.zeros((300, 2)), np.full(300, np.nan)])
def test_an_offset_of_another_shape_or_not_finite_is_refused(bad):
    with pytest.raises(InputError, match="init_score"):
        SapwoodRegressor(**FEW).fit(*example(), init_score=bad)


# --- init -------------------------------------------------------------------------------------------------------------


def test_a_linear_start_with_trees_on_the_rest_extrapolates():
    """A3: beyond the training range trees alone are constant; with a linear b_0 they follow the line."""
    random = np.random.default_rng(0)
    X = random.uniform(0.0, 1.0, size=(600, 1))
    y = 3.0 * X[:, 0] + 0.3 * np.sin(30.0 * X[:, 0])
    beyond = np.array([[2.0], [3.0], [4.0]])
    trees = SapwoodRegressor().fit(X, y)
    both = SapwoodRegressor(init=LinearRegression()).fit(X, y)
    assert np.ptp(trees.predict(beyond)) == 0.0
    line = both.init_.predict(beyond)
    assert np.allclose(both.predict(beyond), line, atol=0.5)
    assert np.allclose(both.predict(beyond), 3.0 * beyond[:, 0], atol=1.0)
    assert both.score(X, y) > 0.98 > both.init_.score(X, y)


def test_the_trees_correct_what_the_estimator_leaves():
    X, y = example()
    start = LinearRegression().fit(X, y)
    fitted = SapwoodRegressor(init=LinearRegression(), **FEW).fit(X, y)
    rest = SapwoodRegressor(init=0.0, **FEW).fit(X, y - start.predict(X))
    assert np.allclose(fitted.predict(X), start.predict(X) + rest.predict(X), atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("objective", ["logistic", "one_vs_all"])
def test_a_classifier_gives_the_first_probabilities(n_classes, objective):
    X, y = labelled(n_classes)
    fitted = SapwoodClassifier(init=LogisticRegression(), objective=objective, **FEW).fit(X, y)
    assert np.allclose(fitted.predict_proba(X, iterations=0), fitted.init_.predict_proba(X), atol=1e-5)
    assert fitted.score(X, y) > fitted.init_.score(X, y)


def test_the_last_stage_is_the_prediction():
    X, y = labelled(3)
    fitted = SapwoodClassifier(init=LogisticRegression(), **FEW).fit(X, y)
    stages = list(fitted.staged_predict_proba(X))
    assert len(stages) == 10
    assert np.array_equal(stages[-1], fitted.predict_proba(X))
    assert np.array_equal(stages[3], fitted.predict_proba(X, iterations=4))


def test_a_count_model_starts_from_positive_predictions():
    X, y = example()
    counts = np.round(np.exp(y))
    fitted = SapwoodRegressor(objective="poisson", init=Ridge(), **FEW).fit(X, counts)
    assert (fitted.predict(X) > 0.0).all()
    assert np.allclose(fitted.predict(X, iterations=0), np.maximum(fitted.init_.predict(X), 1e-6))


def test_a_pipeline_on_a_data_frame_can_be_the_start():
    X, y = example()
    frame = pd.DataFrame(X, columns=list("abc"))
    fitted = SapwoodRegressor(init=make_pipeline(StandardScaler(), Ridge()), **FEW).fit(frame, y)
    assert fitted.score(frame, y) > 0.8


def test_the_estimator_sees_the_weights_and_only_the_rows_of_training():
    X, y = example()
    weight = (np.arange(300) < 150).astype(float)
    fitted = SapwoodRegressor(init=LinearRegression(), **FEW).fit(X, y, sample_weight=weight)
    assert np.allclose(fitted.init_.coef_, LinearRegression().fit(X[:150], y[:150]).coef_)


def test_an_estimator_that_takes_no_weights_is_refused_where_there_are_some():
    X, y = example()
    with pytest.raises(ParameterError, match=r"init=KNeighborsRegressor\(\) is not supported with weighted rows"):
        SapwoodRegressor(init=KNeighborsRegressor()).fit(X, y, sample_weight=np.ones(300))


@pytest.mark.parametrize("weight", [None, np.linspace(0.0, 1.0, 300)])
def test_a_frozen_estimator_is_taken_as_it_is(weight):
    X, y = example()
    start = KNeighborsRegressor(3).fit(*example(seed=1))
    fitted = SapwoodRegressor(init=FrozenEstimator(start), **FEW).fit(X, y, sample_weight=weight)
    assert fitted.init_.estimator is start
    assert np.array_equal(fitted.predict(X, iterations=0), start.predict(X))
    assert fitted.score(X, y) > start.score(X, y)


def test_a_frozen_classifier_must_know_the_classes_of_y():
    X, y = labelled(3)
    start = FrozenEstimator(LogisticRegression().fit(X, y == y[0]))
    with pytest.raises(InputError, match="init: FrozenEstimator was fitted to the classes"):
        SapwoodClassifier(init=start, **FEW).fit(X, y)


def test_validation_starts_from_the_estimator_too():
    X, y = example()
    fitted = SapwoodRegressor(init=LinearRegression(), **FEW).fit(X, y, eval_set=example(seed=1))
    X_eval, y_eval = example(seed=1)
    expected = np.sqrt(np.mean((y_eval - fitted.predict(X_eval)) ** 2))
    assert fitted.evals_result_["validation"]["rmse"][-1] == pytest.approx(expected)


def test_such_a_model_cannot_be_saved_but_pickled(tmp_path):
    X, y = example()
    fitted = SapwoodRegressor(init=LinearRegression(), **FEW).fit(X, y)
    with pytest.raises(ParameterError, match="init is a LinearRegression, which a model file cannot contain"):
        fitted.save(tmp_path / "model.sapwood")
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


def test_a_classifier_without_probabilities_is_refused():
    with pytest.raises(ParameterError, match=r"init=LinearSVC\(\) is not supported with classification.*predict_proba"):
        SapwoodClassifier(init=LinearSVC()).fit(*labelled(2))


def test_a_constant_is_the_score_before_the_first_tree(tmp_path):
    X, y = example()
    fitted = SapwoodRegressor(init=7.5, **FEW).fit(X, y)
    assert (fitted.predict(X, iterations=0) == 7.5).all()
    fitted.save(tmp_path / "model.sapwood")
    assert np.array_equal(sapwood.load(tmp_path / "model.sapwood").predict(X), fitted.predict(X))


def test_each_class_may_have_its_constant():
    fitted = SapwoodClassifier(init=[0.0, 1.0, 2.0], **FEW).fit(*labelled(3))
    assert fitted.model_.base_scores.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("init", [[1.0, 2.0], float("nan"), "mean"])
def test_a_constant_of_another_shape_is_refused(init):
    with pytest.raises(ParameterError, match="init must be"):
        SapwoodRegressor(init=init).fit(*example())


@pytest.mark.parametrize("link", sorted(LINKS))
def test_scores_come_back_from_predictions(link):
    scores = np.array([[-0.75, -0.5, 0.0, 0.25, 0.5]])
    if link in ("softmax", "one_vs_all", "sorted", "frequencies"):
        scores = np.vstack([scores, scores + 1.0])
    prediction = np.atleast_2d(LINKS[link].predict(scores))
    prediction = prediction.T if len(scores) == 2 else prediction
    again = LINKS[link].predict(predictions_to_scores(np.ascontiguousarray(prediction), link))
    expected = LINKS[link].predict(scores)
    if link != "one_vs_all":  # its probabilities are scaled to sum to 1, which loses their size
        assert np.allclose(again, expected, atol=1e-9)


# --- init_model -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["estimator", "model", "path", "text"])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_training_in_two_parts_is_training_in_one(given, n_classes, tmp_path):
    X, y = labelled(n_classes) if n_classes else example()
    estimator = SapwoodClassifier if n_classes else SapwoodRegressor
    settings = {"min_child_samples": 5, "subsample": 0.8, "colsample_bytree": 0.7}
    first = estimator(n_estimators=6, **settings).fit(X, y)
    first.save(tmp_path / "model.sapwood")
    path = tmp_path / "model.sapwood"
    earlier = {"estimator": first, "model": first.model_, "path": path, "text": str(path)}[given]
    both = estimator(n_estimators=4, **settings).fit(X, y, init_model=earlier)
    assert both.model_.fingerprint() == estimator(n_estimators=10, **settings).fit(X, y).model_.fingerprint()
    assert both.n_iter_ == both.best_iteration_ == 10


def test_the_best_round_counts_those_of_the_earlier_model():
    X, y = example()
    first = SapwoodRegressor(n_estimators=20, learning_rate=0.5).fit(X, y)
    second = SapwoodRegressor(n_estimators=300, early_stopping_rounds=10, learning_rate=0.5)
    second.fit(X, y, init_model=first, eval_set=example(seed=1))
    history = second.evals_result_["validation"]["rmse"]
    assert second.n_iter_ == second.best_iteration_ == 20 + int(np.argmin(history)) + 1


def test_refit_goes_on_from_the_earlier_model():
    X, y = example()
    first = SapwoodRegressor(n_estimators=5).fit(X, y)
    second = SapwoodRegressor(early_stopping_rounds=5, refit=True, learning_rate=0.5).fit(X, y, init_model=first)
    assert second.n_iter_ == second.best_iteration_
    assert np.array_equal(second.predict(X, iterations=5), first.predict(X))


def test_new_rows_may_lack_a_class():
    X, y = labelled(3)
    first = SapwoodClassifier(**FEW).fit(X, y)
    second = SapwoodClassifier(**FEW).fit(X[y != "b"], y[y != "b"], init_model=first)
    assert list(second.classes_) == ["a", "b", "c"]
    with pytest.raises(InputError, match="row 0 of y has the label 'd', which is none of the classes"):
        SapwoodClassifier(**FEW).fit(X, np.where(np.arange(300) == 0, "d", y), init_model=first)


def test_columns_are_found_by_their_names():
    X, y = example()
    frame = pd.DataFrame(X, columns=list("abc"))
    first = SapwoodRegressor(**FEW).fit(frame, y)
    models = [
        SapwoodRegressor(**FEW).fit(frame[list(order)], y, init_model=first).model_.fingerprint()
        for order in ("abc", "cab")
    ]
    assert models[0] == models[1]


def test_an_estimator_at_the_start_stays():
    X, y = example()
    settings = {"init": LinearRegression(), **FEW}
    first = SapwoodRegressor(**settings).fit(X, y)
    second = SapwoodRegressor(**FEW).fit(X, y, init_model=first)
    assert second.init_ is first.init_
    assert second.score(X, y) > first.score(X, y)


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda X, y: SapwoodRegressor(**FEW).fit(X[:, :2], y), SchemaError, "X has 3 features, but init_model is"),
        (
            lambda X, y: SapwoodRegressor(objective="poisson", **FEW).fit(X, np.abs(y)),
            ParameterError,
            "init_model of 1 output.* the link 'log' is not supported with objective='squared' .* 'identity'",
        ),
        (lambda X, y: 5, TypeError, "init_model must be a Model, a fitted estimator or the path of a model file"),
        (lambda X, y: SapwoodRegressor(), TypeError, "init_model must be a Model, a fitted estimator"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(make, error, text):
    X, y = example()
    with pytest.raises(error, match=text):
        SapwoodRegressor(**FEW).fit(X, y, init_model=make(X, y))


def test_leaves_of_another_width_are_refused():
    X, y = labelled(3)
    first = SapwoodClassifier(objective=Softmax(vector_leaves=True), **FEW).fit(X, y)
    with pytest.raises(ParameterError, match=r"of 3 value.* is not supported with .* of 1 value.*vector_leaves"):
        SapwoodClassifier(**FEW).fit(X, y, init_model=first)
    both = SapwoodClassifier(objective=Softmax(vector_leaves=True), **FEW).fit(X, y, init_model=first)
    assert both.n_iter_ == 20


def test_init_and_an_earlier_model_are_refused_together():
    X, y = example()
    first = SapwoodRegressor(**FEW).fit(X, y)
    with pytest.raises(ParameterError, match="init is not supported with init_model"):
        SapwoodRegressor(init=0.0, **FEW).fit(X, y, init_model=first)
