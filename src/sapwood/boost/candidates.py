"""Train the candidates of an effort's plan, choose their weights on validation rows, and blend them into one model."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sapwood.boost.blend_weights import select_weights
from sapwood.boost.candidate_training import (
    CandidateTask,
    Part,
    Split,
    known_categories,
    run_trainings,
    threads_side_by_side,
    train_parts,
    transformers_of,
)
from sapwood.boost.data_preparation import row_times
from sapwood.boost.early_stopping import INTERRUPTED
from sapwood.boost.evaluation import EvalMetric, eval_metrics, evaluate, find_metric
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask
from sapwood.boost.refit import refit_on_all_rows
from sapwood.boost.target import Target
from sapwood.boost.trained_model import make_model
from sapwood.boost.training_pipeline import Training
from sapwood.boost.validation_split import count_units, fold_of_rows, validation_rows
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.log import logger
from sapwood.model.arithmetic import average_models
from sapwood.native.threads.team import current_team
from sapwood.params.declaration import REPLAY
from sapwood.params.effort import VALIDATION_FRACTION, EffortPlan
from sapwood.params.options import LastRows, early_stopping_of


def fit_candidates(
    candidates: Sequence[CandidateTask],
    rows: LabeledRows,
    splits: Iterable[Split],
    start_time: float,
    refits: bool = True,
    adds_refit: bool = False,
) -> Training:
    """Train the candidates on the training rows of each split and return their blend.

    ``refits`` says whether they are refitted to all rows: those of a single split, and those of several splits that are
    replayed. With ``adds_refit``, models that are trained on all rows are averaged with those of several splits.
    """
    parts = train_parts(candidates, splits, rows, start_time)
    candidates = candidates[: len(parts[0].trainings)]
    weights, decision = _choose_weights(candidates, parts)
    logger.info("%s: %s", decision["choice"], decision["why"])
    kept = [k for k in range(len(candidates)) if weights[k] > 0.0]
    chosen = [candidates[k] for k in kept]
    members = [[part.trainings[k] for k in kept] for part in parts]
    shares = [1.0 / len(parts)] * len(parts)
    known = known_categories(transformers_of(training for member in members for training in member))
    if refits and not parts[-1].is_interrupted:
        if len(parts) == 1 or all(one.task.params.evaluation.refit == REPLAY for one in candidates):
            members = _refit(chosen, members, rows, start_time, known)
        added = _train_on_all(chosen, members, rows, start_time, known) if adds_refit and len(parts) > 1 else None
        if added is not None:
            members, shares = [*members, added], [*(0.5 * share for share in shares), 0.5]
    blend_weights = np.concatenate([share * weights[kept] for share in shares])
    trainings = [training for member in members for training in member]
    tasks = [candidate.task for candidate in chosen] * len(members)
    return _join(tasks, trainings, blend_weights, *_cross_decisions(trainings[0]), decision)


def average_trainings(task: LearningTask, trainings: Sequence[Training]) -> Training:
    """Return the average of trainings of a task on different rows."""
    return _join([task] * len(trainings), trainings, np.full(len(trainings), 1.0 / len(trainings)))


def split_parts(task: LearningTask, plan: EffortPlan, rows: LabeledRows) -> list[np.ndarray]:
    """Return a mask of the validation rows of each part, except parts that hold all rows of a class.

    Each of two classes is in every part. Of several, rare ones are not: parts that have them all would be too large.
    """
    strata = None if task.classes is None else rows.y
    seed = task.params.run.random_state
    max_parts = plan.n_parts if task.params.evaluation.validation_fraction is None else 1
    n_units = count_units(rows.row_ids, rows.groups, rows.workers)
    counts = np.empty(0) if strata is None else np.unique(strata, return_counts=True)[1]
    n_parts = min(max_parts, n_units, *(counts.tolist() if len(counts) == 2 else ()))
    if n_parts > 1:
        folds = fold_of_rows(n_parts, rows.row_ids, seed, strata, rows.groups, rows.workers)
        if parts := _with_all_classes([folds == fold for fold in range(n_parts)], strata):
            return parts
    elif rows.groups is not None and n_units == 1:
        return []
    return _with_all_classes([_single_part(task, rows, strata)], strata)


def _with_all_classes(masks: Sequence[np.ndarray], strata: np.ndarray | None) -> list[np.ndarray]:
    """Return the masks of validation rows that leave rows of every class for training."""
    if strata is None:
        return list(masks)
    n_classes = len(np.unique(strata))
    return [mask for mask in masks if mask.any() and len(np.unique(strata[~mask])) == n_classes]


def _single_part(task: LearningTask, rows: LabeledRows, strata: np.ndarray | None) -> np.ndarray:
    """Return a mask of the validation rows of a single part: the last ones in time if ``has_time`` is set."""
    spec: Any = task.params.evaluation.validation_fraction or VALIDATION_FRACTION
    has_time, seed = task.params.categories.has_time, task.params.run.random_state
    if has_time is False or isinstance(spec, LastRows):
        return validation_rows(spec, rows.row_ids, seed, strata, rows.groups)
    mask = validation_rows(LastRows(spec), rows.row_ids, seed, strata, rows.groups)
    if has_time is not True:
        mask[np.argsort(row_times(rows, task.schema, has_time), kind="stable")] = mask.copy()
    return mask


def _choose_weights(candidates: Sequence[CandidateTask], parts: Sequence[Part]) -> tuple[np.ndarray, dict[str, Any]]:
    """Return the weights that are best on the validation rows of all parts, and the decision in words."""
    task = candidates[0].task
    scores = [np.concatenate([part.scores[k] for part in parts], axis=1) for k in range(len(candidates))]
    targets = [part.rows.target for part in parts]
    weight = None if targets[0].weight is None else np.concatenate([one.weight for one in targets])
    loss, metric = _loss_of(task, Target(np.concatenate([one.y for one in targets]), weight))
    weights, blended = select_weights(scores, loss)
    names = [candidate.name for candidate in candidates]
    losses = {name: _signed(loss(one), metric) for name, one in zip(names, scores, strict=True)}
    chosen = {name: round(float(w), 4) for name, w in zip(names, weights, strict=True) if w > 0.0}
    blend = " + ".join(f"{w:g} {name}" for name, w in chosen.items())
    why = (
        f"{metric.name} {_signed(blended, metric):.5g} on {scores[0].shape[1]} validation rows, the best of the blends"
    )
    return weights, {
        "choice": "blend",
        "candidates": names,
        "losses": losses,
        "chosen": chosen,
        "why": f"{blend} has {why}" if len(candidates) > 1 else f"{names[0]} is the only candidate",
    }


def _cross_decisions(training: Training) -> list[dict[str, Any]]:
    """Return the decision about numeric crosses, if some were tried."""
    crosses = training.crosses
    if crosses is None or math.isnan(crosses.loss_with):
        return []
    kept = bool(crosses.specs)
    change = f"loss {crosses.loss_without:.5g} without, {crosses.loss_with:.5g} with crosses in short fits"
    return [
        {
            "choice": "numeric crosses",
            "candidates": ["without", "with"],
            "losses": {"without": crosses.loss_without, "with": crosses.loss_with},
            "chosen": "with" if kept else "without",
            "why": change if kept else f"{change}: no more than chance",
        }
    ]


def _loss_of(task: LearningTask, target: Target) -> tuple[Callable[[np.ndarray], float], EvalMetric]:
    """Return the function that evaluates scores, less is better, and the metric that it is made of."""
    settings = task.params.evaluation
    metrics = eval_metrics(settings.eval_metric, task.objective, task.metric_task)
    stopping = early_stopping_of(settings.early_stopping_rounds)
    metric = find_metric(metrics, None if stopping is None else stopping.metric)
    run = current_team(task.params.run.n_jobs, len(target.y)).run

    def loss(scores: np.ndarray) -> float:
        return _signed(evaluate((metric,), task.objective, target, scores, run)[metric.name], metric)

    return loss, metric


def _signed(value: float, metric: EvalMetric) -> float:
    return -value if metric.greater_is_better else value


def _refit(
    candidates: Sequence[CandidateTask],
    members: Sequence[Sequence[Training]],
    rows: LabeledRows,
    start_time: float,
    known: FeatureTransformer | None,
) -> list[list[Training]]:
    """Refit the candidates of each part to all rows; categories keep the codes that they have in the trained ones."""
    tasks = []
    for candidate in candidates:
        params = candidate.task.params
        params = replace(params, evaluation=replace(params.evaluation, refit=params.evaluation.refit or True))
        tasks.append(replace(candidate.task, params=params, known_categories=known))
    refits = [
        partial(refit_on_all_rows, task, rows, training, start_time)
        for trainings in members
        for task, training in zip(tasks, trainings, strict=True)
    ]
    n_threads = threads_side_by_side(tasks, rows, len(refits))
    refitted = [outcome.result() for outcome in run_trainings(iter(refits), n_threads)]
    return [refitted[first : first + len(tasks)] for first in range(0, len(refitted), len(tasks))]


def _train_on_all(
    candidates: Sequence[CandidateTask],
    members: Sequence[Sequence[Training]],
    rows: LabeledRows,
    start_time: float,
    known: FeatureTransformer | None,
) -> list[Training] | None:
    """Train each candidate on all rows for the median of its best numbers of rounds; None if that is not done."""
    typical = [sorted(trainings, key=_n_rounds)[len(trainings) // 2] for trainings in zip(*members, strict=True)]
    again = []
    for candidate in candidates:
        params = candidate.task.params
        params = replace(params, evaluation=replace(params.evaluation, refit=True))
        again.append(replace(candidate, task=replace(candidate.task, params=params)))
    [refitted] = _refit(again, [typical], rows, start_time, known)
    is_done = all(new is not old for new, old in zip(refitted, typical, strict=True))
    return refitted if is_done and all(one.result.stopped != INTERRUPTED for one in refitted) else None


def _n_rounds(training: Training) -> int:
    return training.result.best_iteration


def _join(
    tasks: Sequence[LearningTask], trainings: Sequence[Training], weights: np.ndarray, *decisions: dict[str, Any]
) -> Training:
    """Return the blend of trainings; the history is that of the first one with the largest weight."""
    models = [make_model(task, training) for task, training in zip(tasks, trainings, strict=True)]
    blend = models[0] if len(models) == 1 else average_models(models, weights.tolist())
    main = trainings[int(np.argmax(weights))]
    stopped = INTERRUPTED if any(one.result.stopped == INTERRUPTED for one in trainings) else main.result.stopped
    result = replace(main.result, ensemble=blend.ensemble, base_scores=blend.base_scores, stopped=stopped)
    missing = {f for one in trainings for f in one.columns_with_missing or ()}
    return replace(
        main,
        result=result,
        transformer=blend.transformer,
        columns_with_missing=None if main.columns_with_missing is None else sorted(missing),
        decisions=decisions,
    )
