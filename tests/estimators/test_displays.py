"""scikit-learn's displays and skore's reports take Sapwood's estimators."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import calibration, inspection, metrics, model_selection
from sklearn.base import clone

import sapwood

matplotlib = pytest.importorskip("matplotlib", reason="displays are drawn with matplotlib")
matplotlib.use("Agg")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
LABELS = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
VALUES = X[:, 0] + X[:, 1] ** 2
CLASSIFIER, REGRESSOR = sapwood.SapwoodClassifier(n_estimators=10), sapwood.SapwoodRegressor(n_estimators=10)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.parametrize(
    "display",
    [
        metrics.RocCurveDisplay,
        metrics.PrecisionRecallDisplay,
        metrics.DetCurveDisplay,
        metrics.ConfusionMatrixDisplay,
        calibration.CalibrationDisplay,
    ],
)
def test_displays_of_classifiers(display):
    assert display.from_estimator(CLASSIFIER.fit(X, LABELS), X, LABELS).ax_.has_data()


def test_displays_of_inspection():
    classifier = CLASSIFIER.fit(X, LABELS)
    shown = inspection.PartialDependenceDisplay.from_estimator(classifier, X, [0, (0, 1)])
    assert shown.axes_.shape == (1, 2)
    inspection.PartialDependenceDisplay.from_estimator(REGRESSOR.fit(X, VALUES), X, [1], kind="both")
    assert inspection.DecisionBoundaryDisplay.from_estimator(classifier, X).ax_.has_data()
    found = inspection.permutation_importance(classifier, X, LABELS, n_repeats=2, random_state=0)
    assert (found.importances_mean > 0).all()


def test_displays_of_regressors():
    assert metrics.PredictionErrorDisplay.from_estimator(REGRESSOR.fit(X, VALUES), X, VALUES).ax_.has_data()
    curve = model_selection.LearningCurveDisplay.from_estimator(REGRESSOR, X, VALUES, cv=2, train_sizes=[0.5, 1.0])
    assert curve.ax_.has_data()
    settings = {"param_name": "max_leaves", "param_range": [2, 4], "cv": 2}
    assert model_selection.ValidationCurveDisplay.from_estimator(REGRESSOR, X, VALUES, **settings).ax_.has_data()


@pytest.mark.filterwarnings("ignore")  # of skore and what it imports
def test_skore_reports_on_estimators():
    skore = pytest.importorskip("skore", reason="skore is not installed")
    train, test = slice(0, 200), slice(200, 300)
    for estimator, y, metric in ((CLASSIFIER, LABELS, "roc_auc"), (REGRESSOR, VALUES, "r2")):
        report = skore.EstimatorReport(
            clone(estimator), X_train=X[train], y_train=y[train], X_test=X[test], y_test=y[test]
        )
        assert metric in str(report.metrics.summarize().frame())
        importance = report.inspection.impurity_decrease().frame()
        np.testing.assert_allclose(importance["importance"], report.estimator_.feature_importances_)
        assert len(report.inspection.permutation_importance().frame()) >= 2
