"""How good predictions are: metrics by task beside those of simple models, and curves."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.explain.calibration import calibration_bins
from sapwood.explain.fitted_model import BINARY, MULTICLASS, REGRESSION
from sapwood.metrics.base import Metric
from sapwood.metrics.registry import resolve_metric
from sapwood.reports import baselines
from sapwood.reports.evaluated_rows import EvaluatedRows

# Metric, title and whether it is a fraction, the first being that of the skill.
METRICS = {
    BINARY: [("log_loss", "Log loss"), ("auc", "AUC"), ("average_precision", "Average precision"),
             ("brier", "Brier score"), ("accuracy", "Accuracy"), ("balanced_accuracy", "Balanced accuracy")],
    MULTICLASS: [("log_loss", "Log loss"), ("accuracy", "Accuracy"), ("balanced_accuracy", "Balanced accuracy"),
                 ("auc_ovr", "AUC, one against the rest")],
    REGRESSION: [("rmse", "RMSE"), ("mae", "MAE"), ("medae", "Median absolute error"), ("r2", "R²")],
}  # fmt: skip
SKILL_METRIC = {BINARY: "log_loss", MULTICLASS: "log_loss", REGRESSION: "mse"}
POINTS, CLASSES_SHOWN, CURVE_POINTS = 800, 20, 120


def quality(rows: EvaluatedRows, train: EvaluatedRows | None) -> dict[str, Any] | None:
    """Return metrics of the model, of simple models and on the training rows, and the curves of the task."""
    if rows.y is None:
        return None
    task = rows.fitted.task
    if task == REGRESSION and rows.prediction.ndim == 2:
        return {"task": task, "metrics": [], "skill": {}, "note": f"The model has {rows.prediction.shape[1]} outputs."}
    simple = [baselines.constant(rows, train), baselines.linear(rows, train)]
    compared = [baseline for baseline in simple if baseline is not None]
    table = []
    for name, title in METRICS[task]:
        metric = resolve_metric(name)
        entry = {"name": name, "title": title, "greater_is_better": metric.greater_is_better}
        entry["model"] = _measure(metric, rows, rows.prediction)
        entry["train"] = None if train is None or train.y is None else _measure(metric, train, train.prediction)
        for baseline in compared:
            entry[baseline.name] = _measure(metric, rows, baseline.prediction, baseline.rows)
        table.append(entry)
    result = {
        "task": task,
        "metrics": table,
        "skill": _skill(rows, compared),
        "notes": {baseline.name: baseline.note for baseline in compared},
    }
    details = {BINARY: _binary, MULTICLASS: _multiclass, REGRESSION: _regression}[task]
    return result | details(rows)


def _measure(
    metric: Metric, rows: EvaluatedRows, prediction: np.ndarray, chosen: np.ndarray | None = None
) -> float | None:
    """Return a metric of the predictions for the chosen rows; None where it is not defined, as AUC of one class."""
    assert rows.y is not None
    y, weight = rows.y, rows.weight
    if chosen is not None and len(chosen) < len(y):
        y, weight = y[chosen], None if weight is None else weight[chosen]
    if prediction.ndim == 2 and prediction.shape[1] == 2:
        prediction = prediction[:, 1]
    try:
        value = metric(y, prediction, weight)
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _skill(rows: EvaluatedRows, compared: list[baselines.Baseline]) -> dict[str, float]:
    """Return 1 − loss / loss of each simple model, on its rows."""
    metric = resolve_metric(SKILL_METRIC[rows.fitted.task])
    skill = {}
    for baseline in compared:
        ours = _measure(metric, rows, rows.prediction[baseline.rows], baseline.rows)
        theirs = _measure(metric, rows, baseline.prediction, baseline.rows)
        if ours is not None and theirs:
            skill[baseline.name] = 1.0 - ours / theirs
    return skill


def _binary(rows: EvaluatedRows) -> dict[str, Any]:
    from sklearn.metrics import precision_recall_curve, roc_curve

    assert rows.y is not None
    is_class, probability = rows.y == 1.0, rows.prediction[:, 1]
    parts: dict[str, Any] = {"positive": rows.fitted.class_names[1], "base_rate": float(is_class.mean())}
    parts["calibration"] = calibration(probability, is_class, rows.weight)
    parts["thresholds"] = _threshold_counts(probability, is_class)
    if is_class.any() and not is_class.all():
        false, true, _ = roc_curve(is_class, probability, sample_weight=rows.weight)
        parts["roc"] = _thin({"x": false, "y": true})
        precision, recall, _ = precision_recall_curve(is_class, probability, sample_weight=rows.weight)
        parts["pr"] = _thin({"x": recall[::-1], "y": precision[::-1]})
    return parts


def calibration(probability: np.ndarray, is_class: np.ndarray, weight: np.ndarray | None) -> list[dict[str, float]]:
    """Return the bins of a calibration curve."""
    bins = calibration_bins(probability, is_class, 10, weight)
    return [{name: float(row[name]) for name in bins.dtype.names or ()} for row in bins]


def _threshold_counts(probability: np.ndarray, is_class: np.ndarray) -> dict[str, list[int]]:
    """Return the rows of each class at or above each of 101 thresholds."""
    edges = np.linspace(0.0, 1.0, 101)
    counts = {}
    for name, chosen in (("positive", is_class), ("negative", ~is_class)):
        values = np.sort(probability[chosen])
        counts[name] = (len(values) - np.searchsorted(values, edges, side="left")).tolist()
    return counts


def _multiclass(rows: EvaluatedRows) -> dict[str, Any]:
    assert rows.y is not None
    names = rows.fitted.class_names
    y, chosen = rows.y.astype(np.intp), np.argmax(rows.prediction, axis=1)
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, (y, chosen), 1)
    shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:CLASSES_SHOWN])
    classes = []
    for k in np.argsort(-counts.sum(axis=1), kind="stable").tolist():
        n_true, n_predicted, hits = counts[k].sum(), counts[:, k].sum(), counts[k, k]
        classes.append({
            "name": names[k], "rows": int(n_true),
            "recall": float(hits / n_true) if n_true else None,
            "precision": float(hits / n_predicted) if n_predicted else None,
        })  # fmt: skip
    matrix = {"names": [names[k] for k in shown], "counts": counts[np.ix_(shown, shown)].tolist(),
              "n_classes": len(names)}  # fmt: skip
    top = rows.prediction.max(axis=1)
    return {"classes": classes, "confusion": matrix, "calibration": calibration(top, chosen == y, rows.weight)}


def _regression(rows: EvaluatedRows) -> dict[str, Any]:
    assert rows.y is not None
    residual = rows.y - rows.prediction
    points = rows.sample(POINTS)
    parts = np.array_split(np.argsort(rows.prediction, kind="stable"), min(10, rows.n_rows))
    bands = [
        {
            "prediction": float(rows.prediction[part].mean()),
            "target": float(rows.y[part].mean()),
            **dict(zip(("low", "median", "high"), np.quantile(residual[part], [0.1, 0.5, 0.9]).tolist(), strict=True)),
        }
        for part in parts
    ]
    counts, edges = np.histogram(residual, bins=30, range=tuple(np.quantile(residual, [0.005, 0.995])))
    return {
        "points": {"prediction": rows.prediction[points].tolist(), "target": rows.y[points].tolist()},
        "bands": bands,
        "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
    }


def _thin(curve: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Return about CURVE_POINTS points of a curve, the ends included."""
    n = len(curve["x"])
    keep = np.unique(np.linspace(0, n - 1, min(n, CURVE_POINTS)).round().astype(np.intp))
    return {name: values[keep].tolist() for name, values in curve.items()}
