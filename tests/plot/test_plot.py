"""All plots: axes in and out, input that is wrong, names of other libraries."""

from __future__ import annotations

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import sapwood
from sapwood.errors import InputError, InputTypeError, ParameterError, SchemaError

FOR_CLASSES = ("calibration", "confusion_matrix", "roc", "precision_recall")


def texts(ax) -> str:
    """Return all text of axes."""
    return "\n".join(text.get_text() for text in ax.findobj(plt.Text))


def calls(people, houses):
    """Yield (name, function of ax) of every plot."""
    X, y, model = people
    for name in FOR_CLASSES:
        yield name, lambda ax=None, name=name: getattr(sapwood.plot, name)(model, X, y, ax=ax)
    for name in ("learning_curve", "importance", "tree"):
        yield name, lambda ax=None, name=name: getattr(sapwood.plot, name)(model, ax=ax)
    for name in ("beeswarm", "waterfall", "dependence"):
        yield name, lambda ax=None, name=name: getattr(sapwood.plot, name)(model, X, ax=ax)
    yield "partial_dependence", lambda ax=None: sapwood.plot.partial_dependence(model, X, 0, max_rows=20, ax=ax)
    yield "residuals", lambda ax=None: sapwood.plot.residuals(houses[2], *houses[:2], ax=ax)


def test_every_plot_draws_into_the_axes_that_it_is_given(people, houses):
    for name, draw in calls(people, houses):
        _, axes = plt.subplots(1, 2)
        assert draw(ax=axes[1]) is axes[1], name
        assert not axes[0].has_data(), name
        assert axes[1].has_data() or texts(axes[1]), name


def test_every_plot_makes_a_figure_of_its_own_and_changes_no_settings(people, houses):
    before = dict(plt.rcParams)
    for name, draw in calls(people, houses):
        ax = draw()
        ax.figure.canvas.draw()
        assert len(ax.figure.axes) <= 2, name
        plt.close(ax.figure)
    assert dict(plt.rcParams) == before


def test_a_model_without_its_estimator_can_be_plotted(people):
    X, y, model = people
    for name in FOR_CLASSES:
        of_model, of_estimator = (getattr(sapwood.plot, name)(m, X, y) for m in (model.model_, model))
        assert texts(of_model) == texts(of_estimator)


@pytest.mark.parametrize("name", FOR_CLASSES)
def test_plots_of_classifiers_refuse_regression_models(houses, name):
    with pytest.raises(ParameterError, match=f"plot.{name} is for classifiers; .* use sapwood.plot.residuals"):
        getattr(sapwood.plot, name)(houses[2], *houses[:2])


def test_residuals_refuse_a_classifier(people):
    with pytest.raises(ParameterError, match=r"for a classifier use sapwood.plot.calibration"):
        sapwood.plot.residuals(people[2], *people[:2])


@pytest.mark.parametrize("name", ["importance", "tree", "learning_curve"])
def test_an_unfitted_estimator_is_refused(name):
    with pytest.raises(NotFittedError):
        getattr(sapwood.plot, name)(sapwood.SapwoodClassifier())


def test_models_of_other_libraries_are_refused():
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    with pytest.raises(InputTypeError, match=r"plot.tree takes an estimator of Sapwood .*, got sklearn.Ridge"):
        sapwood.plot.tree(Ridge())
    with pytest.raises(InputTypeError, match=r"pass pipeline\[-1\]"):
        sapwood.plot.importance(make_pipeline(Ridge()))


def test_wrong_columns_missing_targets_and_wrong_axes_are_refused(people, houses):
    X, y, model = people
    with pytest.raises(SchemaError, match="feature names"):
        sapwood.plot.roc(model, X.rename(columns={"age": "years"}), y)
    with pytest.raises(InputError, match=r"plot.roc compares predictions with the target: pass y"):
        sapwood.plot.roc(model, X, None)
    with pytest.raises(InputError, match="row 0 of y has the label 'old'"):
        sapwood.plot.roc(model, X, np.full(len(y), "old"))
    with pytest.raises(InputError, match="must be finite"):
        sapwood.plot.residuals(houses[2], houses[0], np.full(500, np.nan))
    with pytest.raises(InputTypeError, match=r"ax must be matplotlib axes or None, got ndarray: pass one of them"):
        sapwood.plot.importance(model, ax=plt.subplots(1, 2)[1])


def test_names_of_other_libraries_work_or_name_ours(people):
    model = people[2]
    ax = sapwood.plot.plot_importance(model, importance_type="split", max_num_features=2)
    assert ax.get_xlabel() == "number of splits"
    assert "validation_1" in texts(sapwood.plot.plot_metric(model, "log_loss"))
    assert "Tree 3 of 20" in texts(sapwood.plot.plot_tree(model, tree_index=3))
    assert "Tree 2 of 20" in texts(sapwood.plot.plot_tree(model, num_trees=2))
    with pytest.raises(ParameterError, match=r"figsize is not supported; make the axes"):
        sapwood.plot.plot_importance(model, figsize=(3, 3))
    with pytest.raises(ParameterError, match=r"title is not supported; it is set on the axes"):
        sapwood.plot.plot_importance(model, title="mine")
    with pytest.raises(AttributeError, match=r"use sapwood.plot.tree\(model, 0\), which needs no graphviz"):
        _ = sapwood.plot.to_graphviz
    with pytest.raises(AttributeError, match="did you mean 'importance'"):
        _ = sapwood.plot.importanse


def test_without_matplotlib_the_error_names_the_remedy():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import sapwood\n"
        "m = sapwood.SapwoodRegressor(n_estimators=1).fit([[0.], [1.]] * 30, [0., 1.] * 30)\n"
        "sapwood.plot.importance(m)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ImportError: plot.importance needs matplotlib: pip install 'sapwood[plot]'" in done.stderr
