"""Every metric: its formula, weights, and independence of the order of rows."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.metrics as theirs

from sapwood.errors import InputError
from sapwood.metrics.registry import metrics, resolve_metric
from tests.distributed.worker_threads import run_on_rows

NAMES = sorted({metric.name for metric in metrics().values()})


def example(name, n=400):
    random = np.random.default_rng(5)
    weight = random.uniform(0.1, 3, n)
    metric = resolve_metric(name)
    if metric.prediction_kind == "probabilities" and "binary" not in metric.tasks:
        return random.integers(0, 4, n).astype(float), random.dirichlet(np.ones(4), n), weight
    if metric.prediction_kind == "probabilities":
        return random.integers(0, 2, n).astype(float), np.round(random.uniform(0.01, 0.99, n), 2), weight
    if name == "cross_entropy":
        return random.uniform(size=n), random.uniform(0.01, 0.99, n), weight
    return random.gamma(2.0, size=n) + 0.01, random.gamma(2.0, size=n) + 0.01, weight


SCIKIT_LEARN = {
    "mse": theirs.mean_squared_error,
    "rmse": theirs.root_mean_squared_error,
    "mae": theirs.mean_absolute_error,
    "rmsle": theirs.root_mean_squared_log_error,
    "medae": theirs.median_absolute_error,
    "explained_variance": theirs.explained_variance_score,
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
    "auc_ovr": theirs.roc_auc_score,
    "auc_ovo_weighted": theirs.roc_auc_score,
    "concordance": theirs.roc_auc_score,
    "average_precision": theirs.average_precision_score,
    "top_k_accuracy": theirs.top_k_accuracy_score,
    "top_k_accuracy@3": lambda y, p, sample_weight: theirs.top_k_accuracy_score(y, p, k=3, sample_weight=sample_weight),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_it_agrees_with_scikit_learn(name, weighted):
    y, prediction, weight = example(name)
    y = (y > 2).astype(float) if name == "concordance" else y
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
    if prediction.ndim == 2:
        truth = np.eye(4)[y.astype(int)]
    better, worse = metric(y, truth), metric(y, prediction)
    assert better > worse if metric.greater_is_better else better < worse


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", [name for name in NAMES if not resolve_metric(name).needs_all_rows])
def test_workers_with_some_of_the_rows_each_get_the_value_of_all(name, weighted):
    y, prediction, weight = example(name)
    metric, weight = resolve_metric(name), weight if weighted else None
    expected = metric(y, prediction, weight)

    def work(rows, workers):
        of_rows = None if weight is None else weight[rows]
        return metric(y[rows], prediction[rows], of_rows, workers=workers)

    for size in (1, 2, 3):
        assert run_on_rows(size, len(y), work) == [expected] * size


def test_all_workers_are_told_of_a_target_that_a_metric_does_not_allow():
    y = np.array([1.0, 2.0, 0.0, 3.0])

    def work(rows, workers):
        with pytest.raises(InputError, match="has the target 0 and"):
            resolve_metric("mape")(y[rows], y[rows], workers=workers)

    run_on_rows(3, len(y), work)
