"""Interactions of features in a report."""

from __future__ import annotations

from typing import Any

from sapwood.reports.effects import Contributions
from sapwood.reports.evaluated_rows import EvaluatedRows

MAX_FEATURES, MAX_ROWS, MAX_VALUES, PAIRS_SHOWN = 150, 300, 4_000_000, 10


def interactions(rows: EvaluatedRows, contributions: Contributions) -> dict[str, Any]:
    """Return the strongest pairs by the mean absolute Shapley interaction value of a sample of rows.

    Tables with many columns have too many pairs: they are left out.
    """
    model = rows.fitted.model
    if contributions.explanation is None or model.n_features > MAX_FEATURES:
        return {"pairs": [], "n_rows": 0}
    n_rows = min(MAX_ROWS, max(20, MAX_VALUES // (model.n_features**2 * model.n_outputs)))
    sample = rows.sample(n_rows)
    found: Any = model.importance("interaction", rows.rows_of(sample))
    pairs = [{"name": name, "strength": strength} for name, strength in found.items()[:PAIRS_SHOWN] if strength > 0.0]
    return {"pairs": pairs, "n_rows": len(sample)}
