"""Plots of models (``pip install 'sapwood[plot]'``): every function takes ``ax`` and returns it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from sapwood.plot.aliases import INSTEAD, SAME, plot_importance, plot_metric, plot_tree
from sapwood.plot.classification import calibration, confusion_matrix, precision_recall, roc
from sapwood.plot.contributions import beeswarm, dependence, waterfall
from sapwood.plot.effects import partial_dependence
from sapwood.plot.importances import importance
from sapwood.plot.regression import residuals
from sapwood.plot.training import learning_curve
from sapwood.plot.trees import tree

__all__ = [
    "beeswarm",
    "calibration",
    "confusion_matrix",
    "dependence",
    "importance",
    "learning_curve",
    "partial_dependence",
    "plot_importance",
    "plot_metric",
    "plot_tree",
    "precision_recall",
    "residuals",
    "roc",
    "tree",
    "waterfall",
]


def __getattr__(name: str) -> Any:
    """Return our function under its name in shap, or name it for one of another library."""
    if name in SAME:
        return globals()[SAME[name]]
    if name in INSTEAD:
        raise AttributeError(f"sapwood.plot has no {name!r}; use {INSTEAD[name]}")
    near = get_close_matches(name, __all__, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise AttributeError(f"module 'sapwood.plot' has no attribute {name!r}{hint}")
