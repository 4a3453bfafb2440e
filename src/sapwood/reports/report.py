"""``sapwood.report``: everything about a model and its predictions for some rows, on one page."""

from __future__ import annotations

import json
import math
import os
from datetime import datetime, timezone
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.explain.fitted_model import FittedModel
from sapwood.reports.column_facts import column_facts
from sapwood.reports.effects import Contributions, effects, explained_rows, permutation, strongest, swarm
from sapwood.reports.evaluated_rows import CALLER, EvaluatedRows
from sapwood.reports.findings import findings
from sapwood.reports.interactions import interactions
from sapwood.reports.model_facts import decisions, drawn_trees, model_facts, parameters
from sapwood.reports.page import frame, page
from sapwood.reports.quality import quality
from sapwood.reports.text import report_text

CURVE_POINTS, IMPORTANCES_SHOWN = 300, 300


class Report:
    """A report on a model: ``save(path)`` writes a page, ``print`` shows text, ``to_dict()`` returns the content.

    A notebook shows the page.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    def to_dict(self) -> dict[str, Any]:
        """Return the content as numbers, strings, lists and dictionaries."""
        copied: dict[str, Any] = json.loads(json.dumps(self._content))
        return copied

    def to_html(self) -> str:
        """Return the page as a string: one file that needs no network."""
        return page(self._content)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        html = self.to_html()
        with open(path, "w", encoding="utf-8") as file:
            file.write(html)

    @property
    def findings(self) -> list[dict[str, str]]:
        """Warnings in plain words, the gravest first: level, title and text."""
        return list(self.to_dict()["findings"])

    def __str__(self) -> str:
        return report_text(self._content)

    def __repr__(self) -> str:
        facts = self._content["model"]
        return f"<sapwood.report on {facts['estimator']}: {self._content['data']['n_rows']:,} rows>"

    def _repr_html_(self) -> str:
        return frame(self.to_html(), self._content["title"])


def report(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    X_train: Any = None,
    y_train: Any = None,
    sample_weight: Any = None,
    title: str | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Report:
    """Report on a model: how it was trained, how good it is, what it learned, and what looks wrong.

    Parameters
    ----------
    model : estimator or Model
        A fitted model.
    X : table
        Rows to evaluate and explain, best those that were held out from training.
    y : array-like, optional
        Target of each row; without it, the report has no figures of quality.
    X_train : table, optional
        The training rows, to compare with: overfitting, drift, and a linear model trained on the same rows.
    y_train : array-like, optional
        Target of the training rows.
    sample_weight : array-like, optional
        Weight of each row of X.
    title : str, optional
        Title of the page.
    path : str or path, optional
        File to write the page to.

    Returns
    -------
    Report

    Examples
    --------
    >>> import sapwood
    >>> X = [[float(i % 7), float(i % 3)] for i in range(200)]
    >>> y = [row[0] + row[1] for row in X]
    >>> model = sapwood.SapwoodRegressor(n_estimators=20).fit(X[:150], y[:150])
    >>> report = sapwood.report(model, X[150:], y[150:])
    >>> report.to_dict()["model"]["n_iterations"]
    20
    """
    fitted = FittedModel.of(model, CALLER)
    if (X_train is None) != (y_train is None):
        given, absent = ("X_train", "y_train") if y_train is None else ("y_train", "X_train")
        raise ParameterError(f"report: {given} was given without {absent}; pass both or none")
    rows = EvaluatedRows.read(fitted, X, y, sample_weight)
    train = None if X_train is None else EvaluatedRows.read(fitted, X_train, y_train)
    result = Report(_content(rows, train, title or f"{fitted.name}: report"))
    if path is not None:
        result.save(path)
    return result


def _content(rows: EvaluatedRows, train: EvaluatedRows | None, title: str) -> dict[str, Any]:
    fitted = rows.fitted
    contributions = Contributions(rows)
    gain = np.asarray(fitted.model.importance("total_gain"), dtype=np.float64)
    order = strongest(contributions, gain)
    content: dict[str, Any] = {
        "title": title,
        "created": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "model": model_facts(fitted),
        "data": {
            "n_rows": rows.n_rows,
            "n_sampled": len(rows.sampled_rows),
            "n_explained": len(contributions.rows),
            "n_train": None if train is None else train.n_rows,
            "has_target": rows.y is not None,
            "is_weighted": rows.weight is not None,
        },
        "quality": quality(rows, train),
        "curves": _curves(fitted),
        "importances": _importances(rows, contributions, gain, order),
        "effects": effects(rows, contributions, order),
        "interactions": interactions(rows, contributions),
        "swarm": swarm(rows, contributions, order),
        "rows": explained_rows(rows, contributions),
        "trees": drawn_trees(fitted),
        "columns": column_facts(rows, train),
        "decisions": decisions(fitted),
        "parameters": parameters(fitted),
    }
    content = _plain(content)
    content["findings"] = findings(content, rows)
    return content


def _curves(fitted: FittedModel) -> list[dict[str, Any]]:
    """Return the learning curves of each metric, thinned to a few hundred points."""
    by_metric: dict[str, list[dict[str, Any]]] = {}
    for name, by_name in fitted.evals_result.items():
        for metric, values in by_name.items():
            by_metric.setdefault(str(metric), []).append({"name": str(name), "values": np.asarray(values).tolist()})
    curves = []
    for metric, sets in by_metric.items():
        step = max(1, math.ceil(max(len(s["values"]) for s in sets) / CURVE_POINTS))
        best = fitted.best_iteration
        marks = [
            None if best is None or not 1 <= best <= len(s["values"]) else s["values"][best - 1] for s in sets
        ]  # fmt: skip
        for curve in sets:
            n = len(curve["values"])
            keep = sorted({*range(0, n, step), n - 1})
            curve["rounds"], curve["values"] = [k + 1 for k in keep], [curve["values"][k] for k in keep]
        curves.append({"metric": metric, "sets": sets, "best": best, "at_best": marks})
    return curves


def _importances(
    rows: EvaluatedRows, contributions: Contributions, gain: np.ndarray, order: np.ndarray
) -> dict[str, Any]:
    """Return the importances of the strongest features by several definitions."""
    fitted, permuted = rows.fitted, permutation(rows)
    splits = np.asarray(fitted.model.importance("weight"), dtype=np.float64)
    has_contributions = contributions.explanation is not None
    features = []
    for f in order[:IMPORTANCES_SHOWN].tolist():
        entry = {"name": fitted.model.schema.name_of(f), "gain": float(gain[f]), "splits": float(splits[f])}
        entry["contribution"] = float(contributions.mean[f]) if has_contributions else None
        entry["error"] = float(contributions.error[f]) if has_contributions else None
        entry["permutation"] = None if permuted is None else float(permuted[f])
        entry["permutation_error"] = None if permuted is None else float(permuted.errors[f])
        entry["strength"] = entry["contribution"] if has_contributions else entry["gain"]
        features.append(entry)
    return {
        "features": features,
        "n_features": fitted.model.n_features,
        "n_unused": int(np.count_nonzero(splits == 0)),
        "reason": contributions.reason,
    }


def _plain(value: Any) -> Any:
    """Return a value as JSON can hold it: floats with six digits, None for NaN and infinity."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    return value if value is None or isinstance(value, str | int | bool) else str(value)
