"""Train prediction intervals: bounds by cross-fitting, and how far targets lie outside of them.

There are two candidates for the bounds, a pair of quantiles and a mean with a spread around it. They are blended by
their interval score on rows that the models were not trained on. ``docs/intervals.md`` describes the steps and their
reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from sapwood.boost.blend_weights import select_weights
from sapwood.boost.candidate_training import CandidateTask
from sapwood.boost.candidates import split_parts
from sapwood.boost.cross_fitting import CrossFit, cross_fit
from sapwood.boost.initial_scores import InitSpec
from sapwood.boost.interval_calibration import CalibrationRows, balance_tails
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.errors import InputError
from sapwood.lazy_dataclass import dataclass
from sapwood.log import logger
from sapwood.model.arithmetic import add_models, average_models, multiply_outputs
from sapwood.model.info import DECISIONS
from sapwood.model.intervals import Intervals, excess_unit
from sapwood.model.model import Model
from sapwood.objectives.losses.quantile import Quantile
from sapwood.params.effort import FAST, NEUTRAL, EffortPlan

DEFAULT_COVERAGE = 0.9
N_PARTS = 5
MIN_ROWS = 20
# Parameters of the models that the user cannot set; the others are those of the effort "fast".
MODEL_PARAMS: dict[str, Any] = {
    "effort": FAST,
    "n_estimators": 500,
    "learning_rate": 0.1,
    "early_stopping_rounds": 30,
    "colsample_bytree": 0.8,
}
NOT_SHARED = ("objective", "eval_metric", "effort", "class_weight", "classes")
# A leaf of few rows has no extreme quantiles: its minimum is a fraction of the rows between these.
ROWS_PER_QUANTILE_LEAF, MIN_QUANTILE_LEAF, MAX_QUANTILE_LEAF = 20, 20, 50
# Spreads are raised by this fraction of their mean, so that one that is estimated as 0 gives an interval too.
SPREAD_FLOOR = 0.2
# Intervals narrower than this fraction of their mean width are moved as if they were that wide.
MIN_UNIT = 0.1


@dataclass(frozen=True, eq=False)
class Bounds:
    """A model of a lower and an upper bound, and its scores (2, rows) of rows that it was not trained on."""

    name: str
    model: Model
    scores: np.ndarray


def fit_intervals(task: LearningTask, rows: LabeledRows, start_time: float) -> Intervals:
    """Train the bounds on parts of the rows in turn, and return their average with its calibration.

    Every row is compared with the bounds of the models that were trained without it.
    """
    if rows.weight is not None:
        rows = rows.take(rows.weight > 0.0)
    n_rows = rows.workers.count_rows(len(rows.y))
    if n_rows < MIN_ROWS:
        raise InputError(f"intervals need at least {MIN_ROWS} rows, and there are {n_rows}: use intervals=None")
    rows, coverage = replace(rows, init_score=None), _coverage(task)
    quantiles = _quantile_task(task, coverage, n_rows)
    parts = _held_out_parts(quantiles, rows)
    pair = cross_fit(CandidateTask("quantiles", quantiles), rows, parts, start_time)
    assert pair is not None  # the first part is trained in any case
    candidates = [Bounds("quantiles", pair.model, pair.scores)]
    if pair.is_complete and len(parts) > 1 and task.params.tree.monotone_constraints is None:
        scaled = _scaled_residuals(task, rows, parts, pair, start_time)
        candidates += [] if scaled is None else [scaled]
    is_known = ~np.isnan(pair.scores[0])
    known = CalibrationRows(rows.y[is_known], rows.row_ids[is_known], coverage, rows.workers)
    bounds = _blend([replace(one, scores=one.scores[:, is_known]) for one in candidates], known)
    lower, upper = balance_tails(bounds.scores, known)
    shifts = np.array([-lower, upper])
    low, high = np.sort(bounds.scores + shifts[:, None], axis=0)
    # Widths are not monotone, so that with constraints all intervals are moved by the same.
    is_constrained = task.params.tree.monotone_constraints is not None
    min_unit = None if is_constrained else MIN_UNIT * 0.5 * known.mean(high - low)
    min_unit = min_unit or None  # intervals without widths have no units
    excess = np.maximum(low - known.y, known.y - high) / excess_unit(low, high, min_unit)
    model = replace(bounds.model, base_scores=bounds.model.base_scores + shifts)
    return Intervals.calibrate(model, excess, known.order_of(excess), min_unit)


def _coverage(task: LearningTask) -> float:
    intervals: Any = task.params.task.intervals
    return DEFAULT_COVERAGE if intervals is True else float(intervals)


def _held_out_parts(task: LearningTask, rows: LabeledRows) -> list[np.ndarray]:
    """Return masks of the rows that the models are trained without: each pair of five folds.

    A row is predicted by the mean of four models then, which errs hardly more than the mean of all ten; a single one
    would make the intervals too wide. Few groups are held out one by one. Rows in the order of time have one part.
    """
    has_time = task.params.categories.has_time is not False
    folds = split_parts(task, EffortPlan((), 1 if has_time else N_PARTS), rows)
    if not folds:
        raise InputError("intervals need rows of at least two groups")
    return [one | other for one, other in combinations(folds, 2)] if len(folds) == N_PARTS else folds


def _scaled_residuals(
    task: LearningTask, rows: LabeledRows, parts: Sequence[np.ndarray], pair: CrossFit, start_time: float
) -> Bounds | None:
    """Return the bounds mean - a · spread and mean + b · spread; None if time is up.

    The spread is a model of the absolute residuals of rows that the mean was not trained on, and a and b are quantiles
    of such residuals relative to it.
    """
    squared = _model_task(task, {"objective": "squared"})
    mean = cross_fit(CandidateTask("mean", squared), rows, parts, start_time, pair.trainings)
    if mean is None or not mean.is_complete:
        return None
    residual = rows.y - mean.scores[0]
    residuals, earlier = replace(rows, y=np.abs(residual)), (*pair.trainings, *mean.trainings)
    spread = cross_fit(CandidateTask("spread", squared), residuals, parts, start_time, earlier)
    if spread is None or not spread.is_complete:
        return None
    known = CalibrationRows(rows.y, rows.row_ids, _coverage(task), rows.workers)
    floor = SPREAD_FLOOR * known.mean(spread.scores[0])
    if floor <= 0.0:  # the mean is right for all rows
        return None
    scale, level = np.maximum(spread.scores[0], 0.0) + floor, 1.0 - known.outside / 2.0
    low, high = known.quantile(-residual / scale, level), known.quantile(residual / scale, level)
    shifts = np.array([-low, high])
    model = add_models(
        multiply_outputs(mean.model, (1.0, 1.0), pair.model.link),
        multiply_outputs(spread.model, (-low, high), pair.model.link),
    )
    model = replace(model, base_scores=model.base_scores + shifts * floor)
    return Bounds("scaled residuals", model, mean.scores + shifts[:, None] * (spread.scores + floor))


def _blend(candidates: Sequence[Bounds], known: CalibrationRows) -> Bounds:
    """Return the blend with the lowest interval score; the model says what was chosen."""
    names = [one.name for one in candidates]
    weights, score = select_weights([one.scores for one in candidates], known.interval_score)
    chosen = {name: round(float(w), 4) for name, w in zip(names, weights, strict=True) if w > 0.0}
    decision = {
        "choice": "intervals",
        "candidates": names,
        "losses": {one.name: known.interval_score(one.scores) for one in candidates},
        "chosen": chosen,
        "why": f"interval score {score:.5g} on rows that the models were not trained on, the best of the blends",
    }
    logger.info("%s: %s, %s", decision["choice"], chosen, decision["why"])
    kept = [(one, float(w)) for one, w in zip(candidates, weights, strict=True) if w > 0.0]
    total = average_models([one.model for one, _ in kept], [w for _, w in kept])
    first = candidates[0].model
    model = replace(
        first,
        ensemble=total.ensemble,
        base_scores=total.base_scores,
        transformer=total.transformer,
        metadata={**first.metadata, DECISIONS: [decision]},
    )
    return Bounds("blend", model, sum((w * one.scores for one, w in kept), np.zeros_like(kept[0][0].scores)))


def _quantile_task(task: LearningTask, coverage: float, n_rows: int) -> LearningTask:
    """Return the task of the two quantiles between which the intended fraction of the targets lies."""
    outside = (1.0 - coverage) / 2.0
    leaf = max(MIN_QUANTILE_LEAF, min(MAX_QUANTILE_LEAF, n_rows // ROWS_PER_QUANTILE_LEAF))
    return _model_task(task, {"objective": Quantile([outside, 1.0 - outside]), "min_child_samples": leaf})


def _model_task(task: LearningTask, params: dict[str, Any]) -> LearningTask:
    """Return the task of a model of the intervals, with the parameters that describe the data."""
    shared = {name: value for name, value in task.given.items() if name in NEUTRAL and name not in NOT_SHARED}
    init = InitSpec(None, None, task.objective, None)
    return replace(task, given=shared | MODEL_PARAMS | params, init=init, known_categories=None).with_defaults({})
