"""Plots of classifiers."""

from __future__ import annotations

import pytest
from sklearn.metrics import confusion_matrix, roc_auc_score

import sapwood
from sapwood.errors import ParameterError
from tests.plot.test_plot import texts


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
