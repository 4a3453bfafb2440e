"""Train a forest: bin the rows as boosting does, sample rows for each tree, grow trees in parallel, and average."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from sapwood.boost.compatibility_context import fit_context
from sapwood.boost.data_preparation import prepare
from sapwood.boost.early_stopping import ALL_ROUNDS
from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.initial_scores import FittedInit, InitialScores
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.learning_task import LearningTask, read_task
from sapwood.boost.missing_columns import columns_with_missing
from sapwood.boost.only_class import only_class_model, train_constant
from sapwood.boost.out_of_bag import OutOfBag, OutOfBagReport, report_out_of_bag
from sapwood.boost.rounds import TrainResult
from sapwood.boost.sampling import Sampler, SamplingContext, make_sampler
from sapwood.boost.train import FitResult
from sapwood.boost.trained_model import make_model
from sapwood.boost.training_pipeline import Training, join_transformers
from sapwood.classic.node_limits import feature_count, row_count
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.forest import MAX_DRAWS, ForestGrower, ForestTarget, ForestTree, TreeSample
from sapwood.grow.grown_tree import FittedTree, GrownTree
from sapwood.kernels.grow.forest_tree import ForestParams
from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.lazy_dataclass import dataclass
from sapwood.native.threads.team import Team, current_team
from sapwood.params.compatibility import check_compatibility

UNLIMITED = 1 << 30


@dataclass(frozen=True)
class ForestSettings:
    """Limits of the trees, as numbers or as scikit-learn's fractions and names."""

    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    max_features: Any
    min_weight_fraction_leaf: float
    random_thresholds: bool

    def params(
        self, seed: int, n_outputs: int, n_rows: int, n_features: int, total_weight: float
    ) -> ForestParams:  # fmt: skip
        """Return the limits for a table; ``total_weight`` is that of all rows in units of integer weights."""
        return ForestParams(
            seed=seed,
            n_outputs=n_outputs,
            max_depth=UNLIMITED if self.max_depth is None else self.max_depth,
            min_samples_split=row_count("min_samples_split", self.min_samples_split, n_rows, 2),
            min_samples_leaf=row_count("min_samples_leaf", self.min_samples_leaf, n_rows, 1),
            min_weight_leaf=max(1, math.ceil(self.min_weight_fraction_leaf * total_weight)),
            max_features=feature_count(self.max_features, n_features),
            random_thresholds=int(self.random_thresholds),
        )


def train_forest(arguments: FitArguments, settings: ForestSettings) -> FitResult:
    """Train a forest with the parameters of ``boosting="forest"`` and the limits of ``settings``."""
    task, rows = read_task(arguments)
    check_compatibility(fit_context(task, rows, arguments))
    task = _with_drawn_features(task, settings, rows.table.n_features)
    if task.only_class is not None:
        training = dataclasses.replace(train_constant(task, rows), out_of_bag=_unknown_out_of_bag(task, rows))
        model = only_class_model(make_model(task, training))
    else:
        training = _train_rows(task, rows if rows.weight is None else rows.take(rows.weight > 0.0), settings)
        model = make_model(task, training)
    return FitResult(
        model=model,
        init_estimator=None,
        evals_result={},
        best_iteration=model.n_iterations,
        best_score=None,
        stopped=training.result.stopped,
        n_features=rows.table.n_features,
        feature_names=rows.table.names if rows.table.has_string_names else None,
        on_interrupt=task.params.run.on_interrupt,
        params=task.user_params.values(),
        out_of_bag=training.out_of_bag,
    )


def _with_drawn_features(task: LearningTask, settings: ForestSettings, n_features: int) -> LearningTask:
    """Return the task with the fraction of features that a node draws, which ``params_`` and the model show."""
    fraction = feature_count(settings.max_features, n_features) / n_features
    tree = dataclasses.replace(task.params.tree, colsample_bynode=fraction)
    return dataclasses.replace(task, params=dataclasses.replace(task.params, tree=tree))


def _train_rows(task: LearningTask, rows: LabeledRows, settings: ForestSettings) -> Training:
    """Bin the rows and grow the trees; a forest that is continued comes first."""
    params, earlier = task.params, None if task.init.warm_start is None else task.init.warm_start.model
    work = len(rows.y) * rows.table.n_features * params.boost.n_estimators
    team = current_team(params.run.n_jobs, work)
    prepared = prepare(
        rows, task.schema, params, task.objective, None if earlier is None else earlier.transformer, team.run
    )  # fmt: skip
    rows, dataset = prepared.rows, _dense(prepared.dataset, prepared.rows, team)
    init = task.init.fit(rows, team.run)
    initial = init.initial_scores(rows)
    sampler = _make_sampler(task, dataset, rows, team)
    grower = _make_grower(task, dataset, rows, init, settings, team)
    trees = list(_grow_trees(task, grower, rows, initial.n_rounds, sampler, team))
    ensemble = initial.concatenate(grower.join(trees).averaged())
    result = TrainResult(ensemble, initial.base_scores, ensemble.n_rounds, stopped=ALL_ROUNDS)
    used = np.flatnonzero(np.bincount(result.ensemble.feature + 1)[1:])
    missing = columns_with_missing(dataset, used)
    result, transformer = join_transformers(result, earlier, dataset.transformer, task.schema)
    out_of_bag = None
    if params.evaluation.oob_score is not False and sampler is not None:
        fitted = [_fitted(grower.grown(tree)) for tree in trees]
        out_of_bag = _score_out_of_bag(task, dataset, rows, sampler, fitted, initial)
    return Training(
        result, init, dataset.n_rows, transformer, prepared.encodings, {}, None,
        columns_with_missing=missing, out_of_bag=out_of_bag,
    )  # fmt: skip


