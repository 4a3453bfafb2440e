"""Effects of features: contributions, predictions and targets over the values of a feature, and explained rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.explain.fitted_model import BINARY, REGRESSION
from sapwood.reports.evaluated_rows import Column, EvaluatedRows

EXPLAINED_ROWS, EFFECTS_SHOWN, CLASSES_SHOWN = 2000, 40, 6
BINS, CATEGORIES_SHOWN, SWARM_ROWS, SWARM_FEATURES = 12, 12, 160, 15
CONTRIBUTIONS_SHOWN, PERMUTED_FEATURES, PERMUTED_ROWS = 12, 100, 1000


class Contributions:
    """Shapley values of a sample of rows, (rows, features, outputs); ``reason`` says why there are none."""

    def __init__(self, rows: EvaluatedRows) -> None:
        self.rows = rows.sample(min(EXPLAINED_ROWS, max(50, 4_000_000 // max(rows.table.n_features, 1))))
        self.reason = ""
        self.explanation: Any = None
        try:
            self.explanation = rows.fitted.model.explain(rows.rows_of(self.rows))
        except ParameterError as error:
            self.reason = str(error)
            return
        init = getattr(rows.fitted.estimator, "init_", None)
        if init is not None:
            self.reason = f"Contributions are those of the trees; the {type(init).__name__} of init is not explained."
        values = np.asarray(self.explanation.values, dtype=np.float64)
        self.values = values if values.ndim == 3 else values[:, :, None]
        base = np.asarray(self.explanation.base_values, dtype=np.float64)
        self.base = base if base.ndim == 2 else base[:, None]
        self.mean = np.abs(self.values).mean(axis=(0, 2))
        per_row = np.abs(self.values).mean(axis=2)
        self.error = per_row.std(axis=0) / np.sqrt(max(len(per_row), 1))


def permutation(rows: EvaluatedRows) -> Any:
    """Return the importances by permutation with their errors, None if they cannot be computed or take long."""
    fitted = rows.fitted
    if rows.y is None or fitted.model.n_features > PERMUTED_FEATURES or getattr(fitted.estimator, "init_", None):
        return None
    sample = rows.sample(PERMUTED_ROWS)
    y = rows.y[sample]
    labels = y if fitted.model.classes is None else fitted.model.classes[y.astype(np.intp)]
    try:
        return fitted.model.importance("permutation", rows.rows_of(sample), labels, n_repeats=3)
    except ParameterError:
        return None


def strongest(contributions: Contributions, gain: np.ndarray) -> np.ndarray:
    """Return the numbers of the features, the strongest first: by mean absolute contribution, or else by gain."""
    return np.argsort(-(gain if contributions.explanation is None else contributions.mean), kind="stable")


def effects(rows: EvaluatedRows, contributions: Contributions, order: np.ndarray) -> list[dict[str, Any]]:
    """Return for each of the strongest features the bins of its values, with targets, predictions, contributions."""
    outputs = _outputs(rows, contributions)
    where = np.searchsorted(rows.sampled_rows, contributions.rows)
    is_known = (where < len(rows.sampled_rows)) & (
        rows.sampled_rows[np.minimum(where, len(rows.sampled_rows) - 1)] == contributions.rows
    )
    found = []
    for f in order[:EFFECTS_SHOWN].tolist():
        column = rows.columns[f]
        bins, bin_of_row = _bins(column)
        entry: dict[str, Any] = {"name": column.name, "kind": "category" if column.categories else "number"}
        entry["bins"] = bins
        entry["rows"] = np.bincount(bin_of_row, minlength=len(bins)).tolist()
        entry["prediction"] = _means(rows.shown_prediction[rows.sampled_rows], bin_of_row, len(bins))
        entry["target"] = _target_means(rows, bin_of_row, len(bins))
        entry["contribution"] = {}
        if contributions.explanation is not None:
            bin_of_explained = bin_of_row[where[is_known]]
            for k, name in outputs:
                values = contributions.values[is_known][:, f, k]
                entry["contribution"][name] = _quantiles(values, bin_of_explained, len(bins))
        found.append(entry)
    return found


def _outputs(rows: EvaluatedRows, contributions: Contributions) -> list[tuple[int, str]]:
    """Return number and name of the outputs whose contributions are shown: the most frequent classes."""
    if contributions.explanation is None or contributions.values.shape[2] == 1:
        return [(0, "score")]
    n_outputs = contributions.values.shape[2]
    if rows.fitted.task == REGRESSION or rows.y is None:
        names = rows.fitted.class_names or [f"output {k}" for k in range(n_outputs)]
        return list(enumerate(names))[:CLASSES_SHOWN]
    counts = np.bincount(rows.y.astype(np.intp), minlength=n_outputs)
    shown = np.argsort(-counts, kind="stable")[:CLASSES_SHOWN]
    return [(int(k), rows.fitted.class_names[k]) for k in shown]


def _target_means(rows: EvaluatedRows, bin_of_row: np.ndarray, n_bins: int) -> list[float | None]:
    """Return the mean target, or frequency of the second of two classes; with more classes, of right predictions."""
    if rows.y is None:
        return []
    y = rows.y
    if rows.fitted.task not in (REGRESSION, BINARY):
        y = (np.argmax(rows.prediction, axis=1) == y).astype(np.float64)
    return _means(y[rows.sampled_rows], bin_of_row, n_bins)


def _bins(column: Column) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Return the bins of a column with their labels, and the bin of each row; missing values are the last."""
    if column.categories is not None:
        counts = np.bincount(column.values[column.values >= 0], minlength=len(column.categories))
        order = np.argsort(-counts, kind="stable")
        shown = [k for k in order[:CATEGORIES_SHOWN].tolist() if counts[k] > 0]
        names = [column.categories[k] for k in shown]
        number = np.full(len(column.categories) + 1, len(shown))
        number[shown] = np.arange(len(shown))
        bin_of_row = number[column.values]
        n_others = int(np.count_nonzero(counts)) - len(shown)
        if n_others:
            names.append(f"{n_others} others")
        bin_of_row = np.where(column.values < 0, len(names), bin_of_row)
    else:
        known = column.values[~np.isnan(column.values)]
        edges = _edges(known)
        names = _range_names(edges, known)
        safe = np.where(np.isnan(column.values), 0.0, column.values)
        bin_of_row = np.where(np.isnan(column.values), len(names), np.searchsorted(edges, safe, side="left"))
    if column.is_missing.any():
        names.append("missing")
    return [{"label": name} for name in names], bin_of_row.astype(np.intp)


