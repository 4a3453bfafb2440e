"""Train on some rows: bin them, boost, and express the trees in the user's columns."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.boost.data_preparation import PreparedData, add_crosses, encoded_tables, prepare
from sapwood.boost.evaluation import (
    EvalMetric,
    EvalSet,
    Evaluation,
    Monitored,
    complete_metrics,
    eval_metrics,
    find_metric,
)
from sapwood.boost.initial_scores import FittedInit, InitialScores
from sapwood.boost.labeled_rows import LabeledRows, eval_set_in_errors
from sapwood.boost.learning_task import LearningTask
from sapwood.boost.memory import DataSize, check_memory
from sapwood.boost.missing_columns import columns_with_missing
from sapwood.boost.rounds import TrainResult, boost
from sapwood.boost.training_log import log_encodings
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.sparse import SparseTable
from sapwood.lazy_dataclass import dataclass
from sapwood.model.model import Model
from sapwood.native.runtime.kernel import Run
from sapwood.native.threads.team import training_team
from sapwood.params.declaration import REPLAY, Params
from sapwood.params.options import crosses_of, early_stopping_of

if TYPE_CHECKING:
    from sapwood.boost.cross_search import ChosenCrosses
    from sapwood.boost.out_of_bag import OutOfBagReport

MIN_SECONDS = 1e-9


@dataclass(frozen=True, eq=False)
class Training:
    """Result of training on some rows: trees and history, fitted initial scores, number of rows.

    ``transformer`` computes the features of the trees from categorical columns; ``encodings`` describes each encoding.
    ``eval_sizes`` are the numbers of rows of the validation sets, ``monitored`` names the metric of the best round.
    ``prepared`` are the binned rows, kept if the rounds are replayed.
    ``n_splittable`` is the number of features with two values or more, ``columns_with_missing`` the numeric columns
    that trees use and that have missing values (None: not known).
    ``decisions`` are the choices that were made by validation, ``crosses`` the outcome of the search for numeric
    crosses, ``out_of_bag`` the scores of rows that samples leave out.
    """

    result: TrainResult
    init: FittedInit
    n_rows: int
    transformer: FeatureTransformer | None
    encodings: Mapping[str, Any]
    eval_sizes: Mapping[str, int]
    monitored: str | None
    prepared: PreparedData | None = None
    n_splittable: int = 0
    columns_with_missing: list[int] | None = None
    crosses: ChosenCrosses | None = None
    decisions: tuple[Mapping[str, Any], ...] = ()
    out_of_bag: OutOfBagReport | None = None


@dataclass(frozen=True, eq=False)
class PreparedTraining:
    """Binned rows, initial scores and validation sets, ready to be boosted.

    ``eval_sizes``, ``monitored`` and ``crosses`` are those of the result.
    """

    task: LearningTask
    params: Params
    prepared: PreparedData
    init: FittedInit
    initial: InitialScores
    evaluation: Evaluation
    eval_sizes: Mapping[str, int]
    monitored: str | None
    crosses: ChosenCrosses | None

    @property
    def transformer(self) -> FeatureTransformer | None:
        """What computes the features of the trees, also those that no tree will use."""
        return self.prepared.dataset.transformer

    def train(self) -> Training:
        """Boost, and express the trees in the user's columns."""
        task, params, dataset, rows = self.task, self.params, self.prepared.dataset, self.prepared.rows
        result = boost(dataset, rows.target, task.objective, params, self.initial, self.evaluation)
        earlier = _earlier_model(task)
        n_earlier = 0 if earlier is None else earlier.ensemble.n_nodes
        used = np.flatnonzero(np.bincount(result.ensemble.feature[n_earlier:] + 1)) - 1  # np.unique imports numpy.ma
        missing = columns_with_missing(dataset, used)
        result, transformer = join_transformers(result, earlier, dataset.transformer, task.schema)
        return Training(
            result=result,
            init=self.init,
            n_rows=dataset.workers.count_rows(dataset.n_rows),
            transformer=transformer,
            encodings=self.prepared.encodings,
            eval_sizes=self.eval_sizes,
            monitored=self.monitored,
            prepared=self.prepared if params.evaluation.refit == REPLAY else None,
            n_splittable=int(np.count_nonzero(dataset.n_bins > 1)),
            columns_with_missing=missing,
            crosses=self.crosses,
            out_of_bag=_report_out_of_bag(task, rows, result),
        )


def train_rows(
    task: LearningTask,
    rows: LabeledRows,
    sets: Mapping[str, LabeledRows],
    start_time: float,
    monitored: str | None = None,
) -> Training:
    """Bin the rows, boost, and express the trees in the user's columns; for the arguments see ``prepare_training``."""
    return prepare_training(task, rows, sets, start_time, monitored).train()


