"""Plots of classifiers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, roc_auc_score

import sapwood
from sapwood.errors import ParameterError
from sapwood.plot.classification import calibration_bins
from tests.plot.test_plot import texts


def test_bins_of_a_calibration_have_means_frequencies_and_intervals():
    bins = calibration_bins(np.array([0.1, 0.9, 0.2, 0.8]), np.array([False, True, True, True]), 2)
    np.testing.assert_allclose(bins["predicted"], [0.15, 0.85])
    np.testing.assert_allclose(bins["observed"], [0.5, 1.0])
    # Wilson's interval of 1 of 2: centre 1/2, half width 1.96 sqrt(1/8 + 1.96²/16) / (1 + 1.96²/2).
    half = 1.96 * np.sqrt(0.125 + 1.96**2 / 16) / (1 + 1.96**2 / 2)
    np.testing.assert_allclose([bins["low"][0], bins["high"][0]], [0.5 - half, 0.5 + half])


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(0)
    p, hit = np.sort(rng.random(40)), rng.random(40) < 0.5
    once = calibration_bins(p, hit, 1, np.full(40, 2.0))
    assert once["observed"][0] == pytest.approx(hit.mean())


def test_the_area_under_the_curve_is_that_of_scikit_learn(people):
    X, y, model = people
    area = roc_auc_score(y == "rich", model.predict_proba(X)[:, 1])
    assert f"rich (AUC {area:.4f})" in texts(sapwood.plot.roc(model, X, y))


def test_cells_of_a_confusion_matrix_are_counts(people):
    X, y, model = people
    shown = texts(sapwood.plot.confusion_matrix(model, X, y, normalize=None))
    for count in confusion_matrix(y, model.predict(X)).ravel():
        assert f"{count:,}" in shown
    with pytest.raises(ParameterError, match="normalize must be 'true', 'pred', 'all' or None, got 'rows'"):
        sapwood.plot.confusion_matrix(model, X, y, normalize="rows")


def test_fifty_classes_are_readable(letters):
    X, y, model = letters
    ax = sapwood.plot.confusion_matrix(model, X, y)
    assert not ax.texts  # colours only
    assert len(ax.get_yticklabels()) == 50
    for draw in (sapwood.plot.roc, sapwood.plot.precision_recall, sapwood.plot.calibration):
        ax = draw(model, X, y)
        assert len(ax.get_legend().get_texts()) <= 9
        assert "8 most frequent of 50 classes" in ax.get_title(loc="left")


def test_rows_of_one_class_give_a_picture(people):
    X, y, model = people
    only = y == "rich"
    for draw in (sapwood.plot.roc, sapwood.plot.precision_recall, sapwood.plot.calibration):
        draw(model, X[only], y[only]).figure.canvas.draw()


def test_unseen_categories_are_plotted(people):
    X, y, model = people
    sapwood.plot.calibration(model, X.assign(job="astronaut"), y).figure.canvas.draw()
