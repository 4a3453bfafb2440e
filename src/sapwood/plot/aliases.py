"""Names of plots in LightGBM, XGBoost, CatBoost, shap and scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sapwood.errors import ParameterError
from sapwood.plot import importances, training, trees

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Names in shap of functions that take the same explanation.
SAME = {
    "summary_plot": "beeswarm",
    "shap_summary": "beeswarm",
    "beeswarm_plot": "beeswarm",
    "waterfall_plot": "waterfall",
    "shap_waterfall": "waterfall",
    "dependence_plot": "dependence",
    "shap_dependence": "dependence",
    "scatter": "dependence",
    "plot_partial_dependence": "partial_dependence",
}
# What to write instead of functions of other libraries that have no counterpart of the same shape.
INSTEAD = {
    "plot_split_value_histogram": "model.trees['threshold'], the thresholds of all splits",
    "create_tree_digraph": "sapwood.plot.tree(model, 0), which needs no graphviz",
    "to_graphviz": "sapwood.plot.tree(model, 0), which needs no graphviz",
    "plot_predictions": "sapwood.plot.partial_dependence(model, X, feature)",
    "calc_feature_statistics": "sapwood.plot.partial_dependence(model, X, feature)",
    "force": "sapwood.plot.waterfall(model, X, row)",
    "force_plot": "sapwood.plot.waterfall(model, X, row)",
    "decision": "sapwood.plot.waterfall(model, X, row)",
    "decision_plot": "sapwood.plot.waterfall(model, X, row)",
    "bar": "sapwood.plot.importance(model)",
    "bar_plot": "sapwood.plot.importance(model)",
    "heatmap": "sapwood.plot.beeswarm(model, X)",
    "RocCurveDisplay": "sapwood.plot.roc(model, X, y); scikit-learn's class also takes Sapwood's estimators",
    "PrecisionRecallDisplay": "sapwood.plot.precision_recall(model, X, y)",
    "ConfusionMatrixDisplay": "sapwood.plot.confusion_matrix(model, X, y)",
    "CalibrationDisplay": "sapwood.plot.calibration(model, X, y)",
    "PredictionErrorDisplay": "sapwood.plot.residuals(model, X, y)",
    "PartialDependenceDisplay": "sapwood.plot.partial_dependence(model, X, feature)",
    "LearningCurveDisplay": "sapwood.plot.learning_curve(model), the curves of the boosting rounds",
}
# Arguments of LightGBM's and XGBoost's plots that set what the returned axes can set.
_AXES = "is set on the axes that are returned, as in ax = sapwood.plot.{ours}(...); ax.set_title('...')"
_ARGUMENTS = {
    "importance_type": "kind",
    "max_num_features": "max_features",
    "booster": "model",
    "num_trees": "index",
    "tree_idx": "index",
    "tree_index": "index",
    "dataset_names": "sets",
}


def plot_importance(booster: Any, importance_type: str = "total_gain", max_num_features: int | None = None,
                    ax: Axes | None = None, **others: Any) -> Axes:  # fmt: skip
    """Plot feature importances, with the arguments of LightGBM's and XGBoost's ``plot_importance``."""
    _refuse("plot_importance", "importance", others)
    kind = "total_gain" if importance_type == "auto" else importance_type
    return importances.importance(booster, kind, max_features=max_num_features or 20, ax=ax)


def plot_metric(booster: Any, metric: str | None = None, dataset_names: Any = None,
                ax: Axes | None = None, **others: Any) -> Axes:  # fmt: skip
    """Plot learning curves, with the arguments of LightGBM's ``plot_metric``."""
    _refuse("plot_metric", "learning_curve", others)
    return training.learning_curve(booster, metric, sets=dataset_names, ax=ax)


def plot_tree(booster: Any, tree_index: int | None = None, ax: Axes | None = None, *, num_trees: int | None = None,
              tree_idx: int | None = None, **others: Any) -> Axes:  # fmt: skip
    """Draw a tree, with the arguments of LightGBM's, XGBoost's and CatBoost's ``plot_tree``."""
    _refuse("plot_tree", "tree", others)
    given = [index for index in (tree_index, tree_idx, num_trees) if index is not None]
    return trees.tree(booster, given[0] if given else 0, ax=ax)


def _refuse(name: str, ours: str, others: dict[str, Any]) -> None:
    for argument in others:
        if argument == "figsize":
            remedy = f"make the axes, as in sapwood.plot.{ours}(model, ax=plt.subplots(figsize=(8, 5))[1])"
        elif argument in _ARGUMENTS:
            remedy = f"use sapwood.plot.{ours}(model, {_ARGUMENTS[argument]}=...)"
        else:
            remedy = f"it {_AXES.format(ours=ours)}"
        raise ParameterError(f"plot.{name}: {argument} is not supported; {remedy}")