def prepare_training(
    task: LearningTask,
    rows: LabeledRows,
    sets: Mapping[str, LabeledRows],
    start_time: float,
    monitored: str | None = None,
) -> PreparedTraining:
    """Bin the rows and compute initial scores.

    ``sets`` are the validation sets; that of the name ``monitored`` decides which round is best.
    """
    params = _with_remaining_time(task.params, start_time)
    team = training_team(params.run.n_jobs, len(rows.y), rows.table.n_features)
    check_memory(_data_size(task, rows, sets), task.objective, params, team.size)
    earlier = _earlier_model(task)
    earlier_transformer = task.known_categories if earlier is None else earlier.transformer
    prepared = prepare(rows, task.schema, params, task.objective, earlier_transformer, team.run)
    rows = prepared.rows
    log_encodings(prepared.encodings)
    init = task.init.fit(rows, team.run)
    initial = init.initial_scores(rows)
    prepared, crosses = with_crosses(task, prepared, initial, team.run)
    workers = rows.workers
    prepared = dataclasses.replace(prepared, dataset=dataclasses.replace(prepared.dataset, workers=workers))
    eval_sets = []
    for name, eval_rows in sets.items():
        with eval_set_in_errors(name):
            tiles, sparse_bins, raw_values = prepared.encode(eval_rows, team.run)
            scores, sums = init.scores(eval_rows), init.tree_sums(eval_rows)
            eval_sets.append(
                EvalSet(name, tiles, eval_rows.target, scores, raw_values, sparse_bins, tree_sums=sums)
            )  # fmt: skip
    metrics: tuple[EvalMetric, ...] = ()
    if eval_sets:
        metrics = eval_metrics(params.evaluation.eval_metric, task.objective, task.metric_task, task.classes)
        metrics = complete_metrics(metrics, task.objective, eval_sets[0], workers)
    watched = None
    if monitored is not None:
        stopping = early_stopping_of(params.evaluation.early_stopping_rounds)
        watched = Monitored(monitored, find_metric(metrics, None if stopping is None else stopping.metric))
    evaluation = Evaluation(eval_sets, metrics, task.objective, workers, watched)
    sizes = {name: workers.count_rows(len(eval_rows.y)) for name, eval_rows in sets.items()}
    monitored_metric = None if watched is None else str(watched)
    return PreparedTraining(task, params, prepared, init, initial, evaluation, sizes, monitored_metric, crosses)


def _earlier_model(task: LearningTask) -> Model | None:
    return None if task.init.warm_start is None else task.init.warm_start.model


def _report_out_of_bag(task: LearningTask, rows: LabeledRows, result: TrainResult) -> OutOfBagReport | None:
    if result.out_of_bag is None:
        return None
    from sapwood.boost.out_of_bag import report_out_of_bag

    function = task.params.evaluation.oob_score
    return report_out_of_bag(result.out_of_bag, rows, task.objective, task.classes, function)


def with_crosses(
    task: LearningTask, prepared: PreparedData, initial: InitialScores, run: Run
) -> tuple[PreparedData, ChosenCrosses | None]:
    """Add numeric crosses to prepared rows: those of an earlier training of the task, or those that a search finds."""
    option = crosses_of(task.params.binning.numeric_crosses)
    if option is None:
        return prepared, None
    from sapwood.boost.cross_search import make_crosses, search_crosses

    chosen = task.crosses or search_crosses(prepared, task.objective, option, initial, run)
    if not chosen.specs:
        return dataclasses.replace(prepared, encoded=None), chosen
    crosses = make_crosses(chosen.specs, encoded_tables(prepared), run)
    return add_crosses(prepared, crosses, run), chosen


def join_transformers(
    result: TrainResult, earlier: Model | None, transformer: FeatureTransformer | None, schema: Schema
) -> tuple[TrainResult, FeatureTransformer | None]:
    """Append the derived features of new trees to those of an earlier model, and drop those that no tree uses."""
    if transformer is None:  # the columns of the user's table, which come first in every transformer
        return result, None if earlier is None else earlier.transformer
    transformer = dataclasses.replace(transformer, columns=transformer.columns + result.columns)
    trees = result.ensemble
    if earlier is not None and earlier.transformer is not None:
        transformer, numbers = earlier.transformer.join(transformer, schema.n_features)
        trees = trees.renumber_features(numbers, earlier.ensemble.n_trees)
    transformer, numbers = transformer.drop_unused(trees.used_features(transformer.n_columns), schema.n_features)
    return dataclasses.replace(result, ensemble=trees.renumber_features(numbers)), transformer


def _with_remaining_time(params: Params, start_time: float) -> Params:
    limit = params.evaluation.time_limit
    if limit is None:
        return params
    remaining = max(MIN_SECONDS, limit - (time.perf_counter() - start_time))
    return dataclasses.replace(params, evaluation=dataclasses.replace(params.evaluation, time_limit=remaining))


def _data_size(task: LearningTask, rows: LabeledRows, sets: Mapping[str, LabeledRows]) -> DataSize:
    """Return the sizes that memory depends on.

    Sparse tables with categories or numeric crosses, of several workers, or searched exactly count as dense.
    """
    table, n_rows = rows.table, len(rows.y)
    stored, is_exact = None, task.params.tree.split_search == "exact"
    has_crosses = crosses_of(task.params.binning.numeric_crosses) is not None
    becomes_dense = bool(task.schema.categorical_columns) or has_crosses or is_exact or not rows.workers.is_local
    if isinstance(table, SparseTable) and not becomes_dense:
        stored = np.diff(table.start).astype(np.int64) * n_rows // table.n_rows
    return DataSize(n_rows, table.n_features, sum(len(eval_rows.y) for eval_rows in sets.values()), stored)
