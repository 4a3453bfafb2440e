"""Validation rows: their scores and metrics while the model grows."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.boost.evaluation import EvalMetric, eval_metrics, evaluate
from sapwood.boost.target import Target
from sapwood.errors import ParameterError
from sapwood.metrics.registry import resolve_metric
from sapwood.objectives import Logistic, Quantile, Squared

FEW = {"n_estimators": 12, "min_child_samples": 5, "learning_rate": 0.3}


def example(n: int = 300, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    X[random.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0]) + np.sin(3 * np.nan_to_num(X[:, 1]))


def names(spec, objective=None, task="regression") -> list[str]:
    return [measure.name for measure in eval_metrics(spec, objective or Squared(), task)]


def test_the_default_is_the_metric_of_the_loss():
    assert names(None) == ["rmse"]
    assert names(None, Logistic(), "binary") == ["log_loss"]


def test_metrics_are_named_or_functions_one_or_several():
    def weird(y, prediction, weight):
        return 0.0

    assert names("mae") == ["mae"]
    assert names(["mae", "loss", weird, resolve_metric("r2")]) == ["mae", "loss", "weird", "r2"]


def test_two_metrics_of_one_name_are_refused():
    with pytest.raises(ParameterError, match="two metrics named 'mae'"):
        names(["mae", "mean_absolute_error"])


def test_a_metric_for_classes_is_refused_for_numbers():
    with pytest.raises(ParameterError, match="'auc', which measures binary, multiclass, is not"):
        names("auc")


def test_an_empty_list_is_refused():
    with pytest.raises(ParameterError, match="eval_metric is an empty list"):
        names([])


def test_the_loss_itself_can_be_measured():
    y, scores = np.array([1.0, 2.0]), np.array([[0.0, 0.0]])
    values = evaluate([EvalMetric()], Squared(), Target(y, np.array([1.0, 3.0])), scores)
    assert values == {"loss": (0.5 * 1 + 3 * 0.5 * 4) / 4}


@pytest.mark.parametrize("estimator", [SapwoodRegressor, SapwoodClassifier])
@pytest.mark.parametrize("max_bins", [16, 300])
def test_the_history_is_what_the_model_gives_after_each_round(estimator, max_bins):
    """The binned rows that validation keeps agree with the finished model on the raw ones, round by round."""
    X, y = example()
    X_eval, y_eval = example(seed=1)
    if estimator is SapwoodClassifier:
        y, y_eval = np.digitize(y, [-0.5, 0.5]), np.digitize(y_eval, [-0.5, 0.5])
    fitted = estimator(max_bins=max_bins, subsample=0.7, **FEW).fit(X, y, eval_set=(X_eval, y_eval))
    [(name, history)] = fitted.evals_result_["validation"].items()
    metric = resolve_metric(name)
    expected = [metric(y_eval, prediction) for prediction in fitted.model_.staged_response(X_eval)]
    assert history == expected


def test_several_quantiles_are_measured_together():
    X, y = example()
    fitted = SapwoodRegressor(objective=Quantile([0.1, 0.9]), **FEW).fit(X, y, eval_set=(X, y))
    [history] = fitted.evals_result_["validation"].values()
    assert history[-1] < history[0]


def test_a_function_gets_targets_predictions_and_weights():
    X, y = example()
    weight = np.linspace(1.0, 2.0, len(y))
    seen = []

    def weighted_error(y, prediction, weight):
        seen.append((y, prediction, weight))
        return np.average((y - prediction) ** 2, weights=weight)

    fitted = SapwoodRegressor(eval_metric=[weighted_error, "mse"], **FEW)
    fitted.fit(X, y, eval_set=(X, y), eval_sample_weight=weight)
    own, built_in = fitted.evals_result_["validation"].values()
    assert np.allclose(own, built_in)
    assert np.array_equal(seen[-1][0], y) and np.array_equal(seen[-1][1], fitted.predict(X))
    assert np.array_equal(seen[-1][2], weight)


def test_a_function_that_returns_no_number_is_refused():
    X, y = example()
    with pytest.raises(ParameterError, match=r"metric '<lambda>' returned 'high'; allowed is a number"):
        SapwoodRegressor(eval_metric=lambda y, p, w: "high", **FEW).fit(X, y, eval_set=(X, y))
