"""Learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.errors import InputError, ParameterError
from sapwood.explain.fitted_model import FittedModel
from sapwood.metrics.registry import metrics
from sapwood.plot.axes import COLORS, clean, get_axes, label, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CALLER = "plot.learning_curve"
Curves = dict[str, np.ndarray]


def learning_curve(
    model: Any, metric: str | None = None, *, sets: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Plot a metric of each evaluation set against the boosting round, and mark the best round.

    Parameters
    ----------
    model : estimator, result of ``sapwood.cv`` or dict
        An estimator that was fitted with ``eval_set`` or ``validation_fraction``, or a dictionary of the form of
        ``evals_result_``: {set: {metric: values}}, which ``sapwood.train`` fills.
    metric : str, optional
        Metric to plot; the first by default.
    sets : sequence of str, optional
        Evaluation sets to plot; all by default.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    history, best = _history(model)
    metric, curves = _select(history, metric, sets)
    ax = get_axes(ax, (7.0, 4.2), CALLER)
    for k, (name, values) in enumerate(curves.items()):
        rounds = np.arange(1, len(values) + 1)
        ax.plot(rounds, values, color=COLORS[k % len(COLORS)], linewidth=1.8, label=label(name))
    _mark_best(ax, metric, curves, best)
    ax.set_xlabel("boosting round")
    ax.set_ylabel(label(metric.replace("_", " ")))
    ax.set_title("Learning curves", loc="left")
    clean(ax)
    ax.legend(frameon=False)
    return ax


def _history(source: Any) -> tuple[dict[str, Curves], int | None]:
    """Return the curves by metric and set, and the best round if it is known."""
    if isinstance(source, Mapping):
        by_set, best = source, None
    elif hasattr(source, "history") and hasattr(source, "best_iteration"):
        by_set, best = {"mean of the folds": source.history}, source.best_iteration
    else:
        fitted = FittedModel.of(source, CALLER)
        by_set, best = fitted.evals_result, fitted.best_iteration
        if fitted.estimator is None:
            raise InputError(
                "a Model has no history of training: pass the estimator, or the dict evals_result that sapwood.train "
                "filled"
            )
    history: dict[str, dict[str, np.ndarray]] = {}
    for set_name, by_metric in by_set.items():
        if not isinstance(by_metric, Mapping):
            raise InputError(f"{CALLER}: a dict must have the form {{set: {{metric: values}}}}, as evals_result_ has")
        for name, values in by_metric.items():
            history.setdefault(str(name), {})[str(set_name)] = np.asarray(values, dtype=np.float64)
    if not history:
        raise InputError(
            "no metric was evaluated during training: fit with eval_set=(X_val, y_val), or set validation_fraction=0.1"
        )
    return history, best


def _select(
    history: dict[str, Curves], metric: str | None, sets: Sequence[str] | None
) -> tuple[str, Curves]:  # fmt: skip
    if metric is None:
        metric = next(iter(history))
    if metric not in history:
        raise ParameterError(f"{CALLER}: metric {metric!r} was not evaluated; allowed is one of {', '.join(history)}")
    curves = history[metric]
    unknown = [name for name in sets or () if name not in curves]
    if unknown:
        raise ParameterError(f"{CALLER}: there is no set {unknown[0]!r}; allowed are {', '.join(curves)}")
    return metric, {name: curves[name] for name in (sets or curves)}


def _mark_best(ax: Axes, metric: str, curves: Curves, best: int | None) -> None:
    """Draw a line at the best round and write its value beside it."""
    name, values = list(curves.items())[-1]
    known = metrics().get(metric.partition("@")[0])
    if best is None and (known is None or not np.isfinite(values).any()):
        return
    if best is None:
        assert known is not None
        best = int((np.nanargmax if known.greater_is_better else np.nanargmin)(values)) + 1
    if not 1 <= best <= len(values):
        return
    color = COLORS[(len(curves) - 1) % len(COLORS)]
    ax.axvline(best, color="#808080", linestyle="--", linewidth=1.0)
    ax.plot([best], [values[best - 1]], marker="o", color=color, markersize=6)
    is_late = best > 0.6 * len(values)
    ax.annotate(
        f"round {best}: {number(float(values[best - 1]))} on {label(name, 20)}",
        (best, values[best - 1]),
        xytext=(-8 if is_late else 8, 14),
        textcoords="offset points",
        ha="right" if is_late else "left",
        fontsize="small",
    )
