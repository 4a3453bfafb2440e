"""Every metric: its formula, weights, and independence of the order of rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sklearn.metrics as theirs
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, ParameterError
from sapwood.metrics.base import Metric
from sapwood.metrics.registry import metrics, resolve_metric

NAMES = sorted({metric.name for metric in metrics().values()})
CLASS_METRICS = [name for name in NAMES if resolve_metric(name).prediction_kind == "probabilities"]


def example(name, n=400):
    random = np.random.default_rng(5)
    weight = random.uniform(0.1, 3, n)
    metric = resolve_metric(name)
    if metric.prediction_kind == "probabilities":
        return random.integers(0, 2, n).astype(float), np.round(random.uniform(0.01, 0.99, n), 2), weight
    if name == "cross_entropy":
        return random.uniform(size=n), random.uniform(0.01, 0.99, n), weight
    return random.gamma(2.0, size=n) + 0.01, random.gamma(2.0, size=n) + 0.01, weight


SCIKIT_LEARN = {
    "mse": theirs.mean_squared_error,
    "rmse": theirs.root_mean_squared_error,
    "mae": theirs.mean_absolute_error,
    "mape": theirs.mean_absolute_percentage_error,
    "msle": theirs.mean_squared_log_error,
    "r2": theirs.r2_score,
    "quantile@0.8": lambda y, p, sample_weight: theirs.mean_pinball_loss(y, p, sample_weight=sample_weight, alpha=0.8),
    "poisson_deviance": theirs.mean_poisson_deviance,
    "gamma_deviance": theirs.mean_gamma_deviance,
    "tweedie_deviance@1.3": lambda y, p, sample_weight: theirs.mean_tweedie_deviance(
        y, p, sample_weight=sample_weight, power=1.3
    ),
    "log_loss": theirs.log_loss,
    "brier": theirs.brier_score_loss,
    "accuracy": lambda y, p, sample_weight: theirs.accuracy_score(y, p > 0.5, sample_weight=sample_weight),
    "error": lambda y, p, sample_weight: 1 - theirs.accuracy_score(y, p > 0.5, sample_weight=sample_weight),
    "hinge": lambda y, p, sample_weight: theirs.hinge_loss(2 * y - 1, 2 * p - 1, sample_weight=sample_weight),
    "auc": theirs.roc_auc_score,
    "average_precision": theirs.average_precision_score,
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_it_agrees_with_scikit_learn(name, weighted):
    y, prediction, weight = example(name)
    weight = weight if weighted else None
    assert resolve_metric(name)(y, prediction, weight) == pytest.approx(
        SCIKIT_LEARN[name](y, prediction, sample_weight=weight), rel=1e-12
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_does_not_matter(name):
    y, prediction, weight = example(name)
    order = np.random.default_rng(1).permutation(len(y))
    metric = resolve_metric(name)
    assert metric(y, prediction, weight) == metric(y[order], prediction[order], weight[order])


@pytest.mark.parametrize("name", NAMES)
def test_a_weight_of_two_is_the_row_twice(name):
    y, prediction, _ = example(name, 50)
    weight = np.ones(50)
    weight[:20] = 2
    twice = np.concatenate([np.arange(50), np.arange(20)])
    metric = resolve_metric(name)
    assert metric(y, prediction, weight) == pytest.approx(metric(y[twice], prediction[twice]), rel=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_better_predictions_are_better(name):
    y, prediction, _ = example(name)
    metric = resolve_metric(name)
    truth = y * 0.98 + 0.01 if metric.prediction_kind == "probabilities" else y
    better, worse = metric(y, truth), metric(y, prediction)
    assert better > worse if metric.greater_is_better else better < worse


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.floats(0, 3)), min_size=2, max_size=30),
)
def test_auc_is_the_chance_that_a_positive_row_scores_higher(rows):
    """U1, by counting all pairs."""
    y, score, weight = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    won = total = 0.0
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            total += weight[i] * weight[j]
            won += weight[i] * weight[j] * ((score[i] > score[j]) + 0.5 * (score[i] == score[j]))
    got = resolve_metric("auc")(y, score, weight)
    if total > 1e-12:
        assert got == pytest.approx(won / total, rel=1e-9)


def test_auc_of_infinite_scores_counts_their_ties():
    assert resolve_metric("auc")([1.0, 0.0], [math.inf, math.inf]) == 0.5


def test_auc_needs_both_classes():
    assert math.isnan(resolve_metric("auc")([1.0, 1.0], [0.1, 0.2]))


def test_log_loss_of_several_classes_by_hand():
    probabilities = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    assert resolve_metric("log_loss")([1.0, 2.0], probabilities) == pytest.approx(-(math.log(0.25) + math.log(0.8)) / 2)


def test_log_loss_of_a_confident_error_is_finite():
    assert resolve_metric("log_loss")([1.0], [0.0]) == pytest.approx(52 * math.log(2))


def test_cross_entropy_by_hand():
    assert resolve_metric("cross_entropy")([0.25], [0.5]) == pytest.approx(math.log(2))


def test_accuracy_of_several_classes_takes_the_likeliest():
    probabilities = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]])
    assert resolve_metric("accuracy")([0.0, 2.0], probabilities) == 0.5


def test_brier_of_several_classes_sums_over_them():
    assert resolve_metric("brier")([0.0], np.array([[0.5, 0.25, 0.25]])) == pytest.approx(0.25 + 2 * 0.0625)


def test_several_quantiles_are_averaged():
    prediction = np.array([[0.0, 2.0]])
    assert resolve_metric("quantile@0.1,0.9")([1.0], prediction) == pytest.approx((0.1 + 0.1) / 2)


def test_r2_of_equal_targets_follows_scikit_learn():
    assert resolve_metric("r2")([2.0, 2.0], [2.0, 2.0]) == 1.0
    assert resolve_metric("r2")([2.0, 2.0], [2.0, 3.0]) == 0.0


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ParameterError, match="did you mean 'log_loss'"):
        resolve_metric("log_los")


def test_a_setting_that_is_no_number_is_refused():
    with pytest.raises(ParameterError, match="numbers"):
        resolve_metric("quantile@high")


def test_a_metric_without_settings_takes_none():
    with pytest.raises(ParameterError, match="no setting"):
        resolve_metric("rmse@2")


def test_a_function_becomes_a_metric():
    def bias(y, prediction, weight):
        return float(np.mean(prediction - y))

    metric = resolve_metric(bias)
    assert isinstance(metric, Metric)
    assert (metric.name, metric.greater_is_better) == ("bias", False)
    assert metric(np.array([1.0]), np.array([3.0]), None) == 2.0


def test_a_function_says_itself_that_greater_is_better():
    def hits(y, prediction, weight):
        return 1.0

    hits.greater_is_better = True
    assert resolve_metric(hits).greater_is_better


def test_a_function_that_returns_no_number_is_refused():
    with pytest.raises(ParameterError, match="allowed is a number"):
        resolve_metric(lambda y, prediction, weight: "good")(np.zeros(1), np.zeros(1))


def test_a_deviance_names_the_row_it_cannot_measure():
    with pytest.raises(InputError, match="row 1"):
        resolve_metric("poisson_deviance")([1.0, 2.0], [1.0, -1.0])


def test_auc_is_not_for_several_classes():
    with pytest.raises(ParameterError, match="measures binary, not multiclass"):
        resolve_metric("auc").check_task("multiclass")
