"""Calibration, confusion matrix, ROC and precision-recall curves of classifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sapwood.errors import ParameterError
from sapwood.explain.calibration import calibration_bins
from sapwood.explain.fitted_model import BINARY, REGRESSION, FittedModel
from sapwood.params.validators import is_integer
from sapwood.plot.axes import COLORS, clean, color_map, get_axes, label, labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVES_SHOWN = 8
CLASSES_WITH_NUMBERS = 12  # a larger confusion matrix shows colours only
CLASSES_WITH_LABELS = 60


class Predicted(NamedTuple):
    """Probabilities (rows, classes), the class number of each row, weights or None, and the names of the classes."""

    probability: np.ndarray
    classes: np.ndarray
    weight: np.ndarray | None
    names: list[str]
    is_binary: bool


def calibration(
    model: Any, X: Any, y: Any, *, n_bins: int = 10, sample_weight: Any = None, ax: Axes | None = None
) -> Axes:
    """Plot the observed frequency of a class against its predicted probability, in bins of equal numbers of rows.

    Bars around the points are 95 % intervals of the frequency (Wilson's); grey columns at the bottom show how the
    predictions are distributed. On the diagonal, predictions are as frequent as they say.

    Parameters
    ----------
    model : estimator or Model
        A classifier.
    X, y : table and labels
        Rows that were not used for training.
    n_bins : int
        Number of bins.
    sample_weight : array-like, optional
        Weight of each row.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    caller = "plot.calibration"
    if not is_integer(n_bins) or n_bins < 2:
        raise ParameterError(f"{caller}: n_bins must be an integer of at least 2, got {n_bins!r}")
    predicted = _predict(model, X, y, sample_weight, caller)
    ax = get_axes(ax, (5.2, 4.8), caller)
    _draw_histogram(ax, predicted)
    ax.plot([0, 1], [0, 1], color="#808080", linestyle="--", linewidth=1.0, label="perfect")
    for k, shown in enumerate(_shown_classes(predicted)):
        bins = calibration_bins(predicted.probability[:, shown], predicted.classes == shown, n_bins, predicted.weight)
        color = COLORS[k % len(COLORS)]
        error = np.clip([bins["observed"] - bins["low"], bins["high"] - bins["observed"]], 0.0, None)
        ax.errorbar(
            bins["predicted"], bins["observed"], yerr=error, color=color, marker="o", markersize=4.5,
            linewidth=1.5, capsize=2, label=label(predicted.names[shown], 28),
        )  # fmt: skip
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="predicted probability", ylabel="observed frequency")
    ax.set_title(_class_title("Calibration", predicted), loc="left")
    clean(ax)
    ax.legend(frameon=False, loc="upper left", fontsize="small")
    return ax


def _draw_histogram(ax: Axes, predicted: Predicted) -> None:
    """Draw the distribution of the predictions as low columns."""
    shown = predicted.probability[:, 1] if predicted.is_binary else predicted.probability.max(axis=1)
    counts, edges = np.histogram(shown, bins=25, range=(0.0, 1.0), weights=predicted.weight)
    ax.bar(edges[:-1], 0.16 * counts / counts.max(), width=1 / 25, align="edge", color="#808080", alpha=0.25)