def _edges(known: np.ndarray) -> np.ndarray:
    """Return the inner edges of bins with about equal rows; few distinct values have a bin each."""
    distinct = np.unique(known)
    if len(distinct) <= BINS:
        return (distinct[:-1] + distinct[1:]) / 2.0
    levels = np.linspace(0.0, 1.0, BINS + 1)[1:-1]
    edges = np.unique(np.quantile(known, levels, method="lower"))
    if len(edges) < BINS // 2:  # most rows have the same value: divide the others
        others = known[~np.isin(known, edges)]
        edges = np.unique([*edges, *np.quantile(others, levels[::2], method="lower")]) if len(others) else edges
    return edges[edges < distinct[-1]]


def _range_names(edges: np.ndarray, known: np.ndarray) -> list[str]:
    distinct = np.unique(known)
    if len(distinct) <= BINS:
        return [f"{value:.6g}" for value in distinct]
    low = [None, *edges.tolist()]
    high = [*edges.tolist(), None]
    return [
        f"≤ {b:.4g}" if a is None else f"> {a:.4g}" if b is None else f"{a:.4g} – {b:.4g}"
        for a, b in zip(low, high, strict=True)
    ]


def _means(values: np.ndarray, bin_of_row: np.ndarray, n_bins: int) -> list[float | None]:
    counts = np.bincount(bin_of_row, minlength=n_bins)
    sums = np.bincount(bin_of_row, weights=values, minlength=n_bins)
    return [float(s / c) if c else None for s, c in zip(sums, counts, strict=True)]


def _quantiles(values: np.ndarray, bin_of_row: np.ndarray, n_bins: int) -> list[list[float] | None]:
    """Return 10th percentile, mean and 90th percentile of the values of each bin."""
    found: list[list[float] | None] = []
    for b in range(n_bins):
        inside = values[bin_of_row == b]
        low, high = np.quantile(inside, [0.1, 0.9]) if len(inside) else (0.0, 0.0)
        found.append([float(low), float(inside.mean()), float(high)] if len(inside) else None)
    return found


