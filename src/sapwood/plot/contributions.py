"""Plots of Shapley values: beeswarm, waterfall, dependence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sapwood.errors import InputError, InputTypeError, ParameterError
from sapwood.explain.explanation import Explanation
from sapwood.explain.fitted_model import FittedModel
from sapwood.params.validators import is_integer
from sapwood.plot.axes import BLUE, GREY, HIGH, LOW, clean, get_axes, label, labels, number, rank_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_POINTS = 2000  # of a feature in a beeswarm
BINS = 60  # of contributions, in which dots are stacked


class Contributions(NamedTuple):
    """Shapley values (rows, features), base values (rows,), values of the features as numbers and as shown, names."""

    values: np.ndarray
    base: np.ndarray
    data: np.ndarray
    shown: np.ndarray
    names: list[str]
    output: str
    is_category: np.ndarray


def beeswarm(
    model: Any, X: Any = None, *, output: int | str | None = None, max_features: int = 20, ax: Axes | None = None
) -> Axes:
    """Plot the contributions of the strongest features to the scores of all rows, one dot per row and feature.

    Dots to the right raise the score. Their colour is the rank of the feature's value: blue is low, orange high, grey
    missing; categories are grey too.

    Parameters
    ----------
    model : estimator, Model or Explanation
        A fitted model, or the result of ``model.explain(X)``.
    X : table, optional
        Rows to explain; not needed with an Explanation.
    output : int or str, optional
        Which output to show, by number or class; the last by default.
    max_features : int
        Number of features to show.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    caller = "plot.beeswarm"
    if not is_integer(max_features) or max_features < 1:
        raise ParameterError(f"{caller}: max_features must be a positive integer, got {max_features!r}")
    found = _explain(model, X, output, caller)
    order = np.argsort(-np.abs(found.values).mean(axis=0), kind="stable")[:max_features]
    rows = slice(None, None, max(1, len(found.values) // MAX_POINTS))
    ax = get_axes(ax, (7.2, 1.4 + 0.34 * len(order)), caller)
    low, high = found.values[:, order].min(initial=0.0), found.values[:, order].max(initial=0.0)
    shades = rank_map()
    for k, f in enumerate(order):
        values = found.values[rows, f]
        offset = _stack(values, low, high)
        colors = np.full((len(values), 4), [0.54, 0.54, 0.54, 1.0])
        if not found.is_category[f]:
            rank = _ranks(found.data[rows, f])
            colors[~np.isnan(rank)] = shades(rank[~np.isnan(rank)])
        ax.scatter(values, k + offset, s=9, c=colors, linewidths=0, alpha=0.85, rasterized=len(values) > 500)
    ax.axvline(0.0, color="#808080", linewidth=1.0, zorder=0)
    ax.set_yticks(range(len(order)), labels([found.names[f] for f in order]))
    ax.set_ylim(len(order) - 0.4, -0.6)
    _color_legend(ax, shades)
    ax.set_xlabel(f"contribution to the score{found.output}")
    ax.set_title(f"Shapley values{_of(len(order), found.values.shape[1])}", loc="left")
    clean(ax, "x")
    return ax


def _of(shown: int, total: int) -> str:
    return "" if shown == total else f" ({shown} of {total} features)"


def _stack(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return offsets of dots that would lie on each other: up and down in turn, at most about 0.4."""
    cell = np.floor((values - low) / ((high - low) or 1.0) * BINS).astype(np.int64)
    order = np.argsort(cell, kind="stable")
    start = np.concatenate([[0], np.flatnonzero(np.diff(cell[order])) + 1]) if len(cell) else np.zeros(1, np.int64)
    position = np.arange(len(cell)) - np.repeat(start, np.diff([*start, len(cell)]))
    side = np.where(position % 2 == 0, 1.0, -1.0)
    largest = max(int(position.max(initial=0)), 12)
    offset = np.empty(len(cell))
    offset[order] = side * np.ceil(position / 2.0) * 0.8 / largest
    return offset


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the rank of each value in 0..1, NaN where missing."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known) or known[0] == known[-1]:
        return np.where(np.isnan(values), np.nan, 0.5)
    middle = (np.searchsorted(known, values, "left") + np.searchsorted(known, values, "right")) / 2.0
    return np.where(np.isnan(values), np.nan, middle / len(known))


def _color_legend(ax: Axes, shades: Any) -> None:
    from matplotlib.cm import ScalarMappable

    bar = ax.figure.colorbar(ScalarMappable(cmap=shades), ax=ax, ticks=[0, 1], aspect=40, pad=0.02)
    bar.ax.set_yticklabels(["low", "high"])
    bar.set_label("value of the feature", labelpad=-12)
    bar.outline.set_visible(False)


def waterfall(
    model: Any, X: Any = None, row: int = 0, *, output: int | str | None = None, max_features: int = 12,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Plot how the features of one row lead from the average score to its score.

    Parameters
    ----------
    model : estimator, Model or Explanation
        A fitted model, or the result of ``model.explain(X)``, of one row too.
    X : table, optional
        Rows of which one is explained; not needed with an Explanation.
    row : int
        Number of the row.
    output : int or str, optional
        Which output to show, by number or class; the last by default.
    max_features : int
        Number of features to show; one more bar stands for the rest.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    caller = "plot.waterfall"
    if not is_integer(max_features) or max_features < 1:
        raise ParameterError(f"{caller}: max_features must be a positive integer, got {max_features!r}")
    found = _explain(model, X, output, caller)
    if not is_integer(row) or not -len(found.values) <= row < len(found.values):
        raise InputError(f"{caller}: row {row!r} does not exist, there are {len(found.values)} rows")
    values, base = found.values[row], float(found.base[row])
    order = np.argsort(-np.abs(values), kind="stable")[:max_features]
    names = [f"{label(found.names[f], 28)} = {label(_shown(found.shown[row, f]), 18)}" for f in order]
    steps = values[order].tolist()
    if len(values) > len(order):
        names.append(f"{len(values) - len(order)} other features")
        steps.append(float(values.sum() - values[order].sum()))
    ax = get_axes(ax, (7.6, 1.7 + 0.34 * len(steps)), caller)
    _draw_steps(ax, base, steps)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.3, -0.7)
    ax.set_xlabel(f"score{found.output}")
    ax.set_title(f"Row {row}: from {number(base)} on average to {number(base + float(values.sum()))}", loc="left")
    clean(ax, "x")
    return ax


def _draw_steps(ax: Axes, base: float, steps: list[float]) -> None:
    """Draw bars from the base, at the bottom, to the score, at the top."""
    ends = base + np.cumsum(steps[::-1])[::-1]
    starts = ends - steps
    width = max(float(np.ptp([base, *ends])), 1e-12)
    for k, step in enumerate(steps):
        ax.barh(k, step, left=starts[k], color=HIGH if step >= 0 else LOW, height=0.66)
        ax.text(max(starts[k], ends[k]) + 0.012 * width, k, f"{step:+.3g}", va="center", fontsize="small")
    ax.axvline(base, color=GREY, linestyle="--", linewidth=1.0, zorder=0)
    ax.axvline(ends[0] if steps else base, color=GREY, linestyle=":", linewidth=1.0, zorder=0)
    low, high = min(base, *ends), max(base, *ends)
    ax.set_xlim(low - 0.06 * width, high + 0.16 * width)


def dependence(
    model: Any, X: Any = None, feature: int | str = 0, *, color_by: int | str | None = None,
    output: int | str | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Plot the contributions of one feature against its values, one dot per row.

    Parameters
    ----------
    model : estimator, Model or Explanation
        A fitted model, or the result of ``model.explain(X)``.
    X : table, optional
        Rows to explain; not needed with an Explanation.
    feature : int or str
        Feature to show, by number or name.
    color_by : int or str, optional
        Another feature whose values colour the dots.
    output : int or str, optional
        Which output to show, by number or class; the last by default.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    caller = "plot.dependence"
    found = _explain(model, X, output, caller)
    f = _feature(found.names, feature, caller)
    other = None if color_by is None else _feature(found.names, color_by, caller)
    ax = get_axes(ax, (6.4, 4.4), caller)
    x = found.data[:, f].copy()
    missing = np.isnan(x)
    if found.is_category[f]:
        _label_categories(ax, found, f)
        x = x + np.random.default_rng(0).uniform(-0.25, 0.25, len(x))
    shades: dict[str, Any] = {"color": BLUE}
    if other is not None:
        shades = {"c": _ranks(found.data[:, other])[~missing], "cmap": rank_map()}
    dots = ax.scatter(x[~missing], found.values[~missing, f], s=10, alpha=0.7, linewidths=0, **shades)
    if other is not None:
        bar = ax.figure.colorbar(dots, ax=ax, ticks=[])
        bar.set_label(f"{label(found.names[other], 30)}: low to high")
    if missing.any():
        for value in np.quantile(found.values[missing, f], [0.1, 0.5, 0.9]):
            ax.axhline(value, color=GREY, linestyle=":", linewidth=1.0)
        ax.plot([], [], color=GREY, linestyle=":", label=f"missing ({missing.sum():,} rows): 10, 50, 90 %")
        ax.legend(frameon=False, fontsize="small")
    ax.axhline(0.0, color="#808080", linewidth=1.0, zorder=0)
    ax.set_xlabel(label(found.names[f], 60))
    ax.set_ylabel(f"contribution to the score{found.output}")
    ax.set_title("Shapley values of one feature", loc="left")
    clean(ax)
    return ax


def _label_categories(ax: Axes, found: Contributions, f: int) -> None:
    names = {float(v): str(s) for v, s in zip(found.data[:, f], found.shown[:, f], strict=True) if not np.isnan(v)}
    ticks = sorted(names)
    shown = ticks[:: max(1, len(ticks) // 25)]
    ax.set_xticks(shown, labels([names[t] for t in shown], 18), rotation=45, ha="right", fontsize="small")


def _explain(model: Any, X: Any, output: int | str | None, caller: str) -> Contributions:
    """Return the contributions of one output, from an explanation, a model or an estimator."""
    if type(model) is Explanation:
        explanation = model
    elif X is None:
        raise InputError(f"{caller} explains rows: pass X, or the result of model.explain(X) instead of the model")
    else:
        explanation = FittedModel.of(model, caller).model.explain(X)
    title = ""
    if explanation.output_names is not None:
        chosen = _output(explanation, output, caller)
        title = f" of {label(explanation.output_names[chosen], 30)}"
        explanation = explanation.for_output(chosen)
    elif output is not None:
        raise ParameterError(f"{caller}: the model has a single output: leave output out")
    values, base = np.atleast_2d(explanation.values), np.atleast_1d(explanation.base_values)
    data = np.atleast_2d(np.asarray(explanation.data, dtype=np.float64))
    shown = np.atleast_2d(np.asarray(explanation.display_data, dtype=object))
    is_category = np.array([any(isinstance(v, str) for v in column) for column in shown.T])
    return Contributions(values, base, data, shown, explanation.feature_names, title, is_category)


def _output(explanation: Explanation, output: int | str | None, caller: str) -> int:
    names = explanation.output_names or []
    if output is None:
        return len(names) - 1
    if isinstance(output, str) and output in names:
        return names.index(output)
    if is_integer(output) and 0 <= int(output) < len(names):
        return int(output)
    raise ParameterError(f"{caller}: output {output!r} does not exist; allowed are {', '.join(names[:10])} or a number")


def _feature(names: list[str], feature: int | str, caller: str) -> int:
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    if is_integer(feature) and -len(names) <= int(feature) < len(names):
        return int(feature) % len(names)
    if not isinstance(feature, str) and not is_integer(feature):
        raise InputTypeError(f"{caller}: a feature is given by name or number, got {feature!r}")
    raise InputError(f"{caller}: there is no feature {feature!r}; the first are {', '.join(names[:5])}")


def _shown(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "missing"
    return number(float(value)) if isinstance(value, int | float | np.number) else str(value)
