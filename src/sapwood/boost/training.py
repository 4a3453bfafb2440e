"""Train on some rows: bin them, boost, translate the trees to the user's columns."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.boost.evaluation import EvalSet, Evaluation, eval_metrics
from sapwood.boost.initial_scores import FittedInit
from sapwood.boost.labeled_rows import LabeledRows, eval_set_in_errors
from sapwood.boost.learning_task import LearningTask
from sapwood.boost.memory import DataSize, check_memory
from sapwood.boost.prepare import prepare
from sapwood.boost.rounds import TrainResult, boost
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.sparse import SparseTable
from sapwood.model.model import Model
from sapwood.native.threads.team import training_team
from sapwood.params.declaration import Params

MIN_SECONDS = 1e-9


@dataclass(frozen=True, eq=False)
class Training:
    """A finished training on some rows: trees and history, fitted initial scores, number of rows.

    ``transformer`` turns category columns into features of the trees; ``encodings`` describes the encoding of each.
    """

    result: TrainResult
    init: FittedInit
    n_rows: int
    transformer: FeatureTransformer | None
    encodings: Mapping[str, Any]


def train_rows(task: LearningTask, rows: LabeledRows, sets: Mapping[str, LabeledRows], start_time: float) -> Training:
    """Bin the rows, boost, and translate the trees to the user's columns."""
    params = _with_remaining_time(task.params, start_time)
    team = training_team(params.run.n_jobs, len(rows.y), rows.table.n_features)
    check_memory(_data_size(task, rows, sets), task.objective, params, team.size)
    earlier = None if task.init.warm_start is None else task.init.warm_start.model
    known = None if earlier is None else earlier.transformer
    prepared = prepare(rows, task.schema, params, task.objective, known, team.run)
    rows, dataset = prepared.rows, prepared.dataset
    dataset = dataclasses.replace(dataset, workers=rows.workers)
    n_rows = dataset.workers.count_rows(dataset.n_rows)
    init = task.init.fit(rows, team.run)
    eval_sets = []
    for name, one in sets.items():
        with eval_set_in_errors(name):
            tiles, lists, values = prepared.tiles(one, team.run)
            eval_sets.append(EvalSet(name, tiles, one.target, init.scores(one), values, lists))
    metrics = eval_metrics(params.evaluation.eval_metric, task.objective, task.metric_task)
    evaluation = Evaluation(eval_sets, metrics, task.objective, dataset.workers)
    result = boost(dataset, rows.target, task.objective, params, init.initial_scores(rows), evaluation)
    result, transformer = join_transformers(result, earlier, dataset.transformer, task.schema)
    return Training(result, init, n_rows, transformer, prepared.encodings)


def join_transformers(
    result: TrainResult, earlier: Model | None, transformer: FeatureTransformer | None, schema: Schema
) -> tuple[TrainResult, FeatureTransformer | None]:
    """Drop the derived features that no tree uses; those of new trees follow those of an earlier model."""
    if transformer is None:
        return result, None
    transformer = dataclasses.replace(transformer, columns=transformer.columns + result.columns)
    trees = result.ensemble
    if earlier is not None and earlier.transformer is not None:
        transformer, place = earlier.transformer.join(transformer, schema.n_features)
        trees = trees.renumber_features(place, earlier.ensemble.n_trees)
    transformer, place = transformer.drop_unused(trees.used_features(transformer.n_columns), schema.n_features)
    return dataclasses.replace(result, ensemble=trees.renumber_features(place)), transformer


def _with_remaining_time(params: Params, start_time: float) -> Params:
    limit = params.evaluation.time_limit
    if limit is None:
        return params
    left = max(MIN_SECONDS, limit - (time.perf_counter() - start_time))
    return dataclasses.replace(params, evaluation=dataclasses.replace(params.evaluation, time_limit=left))


def _data_size(task: LearningTask, rows: LabeledRows, sets: Mapping[str, LabeledRows]) -> DataSize:
    """Return what memory depends on; sparse tables with categories, or on several workers, are binned as dense ones."""
    table, n_rows = rows.table, len(rows.y)
    stored = None
    if isinstance(table, SparseTable) and not task.schema.categorical_columns and rows.workers.is_local:
        stored = np.diff(table.start).astype(np.int64) * n_rows // table.n_rows
    return DataSize(n_rows, table.n_features, sum(len(one.y) for one in sets.values()), stored)
