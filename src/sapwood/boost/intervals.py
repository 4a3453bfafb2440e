"""Train prediction intervals: quantiles by cross-fitting, and how far targets lie outside of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sapwood.boost.candidates import CandidateTask, join_parts, split_parts, train_parts
from sapwood.boost.initial_scores import InitSpec
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.boost.trained_model import make_model
from sapwood.distributed.row_order import RowOrder
from sapwood.errors import InputError
from sapwood.model.intervals import Intervals
from sapwood.objectives.losses.quantile import Quantile
from sapwood.params.effort import FAST, NEUTRAL, EffortPlan

DEFAULT_COVERAGE = 0.9
N_PARTS = 5
MIN_ROWS = 20
# Parameters of the quantile models that the user cannot set; the others are those of the effort "fast".
QUANTILE_PARAMS: dict[str, Any] = {
    "effort": FAST,
    "n_estimators": 500,
    "learning_rate": 0.05,
    "early_stopping_rounds": 30,
    "colsample_bytree": 0.8,
}
NOT_SHARED = ("objective", "eval_metric", "effort", "class_weight", "classes")


def fit_intervals(task: LearningTask, rows: LabeledRows, start_time: float) -> Intervals:
    """Train quantile models on five parts of the rows in turn, and return their average with its calibration.

    The rows of each part are compared with the quantiles of the model that was trained without them.
    """
    if rows.weight is not None:
        rows = rows.take(rows.weight > 0.0)
    n_rows = rows.workers.count_rows(len(rows.y))
    if n_rows < MIN_ROWS:
        raise InputError(f"intervals need at least {MIN_ROWS} rows, and there are {n_rows}: use intervals=None")
    rows, quantiles = replace(rows, init_score=None), _quantile_task(task)
    masks = split_parts(quantiles, EffortPlan((), N_PARTS), rows)
    if not masks:
        raise InputError("intervals need rows of at least two groups")
    splits = [(rows.take(~mask), rows.take(mask)) for mask in masks]
    candidates = [CandidateTask("quantiles", quantiles)]
    parts = train_parts(candidates, splits, start_time)
    joined = join_parts(candidates, parts)
    excess = np.concatenate([excess_over(part.rows.y, part.scores[0].T) for part in parts])
    row_ids = np.concatenate([part.rows.row_ids for part in parts])
    return Intervals.calibrate(make_model(quantiles, joined), excess, RowOrder.of(excess, row_ids, rows.workers))


def excess_over(y: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Return how far targets lie outside of their bounds (rows, 2), which may be exchanged; negative inside."""
    low, high = np.sort(bounds, axis=1).T
    return np.maximum(low - y, y - high)


def _quantile_task(task: LearningTask) -> LearningTask:
    """Return the task of the two quantiles between which the intended fraction of the targets lies."""
    intervals = task.params.task.intervals
    coverage = DEFAULT_COVERAGE if intervals is True else float(intervals)  # type: ignore[arg-type]
    outside = (1.0 - coverage) / 2.0
    shared = {name: value for name, value in task.given.items() if name in NEUTRAL and name not in NOT_SHARED}
    given = shared | QUANTILE_PARAMS | {"objective": Quantile([outside, 1.0 - outside])}
    init = InitSpec(None, None, task.objective, None)
    return replace(task, given=given, init=init, known_categories=None).with_defaults({})
