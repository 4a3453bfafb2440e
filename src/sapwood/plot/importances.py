"""Feature importances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.explain.fitted_model import FittedModel
from sapwood.explain.importance import KINDS, FeatureImportance
from sapwood.params.validators import is_integer
from sapwood.plot.axes import BLUE, GREY, clean, get_axes, labels, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CALLER = "plot.importance"


def importance(
    model: Any, kind: str = "total_gain", X: Any = None, y: Any = None, *, max_features: int = 20,
    percent: bool = False, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Plot the importance of the features as bars, the most important first, with standard errors where there are any.

    Parameters
    ----------
    model : estimator, Model or FeatureImportance
        A fitted model, or importances that were computed before.
    kind : str
        Kind of importance, as in ``model.importance(kind, X, y)``.
    X : table, optional
        Rows, for kinds such as "mean_abs_shap" and "permutation".
    y : array-like, optional
        Target of the rows, for kinds that measure a loss.
    max_features : int
        Number of features to show; one more bar stands for the rest.
    percent : bool
        Whether to scale the importances to a sum of 100.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    if not is_integer(max_features) or max_features < 1:
        raise ParameterError(f"{CALLER}: max_features must be a positive integer, got {max_features!r}")
    table = model if isinstance(model, FeatureImportance) else _compute(model, kind, X, y, percent)
    values = np.asarray(table)
    order = np.argsort(-values, kind="stable")[:max_features]
    rest = np.delete(values, order)
    names = labels([table.names[f] for f in order])
    ax = get_axes(ax, (7.0, 1.3 + 0.28 * (len(order) + (len(rest) > 0))), CALLER)
    errors = np.zeros(len(values)) if table.errors is None else np.asarray(table.errors)
    style: dict[str, Any] = {"xerr": errors[order], "ecolor": "#404040", "capsize": 2} if errors.any() else {}
    ax.barh(range(len(order)), values[order], color=BLUE, height=0.7, **style)
    if len(rest):
        names.append(f"{len(rest)} more, together")
        ax.barh([len(order)], [rest.sum()], color=GREY, height=0.7, alpha=0.6)
    _write_values(ax, np.append(values[order], rest.sum() if len(rest) else []), np.append(errors[order], np.zeros(1)))
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.set_xlabel(f"{KINDS.get(table.kind, table.kind)}{', scaled to percent' if percent else ''}")
    ax.set_title("Feature importance", loc="left")
    clean(ax, "x")
    return ax


def _compute(model: Any, kind: str, X: Any, y: Any, percent: bool) -> FeatureImportance:
    fitted = FittedModel.of(model, CALLER)
    table: Any = fitted.model.importance(kind, X, y, percent=percent)
    return table


def _write_values(ax: Axes, values: np.ndarray, errors: np.ndarray) -> None:
    """Write each value behind its bar and its error."""
    longest = max(float(values.max(initial=0.0)), 0.0) or 1.0
    for k, value in enumerate(values):
        ax.text(max(value, 0.0) + errors[k] + 0.012 * longest, k, number(float(value)), va="center", fontsize="small")
    ax.set_xlim(min(0.0, 1.05 * float(values.min(initial=0.0))), 1.14 * longest + float(errors.max(initial=0.0)))
