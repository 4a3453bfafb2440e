"""Data quality of each column: missing values, categories, range, and drift from the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sapwood.reports.evaluated_rows import Column, EvaluatedRows

DRIFT_BINS = 10


def column_facts(rows: EvaluatedRows, train: EvaluatedRows | None) -> list[dict[str, Any]]:
    """Return the facts of every column; drift is the population stability index against the training rows."""
    facts = []
    for f, column in enumerate(rows.columns):
        reference = None if train is None else train.columns[f]
        entry = _number_facts(column) if column.categories is None else _category_facts(column)
        entry |= {
            "name": column.name,
            "kind": "number" if column.categories is None else "category",
            "missing": float(column.is_missing.mean()),
            "missing_train": None if reference is None else float(reference.is_missing.mean()),
            "unseen": None if column.is_unseen is None else float(column.is_unseen.mean()),
            "unseen_examples": _unseen_examples(column),
            "drift": None if reference is None else stability_index(column, reference),
        }
        facts.append(entry)
    return facts


def _number_facts(column: Column) -> dict[str, Any]:
    values = column.values[np.isfinite(column.values)]
    distinct = np.unique(column.values[~np.isnan(column.values)])
    if not len(values):
        return {"distinct": len(distinct), "low": None, "middle": None, "high": None}
    return {
        "distinct": len(distinct),
        "low": float(values.min()),
        "middle": float(np.median(values)),
        "high": float(values.max()),
        "is_integer": bool((values == np.round(values)).all()),
    }


def _category_facts(column: Column) -> dict[str, Any]:
    assert column.categories is not None
    counts = np.bincount(column.values[column.values >= 0], minlength=len(column.categories))
    order = np.argsort(-counts, kind="stable")[:3]
    top = [column.categories[k] for k in order if counts[k] > 0]
    return {"distinct": int(np.count_nonzero(counts)), "top": top}


def _unseen_examples(column: Column) -> list[str]:
    if column.is_unseen is None or not column.is_unseen.any():
        return []
    assert column.categories is not None
    return [column.categories[k] for k in np.unique(column.values[column.is_unseen])[:3]]


def stability_index(column: Column, reference: Column) -> float:
    """Return the population stability index, Σ (p − q) ln(p / q) over bins of the reference.

    Bins are tenths of the reference's numbers or its categories, and missing values; bins that are empty on one side
    count as half a row.
    """
    if column.categories is None:
        known = reference.values[~np.isnan(reference.values)]
        if not len(known):
            return 0.0
        edges = np.unique(np.quantile(known, np.linspace(0.0, 1.0, DRIFT_BINS + 1)[1:-1]))
        counts = [
            np.bincount(np.where(np.isnan(v), len(edges) + 1, np.searchsorted(edges, v)), minlength=len(edges) + 2)
            for v in (column.values, reference.values)
        ]
    else:
        assert reference.categories is not None
        number = {name: k for k, name in enumerate(sorted({*column.categories, *reference.categories}))}
        counts = []
        for side in (column, reference):
            table = np.array([*(number[name] for name in side.categories or ()), len(number)])
            counts.append(np.bincount(table[side.values], minlength=len(number) + 1))
    p, q = (np.maximum(count, 0.5) / max(count.sum(), 1) for count in counts)
    used = (counts[0] + counts[1]) > 0
    return float(((p - q) * np.log(p / q))[used].sum())