def confusion_matrix(
    model: Any, X: Any, y: Any, *, normalize: str | None = "true", sample_weight: Any = None, ax: Axes | None = None
) -> Axes:
    """Plot how many rows of each class are predicted as which class.

    Parameters
    ----------
    model : estimator or Model
        A classifier.
    X, y : table and labels
        Rows that were not used for training.
    normalize : {"true", "pred", "all"} or None
        Colours are fractions of the rows of a class ("true"), of a prediction ("pred") or of all rows, or counts.
    sample_weight : array-like, optional
        Weight of each row.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    from sklearn.metrics import confusion_matrix as count

    caller = "plot.confusion_matrix"
    if normalize not in ("true", "pred", "all", None):
        raise ParameterError(f"{caller}: normalize must be 'true', 'pred', 'all' or None, got {normalize!r}")
    predicted = _predict(model, X, y, sample_weight, caller)
    numbers = range(len(predicted.names))
    chosen = np.argmax(predicted.probability, axis=1)
    counts = count(predicted.classes, chosen, labels=list(numbers), sample_weight=predicted.weight)
    with np.errstate(invalid="ignore", divide="ignore"):
        total = {"true": counts.sum(axis=1, keepdims=True), "pred": counts.sum(axis=0), "all": counts.sum()}
        shades = counts if normalize is None else np.nan_to_num(counts / total[normalize])
    size = min(4.4 + 0.28 * len(numbers), 11.0)
    ax = get_axes(ax, (size + 0.8, size), caller)
    image = ax.imshow(shades, cmap=color_map(diverging=False), vmin=0.0, vmax=None if normalize is None else 1.0)
    if len(numbers) <= CLASSES_WITH_NUMBERS:
        _write_counts(ax, counts, shades, normalize)
    _label_classes(ax, predicted.names)
    ax.figure.colorbar(image, ax=ax, shrink=0.8, label=_SHADES[normalize])
    ax.set(xlabel="predicted class", ylabel="true class")
    ax.set_title("Confusion matrix", loc="left")
    return ax


_SHADES = {
    "true": "fraction of the true class",
    "pred": "fraction of the predicted class",
    "all": "fraction of all rows",
    None: "rows",
}


def _write_counts(ax: Axes, counts: np.ndarray, shades: np.ndarray, normalize: str | None) -> None:
    middle = 0.55 * max(float(shades.max()), 1e-12) if normalize is None else 0.55
    for i, j in np.ndindex(*counts.shape):
        text = f"{counts[i, j]:,.0f}" if normalize is None else f"{shades[i, j]:.1%}\n{counts[i, j]:,.0f}"
        ink = "#FFFFFF" if shades[i, j] > middle else "#1A1A1A"
        ax.text(j, i, text, ha="center", va="center", color=ink, fontsize="small" if len(counts) < 7 else 6)


def _label_classes(ax: Axes, names: list[str]) -> None:
    step = 1 if len(names) <= CLASSES_WITH_LABELS else int(np.ceil(len(names) / CLASSES_WITH_LABELS))
    ticks = list(range(0, len(names), step))
    texts = labels([names[k] for k in ticks], 22)
    is_long = len(names) > 6 or max(map(len, texts)) > 10
    size = "medium" if len(names) <= 12 else 6
    ax.set_xticks(ticks, texts, rotation=90 if is_long else 0, fontsize=size)
    ax.set_yticks(ticks, texts, fontsize=size)


def roc(model: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Axes | None = None) -> Axes:
    """Plot the receiver operating characteristic: true against false positives for every threshold.

    With several classes, each of the most frequent ones is compared with all others.

    Parameters
    ----------
    model : estimator or Model
        A classifier.
    X, y : table and labels
        Rows that were not used for training.
    sample_weight : array-like, optional
        Weight of each row.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    from sklearn.metrics import auc, roc_curve

    predicted = _predict(model, X, y, sample_weight, "plot.roc")
    ax = get_axes(ax, (5.2, 4.8), "plot.roc")
    ax.plot([0, 1], [0, 1], color="#808080", linestyle="--", linewidth=1.0, label="by chance (AUC 0.5)")
    for k, shown in enumerate(_shown_classes(predicted)):
        is_class, probability = predicted.classes == shown, predicted.probability[:, shown]
        if is_class.all() or not is_class.any():
            continue
        false, true, _ = roc_curve(is_class, probability, sample_weight=predicted.weight)
        text = f"{label(predicted.names[shown], 24)} (AUC {auc(false, true):.4f})"
        ax.plot(false, true, color=COLORS[k % len(COLORS)], linewidth=1.8, label=text)
    ax.set(xlabel="false positive rate", ylabel="true positive rate", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_title(_class_title("ROC", predicted), loc="left")
    clean(ax)
    ax.legend(frameon=False, loc="lower right", fontsize="small")
    return ax


def precision_recall(model: Any, X: Any, y: Any, *, sample_weight: Any = None, ax: Axes | None = None) -> Axes:
    """Plot precision against recall for every threshold.

    With several classes, each of the most frequent ones is compared with all others.

    Parameters
    ----------
    model : estimator or Model
        A classifier.
    X, y : table and labels
        Rows that were not used for training.
    sample_weight : array-like, optional
        Weight of each row.
    ax : matplotlib axes, optional
        Axes to plot into; those of a new figure by default.

    Returns
    -------
    matplotlib axes
    """
    from sklearn.metrics import average_precision_score, precision_recall_curve

    predicted = _predict(model, X, y, sample_weight, "plot.precision_recall")
    ax = get_axes(ax, (5.2, 4.8), "plot.precision_recall")
    for k, shown in enumerate(_shown_classes(predicted)):
        is_class, probability = predicted.classes == shown, predicted.probability[:, shown]
        if not is_class.any():
            continue
        color = COLORS[k % len(COLORS)]
        precision, recall, _ = precision_recall_curve(is_class, probability, sample_weight=predicted.weight)
        mean = average_precision_score(is_class, probability, sample_weight=predicted.weight)
        text = f"{label(predicted.names[shown], 24)} (AP {mean:.4f})"
        ax.plot(recall, precision, color=color, linewidth=1.8, label=text, drawstyle="steps-post")
        ax.axhline(np.average(is_class, weights=predicted.weight), color=color, linestyle="--", linewidth=0.8)
    ax.set(xlabel="recall", ylabel="precision", xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    ax.set_title(_class_title("Precision and recall", predicted), loc="left")
    clean(ax)
    ax.legend(frameon=False, loc="lower left", fontsize="small", title="dashed: by chance", title_fontsize="small")
    return ax


def _predict(model: Any, X: Any, y: Any, sample_weight: Any, caller: str) -> Predicted:
    fitted = FittedModel.of(model, caller)
    if fitted.task == REGRESSION:
        raise ParameterError(f"{caller} is for classifiers; for a regression model use sapwood.plot.residuals")
    probability = fitted.predict(X)
    classes = fitted.target(y, len(probability), caller).astype(np.intp)
    weight = fitted.weight(sample_weight, len(probability))
    return Predicted(probability, classes, weight, fitted.class_names, fitted.task == BINARY)


def _shown_classes(predicted: Predicted) -> list[int]:
    """Return the second of two classes, or the most frequent ones of several."""
    if predicted.is_binary:
        return [1]
    counts = np.bincount(predicted.classes, weights=predicted.weight, minlength=len(predicted.names))
    return np.argsort(-counts, kind="stable")[:CURVES_SHOWN].tolist()


def _class_title(title: str, predicted: Predicted) -> str:
    if predicted.is_binary:
        return title
    n_classes = len(predicted.names)
    if n_classes <= CURVES_SHOWN:
        return f"{title}, each class against the others"
    return f"{title} of the {CURVES_SHOWN} most frequent of {n_classes} classes"
