"""Warnings of a report in plain words: leakage, overfitting, drift, data quality."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sapwood.explain.fitted_model import BINARY, REGRESSION
from sapwood.metrics.registry import metrics
from sapwood.reports.evaluated_rows import EvaluatedRows

PROBLEM, CHECK, NOTE = "problem", "check", "note"
DOMINANT, ALONE = 0.8, 0.98  # fraction of all contributions; AUC or squared correlation of one column alone
DRIFT_CHECK, DRIFT_PROBLEM = 0.1, 0.25  # population stability index
MISSING, MISSING_CHANGE, UNSEEN = 0.5, 0.1, 0.05
GAP, RISE, LATE = 0.3, 0.02, 0.98
FEW_ROWS, RARE_CLASS, CALIBRATION = 200, 0.01, 0.1
NAMES_SHOWN = 5


def findings(report: dict[str, Any], rows: EvaluatedRows) -> list[dict[str, str]]:
    """Return the warnings of a report, the gravest first: level, title and text."""
    found = [
        *_leakage(report, rows),
        *_same_rows(report),
        *_overfitting(report),
        *_drift(report),
        *_columns(report),
        *_target(report, rows),
        *_skill(report),
        *_calibration(report),
    ]
    return sorted(found, key=lambda finding: (PROBLEM, CHECK, NOTE).index(finding["level"]))


def _finding(level: str, title: str, text: str) -> dict[str, str]:
    return {"level": level, "title": title, "text": text}


def _leakage(report: dict[str, Any], rows: EvaluatedRows) -> list[dict[str, str]]:
    """Suspect columns that decide nearly everything, or that predict the target nearly perfectly alone."""
    found = []
    strengths = report["importances"]["features"]
    total = sum(entry["strength"] for entry in strengths)
    if total > 0 and len(strengths) > 1 and strengths[0]["strength"] > DOMINANT * total:
        share = strengths[0]["strength"] / total
        found.append(_finding(
            CHECK, f"{strengths[0]['name']} decides most predictions",
            f"It has {share:.0%} of all importance. Check that its value is known when the prediction is made.",
        ))  # fmt: skip
    if rows.y is None or rows.fitted.task not in (BINARY, REGRESSION):
        return found
    numbers = {column.name: column for column in rows.columns}
    for entry in strengths[:10]:
        strength = _alone(numbers[entry["name"]], rows)
        if strength is not None and strength > ALONE:
            measure = "an AUC" if rows.fitted.task == BINARY else "a squared rank correlation"
            found.append(_finding(
                PROBLEM, f"{entry['name']} may leak the target",
                f"This column alone reaches {measure} of {strength:.3f} with the target. Such a column is often made "
                "from the target, or recorded after it.",
            ))  # fmt: skip
    return found


def _alone(column: Any, rows: EvaluatedRows) -> float | None:
    """Return the AUC (at least 0.5) or squared rank correlation of a column of numbers and the target."""
    if column.categories is not None or rows.y is None:
        return None
    y = rows.y[rows.sampled_rows]
    known = np.isfinite(column.values)
    if known.sum() < 50 or len(np.unique(column.values[known])) < 2 or len(np.unique(y[known])) < 2:
        return None
    if rows.fitted.task == BINARY:
        from sklearn.metrics import roc_auc_score

        area = float(roc_auc_score(y[known], column.values[known]))
        return max(area, 1.0 - area)
    ranks = [np.unique(values[known], return_inverse=True)[1].astype(np.float64) for values in (column.values, y)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1] ** 2)


def _same_rows(report: dict[str, Any]) -> list[dict[str, str]]:
    if report["model"]["n_rows"] != report["data"]["n_rows"] or report["data"]["n_train"] is not None:
        return []
    return [_finding(
        CHECK, "Are these the training rows?",
        f"The table has {report['data']['n_rows']:,} rows, as many as the model was trained on. On training rows, all "
        "figures of quality are too good: report on rows that were held out.",
    )]  # fmt: skip


def _overfitting(report: dict[str, Any]) -> list[dict[str, str]]:
    """Compare losses on training and other rows, and look at the ends of the learning curves."""
    found = []
    quality = report["quality"]
    for entry in (quality or {}).get("metrics", [])[:1]:
        ours, train = entry["model"], entry["train"]
        if ours and train is not None and train < (1.0 - GAP) * ours:
            found.append(_finding(
                CHECK, "The model fits the training rows much better than these",
                f"{entry['title']} is {train:.4g} on the training rows and {ours:.4g} here. Fewer leaves, a lower "
                "learning rate with early stopping, or more rows may help.",
            ))  # fmt: skip
    for curve in report["curves"][:1]:
        found += _curve_end(curve)
    return found


def _curve_end(curve: dict[str, Any]) -> list[dict[str, str]]:
    last = curve["sets"][-1]
    values = np.array([np.nan if value is None else value for value in last["values"]])
    known = metrics().get(curve["metric"].partition("@")[0])
    if known is None or len(values) < 10 or not np.isfinite(values).all():
        return []
    loss = -values if known.greater_is_better else values
    best = int(np.argmin(loss))
    gained = abs(float(loss[0] - loss[best])) or 1.0
    if loss[-1] - loss[best] > RISE * gained and best < 0.7 * len(values):
        return [_finding(
            CHECK, f"{curve['metric']} on {last['name']} grew worse again",
            f"It was best after {curve['best'] or last['rounds'][best]} of {last['rounds'][-1]} rounds. Set "
            "early_stopping_rounds, or fewer n_estimators.",
        )]  # fmt: skip
    if best >= LATE * len(values) and curve["best"] is not None and curve["best"] >= LATE * last["rounds"][-1]:
        return [_finding(
            NOTE, "Training ended while it was still improving",
            f"{curve['metric']} on {last['name']} was best in the last of {last['rounds'][-1]} rounds: more rounds "
            "(n_estimators with early_stopping_rounds) may give a better model.",
        )]  # fmt: skip
    return []


def _drift(report: dict[str, Any]) -> list[dict[str, str]]:
    drifted = [c for c in report["columns"] if c["drift"] is not None and c["drift"] > DRIFT_CHECK]
    if not drifted:
        return []
    drifted.sort(key=lambda c: -c["drift"])
    level = PROBLEM if drifted[0]["drift"] > DRIFT_PROBLEM else CHECK
    shown = _names([f"{c['name']} ({c['drift']:.2f})" for c in drifted])
    return [_finding(
        level, "Columns are distributed differently than in training",
        f"Population stability index above {DRIFT_CHECK}: {shown}. Above {DRIFT_PROBLEM} the difference is large; "
        "predictions may be worse than they were in validation. sapwood.practice.drift_report tells more.",
    )]  # fmt: skip


def _columns(report: dict[str, Any]) -> list[dict[str, str]]:
    columns, found = report["columns"], []
    checks: list[tuple[str, str, Callable[[dict[str, Any]], bool], str]] = [
        (NOTE, "Constant columns", lambda c: c["distinct"] <= 1 and c["missing"] < 1.0,
         "One value in all rows, so that they cannot help: "),
        (CHECK, "Empty columns", lambda c: c["missing"] == 1.0, "No value at all: "),
        (CHECK, "Many missing values", lambda c: MISSING < c["missing"] < 1.0, "More than half of the rows miss: "),
        (CHECK, "Missing values differ from training",
         lambda c: c["missing_train"] is not None and abs(c["missing"] - c["missing_train"]) > MISSING_CHANGE,
         "The fraction of missing values changed by more than 10 points: "),
        (CHECK, "Categories that did not occur in training", lambda c: (c["unseen"] or 0.0) > UNSEEN,
         "More than 5 % of the rows have new categories, which are predicted as an unknown one: "),
        (CHECK, "Columns that look like identifiers", lambda c: _is_identifier(c, report["data"]["n_sampled"]),
         "Nearly every row has its own value; such columns are learned by heart and do not generalise: "),
    ]  # fmt: skip
    for level, title, test, text in checks:
        names = [c["name"] for c in columns if test(c)]
        if names:
            found.append(_finding(level, title, f"{text}{_names(names)}."))
    return found


def _is_identifier(column: dict[str, Any], n_rows: int) -> bool:
    if n_rows < FEW_ROWS:
        return False
    is_unique = column["distinct"] > 0.95 * n_rows
    return is_unique and (column["kind"] == "category" or (column.get("is_integer", False) and _is_dense(column)))


def _is_dense(column: dict[str, Any]) -> bool:
    """Return whether integers fill their range, as running numbers do."""
    return column["high"] - column["low"] < 3 * column["distinct"]


def _target(report: dict[str, Any], rows: EvaluatedRows) -> list[dict[str, str]]:
    if rows.y is None:
        return [_finding(NOTE, "No target was given", "Pass y to see how good the predictions are.")]
    found = []
    if rows.n_rows < FEW_ROWS:
        text = f"Figures from {rows.n_rows} rows are uncertain; more rows make them reliable."
        found.append(_finding(CHECK, "Few rows", text))
    if rows.fitted.task != REGRESSION:
        counts = np.bincount(rows.y.astype(np.intp), minlength=len(rows.fitted.class_names))
        rare = [rows.fitted.class_names[k] for k in np.flatnonzero(counts < RARE_CLASS * rows.n_rows)]
        if rare:
            text = f"Fewer than 1 % of the rows: {_names(rare)}. Look at precision and recall rather than accuracy."
            found.append(_finding(NOTE, "Rare classes", text))
    return found


def _skill(report: dict[str, Any]) -> list[dict[str, str]]:
    skill = (report["quality"] or {}).get("skill", {})
    if skill.get("constant", 1.0) <= 0.0:
        return [_finding(
            PROBLEM, "The model is no better than a constant",
            "Predicting the same for every row has a loss that is as low. Check that target and columns belong "
            "together.",
        )]  # fmt: skip
    if skill.get("linear", 1.0) <= 0.0:
        return [_finding(
            CHECK, "A linear model is as good",
            "A linear model of the same columns has a loss that is as low; it is simpler to explain and to run.",
        )]  # fmt: skip
    return []


def _calibration(report: dict[str, Any]) -> list[dict[str, str]]:
    bins = (report["quality"] or {}).get("calibration", [])
    total = sum(b["weight"] for b in bins)
    if not total or report["data"]["n_rows"] < FEW_ROWS:
        return []
    error = sum(b["weight"] * abs(b["predicted"] - b["observed"]) for b in bins) / total
    if error <= CALIBRATION:
        return []
    return [_finding(
        CHECK, "Probabilities differ from frequencies",
        f"Predicted probabilities are off by {error:.0%} on average. Do not use them as probabilities before they are "
        "calibrated, for example with scikit-learn's CalibratedClassifierCV.",
    )]  # fmt: skip


def _names(names: list[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return ", ".join(names[:NAMES_SHOWN]) + more
