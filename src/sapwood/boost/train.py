"""From rows to a trained model: split, bins, start, rounds, and rounds again on all rows."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sapwood.boost.early_stopping import INTERRUPTED, TIME
from sapwood.boost.evaluation import EvalSet, Evaluation, eval_metrics
from sapwood.boost.interrupt import InterruptedBeforeFirstRound
from sapwood.boost.memory import DataSize, check_memory
from sapwood.boost.prepare import prepare
from sapwood.boost.sample import LabeledRows, naming_eval_set
from sapwood.boost.training import TrainResult, train
from sapwood.boost.validation_split import validation_rows
from sapwood.boost.warm_start import FittedInit, InitSpec
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.sparse import SparseTable
from sapwood.errors import InputError
from sapwood.model.model import Model
from sapwood.native.threads.team import training_team
from sapwood.objectives.base import Objective
from sapwood.params.declaration import EvaluationParams, Params

VALIDATION, REFIT = "validation", ".refit"
DEFAULT_FRACTION = 0.1
LEAST_SECONDS = 1e-9


@dataclass(frozen=True, eq=False)
class LearningTask:
    """What is to be learned, and how."""

    objective: Objective
    params: Params
    classes: np.ndarray | None
    init: InitSpec
    schema: Schema


@dataclass(frozen=True, eq=False)
class FitResult:
    """A finished training: trees and history, where its scores start from, the number of rows.

    ``recipe`` makes the columns of the trees out of the user's where some are categories; ``decisions`` tell how.
    """

    outcome: TrainResult
    init: FittedInit
    n_rows: int
    transformer: FeatureTransformer | None = None
    decisions: Mapping[str, Any] = field(default_factory=dict)


def task_of(classes: np.ndarray | None) -> str:
    """What metrics are asked to measure: regression, binary or multiclass."""
    if classes is None:
        return "regression"
    return "binary" if len(classes) == 2 else "multiclass"


def fit_sample(
    problem: LearningTask,
    sample: LabeledRows,
    sets: Mapping[str, LabeledRows],
    watched: Mapping[str, LabeledRows],
    began: float,
) -> FitResult:
    """Train on rows; without validation ``sets`` some rows are split off if the parameters ask for it.

    ``watched`` are measured beside them. ``began`` is when the clock of the time limit started.
    """
    if sample.weight is not None:
        sample = sample.take(sample.weight > 0.0)
    chosen = _rows_to_split_off(problem, sample, sets)
    if chosen is None:
        return _train(problem, sample, {**sets, **watched}, began)
    first = _train(problem, sample.take(~chosen), {VALIDATION: sample.take(chosen), **watched}, began)
    watch = problem.params.evaluation
    spent = time.perf_counter() - began + first.outcome.restored_seconds
    is_late = watch.time_limit is not None and 2.0 * spent > watch.time_limit
    if not watch.refit or first.outcome.stopped in (INTERRUPTED, TIME) or sample.agree_on(is_late):
        return first
    return _refit(problem, sample, first)


def _rows_to_split_off(
    problem: LearningTask, sample: LabeledRows, sets: Mapping[str, LabeledRows]
) -> np.ndarray | None:
    watch = problem.params.evaluation
    if sets:
        if watch.validation_fraction is not None:
            raise InputError("eval_set and validation_fraction are both given: validate on one of them")
        return None
    share: Any = watch.validation_fraction
    if share is None:
        if watch.early_stopping_rounds is None:
            return None
        share = DEFAULT_FRACTION
    whole = sample.whole()
    strata = whole.y if problem.classes is not None else None
    chosen = validation_rows(share, whole.row_ids, problem.params.run.random_state, strata, sample.groups)
    if problem.classes is not None:
        _check_classes(problem.classes, whole.y, whole.y[~chosen])
    return chosen[whole.own]


def _check_classes(classes: np.ndarray, every: np.ndarray, kept: np.ndarray) -> None:
    lost = np.setdiff1d(every, kept)
    if len(lost):
        label = classes.tolist()[int(lost[0])]
        raise InputError(
            f"all rows of class {label!r} would be split off for validation: give eval_set, or another "
            "validation_fraction"
        )


def _train(problem: LearningTask, sample: LabeledRows, sets: Mapping[str, LabeledRows], began: float) -> FitResult:
    params = problem.params
    if params.evaluation.time_limit is not None:
        left = max(LEAST_SECONDS, params.evaluation.time_limit - (time.perf_counter() - began))
        params = _watched(params, time_limit=left)
    team = training_team(params.run.n_jobs, sample.rows.n_rows, sample.table.n_features)
    check_memory(_size(problem, sample, sets), problem.objective, params, team.size)
    earlier = None if problem.init.warm_start is None else problem.init.warm_start.model
    known = None if earlier is None else earlier.transformer
    prepared = prepare(sample, problem.schema, params, problem.objective, known, team.run)
    sample, dataset = prepared.sample, prepared.dataset
    if sample.ranks is not None:
        dataset = dataclasses.replace(dataset, ranks=sample.ranks.counted(dataset.n_rows))
    origin = problem.init.fit(sample, team.run)
    measures = eval_metrics(params.evaluation.eval_metric, problem.objective, task_of(problem.classes))
    eval_sets = []
    for name, one in sets.items():
        with naming_eval_set(name):
            tiles, lists, values = prepared.tiles(one, team.run)
            eval_sets.append(EvalSet(name, tiles, one.target, origin.scores(one), values, lists))
    evaluation = Evaluation(eval_sets, measures, problem.objective, dataset.ranks)
    outcome = train(dataset, sample.target, problem.objective, params, origin.start(sample), evaluation)
    outcome, recipe = join_recipes(outcome, earlier, dataset.transformer, problem.schema)
    n_rows = dataset.n_rows if dataset.ranks is None else dataset.ranks.n_rows
    return FitResult(outcome, origin, n_rows, recipe, prepared.decisions)


def _size(problem: LearningTask, sample: LabeledRows, sets: Mapping[str, LabeledRows]) -> DataSize:
    """What memory is needed for; sparse tables with categories beside them, or on ranks, are held as dense ones are."""
    table, n_rows = sample.table, len(sample.y)
    stored = None
    if isinstance(table, SparseTable) and not problem.schema.categories and sample.ranks is None:
        stored = np.diff(table.start).astype(np.int64) * n_rows // table.n_rows
    return DataSize(n_rows, table.n_features, sum(len(one.y) for one in sets.values()), stored)


def join_recipes(
    outcome: TrainResult, earlier: Model | None, recipe: FeatureTransformer | None, schema: Schema
) -> tuple[TrainResult, FeatureTransformer | None]:
    """Leave out the columns that no tree uses; those of new trees come behind those of an earlier model."""
    if recipe is None:
        return outcome, None
    recipe = dataclasses.replace(recipe, columns=recipe.columns + outcome.columns)
    trees, n_old = outcome.ensemble, 0
    if earlier is not None and earlier.transformer is not None:
        n_old = earlier.ensemble.n_trees
        recipe, place = earlier.transformer.joined(recipe, schema.n_features)
        trees = trees.renumbered(place, n_old)
    recipe, place = recipe.keeping(trees.used(recipe.n_columns), schema.n_features)
    return dataclasses.replace(outcome, ensemble=trees.renumbered(place)), recipe


def _refit(problem: LearningTask, sample: LabeledRows, first: FitResult) -> FitResult:
    """Train on all rows for as many rounds as were best; the history stays that of the first training."""
    earlier = first.init.model
    n_rounds = first.outcome.best_iteration - (0 if earlier is None else earlier.n_iterations)
    params = _watched(problem.params, early_stopping_rounds=None, time_limit=None, callbacks=())
    if params.run.checkpoint is not None:
        params = dataclasses.replace(
            params, run=dataclasses.replace(params.run, checkpoint=params.run.checkpoint + REFIT)
        )
    params = dataclasses.replace(params, boost=dataclasses.replace(params.boost, n_estimators=n_rounds))
    try:
        second = _train(dataclasses.replace(problem, params=params), sample, {}, 0.0)
    except InterruptedBeforeFirstRound:
        second = None
    if second is None or second.outcome.stopped == INTERRUPTED:
        return dataclasses.replace(first, outcome=dataclasses.replace(first.outcome, stopped=INTERRUPTED))
    outcome = dataclasses.replace(
        first.outcome, ensemble=second.outcome.ensemble, base_scores=second.outcome.base_scores
    )
    return dataclasses.replace(second, outcome=outcome)


def _watched(params: Params, **changes: object) -> Params:
    watch: EvaluationParams = dataclasses.replace(params.evaluation, **changes)  # type: ignore[arg-type]
    return dataclasses.replace(params, evaluation=watch)
