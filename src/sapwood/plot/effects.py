"""Partial dependence with individual curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.row_selection import select_rows
from sapwood.errors import InputError, ParameterError
from sapwood.explain.fitted_model import FittedModel
from sapwood.params.validators import is_integer
from sapwood.plot.axes import BLUE, GREY, VERMILION, clean, get_axes, label, labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CALLER = "plot.partial_dependence"
KINDS = ("average", "individual", "both")
MAX_CATEGORIES = 30


def partial_dependence(
    model: Any, X: Any, feature: int | str, *, kind: str = "both", grid: Any = 50, max_rows: int = 500,
    output: int | None = None, ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Plot the mean score of all rows with one feature set to each of its values, and the curves of single rows.

    Marks at the bottom are tenths of the rows: where there are few rows, the curve says little.

    Parameters
    ----------
    model : estimator or Model
        A fitted model.
    X : table
        Rows to average over.
    feature : int or str
        Column by number or name.
    kind : {"both", "average", "individual"}
        What to draw: the mean, the curves of single rows (individual conditional expectation), or both.
    grid : int, list or "exact"
        Number of quantiles of X, the values themselves, or "exact" for one value of every step of the model.
    max_rows : int
        Number of rows to average over; a sample if X has more.
    output : int, optional
        Which of several outputs, as of several classes; the last by default.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    fitted = FittedModel.of(model, CALLER)
    if kind not in KINDS:
        raise ParameterError(f"{CALLER}: kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}")
    if not is_integer(max_rows) or max_rows < 1:
        raise ParameterError(f"{CALLER}: max_rows must be a positive integer, got {max_rows!r}")
    if isinstance(feature, tuple | list):
        raise ParameterError(f"{CALLER} draws one feature: call it for each of {list(feature)!r}, with an ax for each")
    f = fitted.feature(feature, CALLER)
    effect: Any = fitted.model.partial_dependence(_sample(X, max_rows), f, grid=grid)
    average, individual, title = _one_output(effect, output, fitted)
    ax = get_axes(ax, (6.4, 4.4), CALLER)
    position, names = _positions(effect.grid)
    if kind != "average":
        style: dict[str, Any] = {"color": BLUE, "alpha": max(0.04, min(0.4, 20 / len(individual))), "linewidth": 0.8}
        ax.plot(position, individual.T, marker=None if len(position) > 1 else "o", **style)
    if kind != "individual":
        ax.plot(position, average, color=VERMILION, linewidth=2.4, marker="o" if names else None, label="mean")
        ax.legend(frameon=False)
    if names:
        ax.set_xticks(position, labels(names, 18), rotation=45, ha="right", fontsize="small")
    elif len(effect.grid) > 10:
        _mark_tenths(ax, effect.grid)
    ax.set_xlabel(label(effect.feature, 60))
    ax.set_ylabel(f"score{title}")
    ax.set_title("Partial dependence", loc="left")
    clean(ax)
    return ax


def _sample(X: Any, max_rows: int) -> Any:
    X = unwrap_dataset(X)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows <= max_rows:
        return X
    return select_rows(X, np.sort(np.random.default_rng(0).choice(n_rows, max_rows, replace=False)))


def _one_output(effect: Any, output: int | None, fitted: FittedModel) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the mean and the curves (rows, points) of one output, and its name for the label of the axis."""
    if effect.average.ndim == 1:
        if output not in (None, 0):
            raise ParameterError(f"{CALLER}: the model has a single output: leave output out")
        return effect.average, effect.individual, ""
    n_outputs = effect.average.shape[1]
    k = n_outputs - 1 if output is None else output
    if not is_integer(k) or not 0 <= k < n_outputs:
        raise ParameterError(f"{CALLER}: output must be between 0 and {n_outputs - 1}, got {output!r}")
    names = fitted.class_names
    title = f" of {label(names[k], 30)}" if len(names) == n_outputs else f" of output {k}"
    return effect.average[:, k], effect.individual[:, :, k], title


def _positions(grid: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return where the points of a grid lie on the axis, and their names if they are categories."""
    if grid.dtype.kind == "f":
        return grid, []
    if len(grid) > MAX_CATEGORIES:
        raise InputError(
            f"{CALLER}: the column has {len(grid)} categories; pass up to {MAX_CATEGORIES} of them as grid"
        )
    return np.arange(len(grid)), ["missing" if name is None else str(name) for name in grid]


def _mark_tenths(ax: Axes, grid: np.ndarray) -> None:
    tenths = np.quantile(grid[np.isfinite(grid)], np.linspace(0.1, 0.9, 9))
    ax.plot(tenths, np.zeros(9), "|", color=GREY, markersize=9, transform=ax.get_xaxis_transform(), clip_on=False)