def swarm(rows: EvaluatedRows, contributions: Contributions, order: np.ndarray) -> dict[str, Any] | None:
    """Return the contributions of some rows for the strongest features, with the rank of their values in 0..1."""
    if contributions.explanation is None or contributions.values.shape[2] != 1:
        return None
    step = max(1, len(contributions.rows) // SWARM_ROWS)
    data = np.asarray(contributions.explanation.data, dtype=np.float64)
    features = []
    for f in order[:SWARM_FEATURES].tolist():
        values = data[:, f]
        known = np.sort(values[~np.isnan(values)])
        rank = np.searchsorted(known, values, side="right") / max(len(known), 1)
        ranks = [None if np.isnan(v) else float(r) for v, r in zip(values[::step], rank[::step], strict=True)]
        contribution = contributions.values[::step, f, 0]
        features.append({
            "name": contributions.explanation.feature_names[f], "contribution": contribution.tolist(),
            "rank": ranks if rows.columns[f].categories is None else [],
        })  # fmt: skip
    return {"features": features}


def explained_rows(rows: EvaluatedRows, contributions: Contributions) -> list[dict[str, Any]]:
    """Return a few rows with the contributions of their features to the score."""
    if contributions.explanation is None:
        return []
    shown = np.asarray(contributions.explanation.display_data, dtype=object)
    names = contributions.explanation.feature_names
    found = []
    for title, k in _chosen_rows(rows, contributions.rows):
        row = int(contributions.rows[k])
        output = 0
        if contributions.values.shape[2] > 1:
            prediction = np.atleast_1d(rows.prediction[row])
            output = int(np.argmax(prediction)) if rows.fitted.task != REGRESSION else len(prediction) // 2
        values = contributions.values[k, :, output]
        order = np.argsort(-np.abs(values), kind="stable")[:CONTRIBUTIONS_SHOWN]
        found.append({
            "title": title, "row": row, "prediction": _prediction_text(rows, row), "target": _target_text(rows, row),
            "output": rows.fitted.class_names[output] if contributions.values.shape[2] > 1 and rows.fitted.class_names
            else "", "base": float(contributions.base[k, output]),
            "score": float(contributions.base[k, output] + values.sum()),
            "rest": float(values.sum() - values[order].sum()), "n_rest": int(len(values) - len(order)),
            "parts": [{"name": names[f], "value": _value_text(shown[k, f]), "contribution": float(values[f])}
                      for f in order.tolist()],
        })  # fmt: skip
    return found


def _chosen_rows(rows: EvaluatedRows, sample: np.ndarray) -> list[tuple[str, int]]:
    """Return titles and positions in the sample of rows that are worth a look."""
    shown = rows.shown_prediction[sample]
    order = np.argsort(shown, kind="stable")
    what = "prediction" if rows.fitted.task == REGRESSION else "probability"
    chosen = [(f"Highest {what}", int(order[-1])), (f"Median {what}", int(order[len(order) // 2]))]
    chosen.append((f"Lowest {what}", int(order[0])))
    if rows.y is not None and not (rows.fitted.task == REGRESSION and rows.prediction.ndim == 2):
        y = rows.y[sample]
        if rows.fitted.task == REGRESSION:
            error = np.abs(y - shown)
        else:
            error = 1.0 - rows.prediction[sample, y.astype(np.intp)]
        worst = np.argsort(-error, kind="stable")[:3].tolist()
        chosen += [(f"Largest error {k + 1}", position) for k, position in enumerate(worst)]
    unique: dict[int, str] = {}
    for title, position in chosen:
        unique.setdefault(position, title)
    return [(title, position) for position, title in unique.items()]


def _prediction_text(rows: EvaluatedRows, row: int) -> str:
    prediction = rows.prediction[row]
    if rows.fitted.task == REGRESSION:
        return ", ".join(f"{value:.5g}" for value in np.atleast_1d(prediction))
    k = 1 if len(prediction) == 2 else int(np.argmax(prediction))
    return f"{rows.fitted.class_names[k]}: {prediction[k]:.1%}"


def _target_text(rows: EvaluatedRows, row: int) -> str:
    if rows.y is None:
        return ""
    return f"{rows.y[row]:.5g}" if rows.fitted.task == REGRESSION else rows.fitted.class_names[int(rows.y[row])]


def _value_text(value: Any) -> str:
    if value is None or (isinstance(value, float | np.floating) and np.isnan(value)):
        return "missing"
    if not isinstance(value, int | float | np.number):
        return str(value)
    number = float(value)
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e12 else f"{number:.5g}"