def _dense(dataset: BinnedDataset, rows: LabeledRows, team: Team) -> BinnedDataset:
    """Return the dataset with the bins of all columns, also of those that are stored as sparse bins."""
    if dataset.sparse_bins is None:
        return dataset
    mapper = BinMapper(dataset.bin_mapper.schema, dataset.bin_mapper.edges)
    tiles, columns = mapper.encode(rows.selected_table, team.run)
    return dataclasses.replace(dataset, bin_mapper=mapper, tiles=tiles, columns=columns, sparse_bins=None)


def _make_sampler(task: LearningTask, dataset: BinnedDataset, rows: LabeledRows, team: Team) -> Sampler | None:
    seed = task.params.run.random_state
    context = SamplingContext(dataset.kept_row_ids, rows.target, task.objective.task, seed, team)
    return make_sampler(task.params.boost, context)


def _make_grower(
    task: LearningTask,
    dataset: BinnedDataset,
    rows: LabeledRows,
    init: FittedInit,
    settings: ForestSettings,
    team: Team,
) -> ForestGrower:
    boost, seed = task.params.boost, task.params.run.random_state
    target = _forest_target(rows, init.base_scores, task.classes is not None)
    weight = float(dataset.n_rows) if rows.weight is None else fixed_sum(rows.weight, None, team.run)
    total_weight = boost.subsample * weight * target.weight_scale()
    limits = settings.params(seed, target.n_outputs, dataset.n_rows, dataset.n_features, total_weight)
    return ForestGrower(dataset, target, limits, team)


def _grow_trees(
    task: LearningTask, grower: ForestGrower, rows: LabeledRows, first: int, sampler: Sampler | None, team: Team
) -> Iterator[ForestTree]:
    """Yield the trees from number ``first`` on; each depends on its number alone, so that any team grows the same."""
    last = first + task.params.boost.n_estimators
    for number in range(first, last, team.size):
        yield from grower.grow([_draw(k, rows, sampler) for k in range(number, min(number + team.size, last))])


def _fitted(grown: GrownTree) -> FittedTree:
    return FittedTree(grown, np.ascontiguousarray(grown.value), 0)


def _forest_target(rows: LabeledRows, base: np.ndarray, has_classes: bool) -> ForestTarget:
    """Return the residuals of one output, in units of its score, or the codes of classes."""
    max_weight = None if rows.weight is None else float(rows.weight.max()) * MAX_DRAWS
    if len(base) > 1:
        return ForestTarget(rows.y, len(base), base, max_weight)
    scores = 2.0 * rows.y - 1.0 if has_classes else rows.y
    return ForestTarget(scores - base[0], 1, base, max_weight)


def _draw(number: int, rows: LabeledRows, sampler: Sampler | None) -> TreeSample:
    """Return the rows of a tree, copied from the buffers of the sampler."""
    if sampler is None:
        weight = np.empty(0) if rows.weight is None else rows.weight
        return TreeSample(number, np.arange(len(rows.y), dtype=np.uint32), weight)
    sampled = sampler.draw(np.empty((0, 0, 2), np.float32), number)
    assert sampled.rows is not None
    weight = sampled.weight
    weight = weight[sampled.rows] if sampled.sampled_weights is None and len(weight) else weight
    return TreeSample(number, sampled.rows.copy(), weight.copy())


def _unknown_out_of_bag(task: LearningTask, rows: LabeledRows) -> OutOfBagReport | None:
    """Return the out-of-bag results of a model without trees: NaN; None if they are not asked for."""
    if task.params.evaluation.oob_score is False:
        return None
    assert task.classes is not None
    return OutOfBagReport(math.nan, np.full((rows.table.n_rows, len(task.classes)), math.nan))


def _score_out_of_bag(
    task: LearningTask,
    dataset: BinnedDataset,
    rows: LabeledRows,
    sampler: Sampler,
    trees: list[FittedTree],
    initial: InitialScores,
) -> OutOfBagReport:
    """Return the out-of-bag predictions of the trees."""
    out_of_bag = OutOfBag(dataset, rows.target, task.objective, task.params.boost, sampler, initial.n_rounds)
    found = out_of_bag.results([[tree] for tree in trees], initial.make_scores(dataset.n_rows))
    return report_out_of_bag(found, rows, task.objective, task.classes, task.params.evaluation.oob_score)
