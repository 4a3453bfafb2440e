"""The boosting rounds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from sapwood.boost.boosters.plain import Booster, DatasetView
from sapwood.boost.checkpoint.checkpoint import Checkpoint
from sapwood.boost.early_stopping import ALL_ROUNDS, CALLBACK, EARLY_STOPPING, INTERRUPTED, TIME_LIMIT, BestRound
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.interrupt import InterruptedBeforeFirstRound, Interruption
from sapwood.boost.progress import Progress, describe
from sapwood.boost.progress_display import make_display
from sapwood.boost.sampling.base import SampledRows, sample_number
from sapwood.boost.score_update import find_nodes
from sapwood.boost.split_noise import split_noise_scale
from sapwood.boost.target import Target
from sapwood.boost.training_context import TrainingContext, make_booster
from sapwood.boost.training_log import describe_precision, describe_threads
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.categories.derived_feature import DerivedFeature
from sapwood.errors import TrainingError
from sapwood.grow.grown_tree import FittedTree, GrownTree
from sapwood.lazy_dataclass import dataclass
from sapwood.log import DEBUG, logger
from sapwood.model.ensemble import Ensemble
from sapwood.native.threads.team import training_team
from sapwood.objectives.base import Objective
from sapwood.params.declaration import Params
from sapwood.params.options import EarlyStopping, early_stopping_of

if TYPE_CHECKING:
    from sapwood.boost.out_of_bag import OutOfBagScores


@dataclass(frozen=True, eq=False)
class TrainResult:
    """Result of boosting: trees, the constants that they are added to, and the history of training.

    ``best_iteration`` is a number of rounds, with those of a continued model; ``best_score`` is None without validation
    sets; ``stopped`` is the reason for which training ended; ``restored_seconds`` is the training time of the rounds
    restored from a checkpoint. ``columns`` are the indicator features of sets of categories that trees split by; they
    follow the features of the dataset. ``rounds`` are the trees in bins, kept for ``refit="replay"`` and ``oob_score``.
    """

    ensemble: Ensemble
    base_scores: np.ndarray
    best_iteration: int
    best_score: float | None = None
    stopped: str = "n_estimators"
    evals: Mapping[str, Mapping[str, list[float]]] = field(default_factory=dict)
    restored_seconds: float = 0.0
    columns: tuple[DerivedFeature, ...] = ()
    rounds: tuple[Sequence[FittedTree], ...] = ()
    out_of_bag: OutOfBagScores | None = None


def boost(
    dataset: BinnedDataset,
    target: Target,
    objective: Objective,
    params: Params,
    initial: InitialScores | None = None,
    evaluation: Evaluation | None = None,
) -> TrainResult:
    """Add ``n_estimators`` rounds of trees to the initial scores, each fitted to the gradients left by those before.

    Training may end earlier (``params.evaluation``). With early stopping, the trees up to the best round are returned.
    """
    team = training_team(params.run.n_jobs, dataset.n_rows, dataset.n_features)
    if initial is None:
        initial = InitialScores(objective.initial_scores(target.y, target.weight, team.run))
    if evaluation is None:
        evaluation = Evaluation((), (), objective)
    context = TrainingContext.make(dataset, target, objective, params, initial)
    booster = make_booster(context, evaluation)
    with Checkpoint.open(dataset, target, params, initial, evaluation) as checkpoint:
        size = f"{dataset.n_rows} rows, {dataset.n_features} features, {objective.n_outputs} output(s)"
        threads = describe_threads(team.size, dataset.n_rows, dataset.n_features)
        begins = f"{size}, objective {objective.name}, {params.boost.n_estimators} rounds, {threads}"
        logger.info("training begins: %s, %s", begins, describe_precision(params, dataset.n_rows))
        n_done, best, stopped = run_rounds(context, booster, evaluation, checkpoint)
        logger.info("training ended after %d rounds: %s", n_done, stopped)
        if best.score is not None:
            logger.info("%s was best after round %d: %g", evaluation.monitored, best.round, best.score)
    n_kept = best.round if best.patience is not None and best.score is not None else n_done
    return TrainResult(
        ensemble=initial.concatenate(booster.build(n_kept)),
        base_scores=initial.base_scores,
        best_iteration=initial.n_rounds + (n_done if best.score is None else best.round),
        best_score=best.score,
        stopped=stopped,
        out_of_bag=_out_of_bag_scores(context, initial, n_kept),
        evals=evaluation.history,
        restored_seconds=checkpoint.state.elapsed,
        columns=tuple(context.assembler.columns),
        rounds=tuple(context.kept_rounds or ())[:n_kept],
    )


def _out_of_bag_scores(context: TrainingContext, initial: InitialScores, n_rounds: int) -> OutOfBagScores | None:
    if context.out_of_bag is None:
        return None
    kept = (context.kept_rounds or [])[:n_rounds]
    return context.out_of_bag.results(kept, initial.make_scores(context.dataset.n_rows))


def run_rounds(
    context: TrainingContext, booster: Booster, evaluation: Evaluation, checkpoint: Checkpoint
) -> tuple[int, BestRound, str]:  # fmt: skip
    """Train rounds until there is a reason to stop; return the number of rounds, the best one and the reason."""
    settings, n_rounds = context.params.evaluation, context.params.boost.n_estimators
    best = _best_round(evaluation, early_stopping_of(settings.early_stopping_rounds))
    n_done = restore_rounds(context, booster, evaluation, best, checkpoint)
    if context.kept_rounds is not None:
        context.kept_rounds.extend(checkpoint.state.rounds)
    reason = checkpoint.state.reason_to_stop(settings.time_limit)
    if settings.time_limit is not None:  # workers have measured different times
        reason = context.dataset.workers.broadcast_text(reason)
    start_time = time.perf_counter() - checkpoint.state.elapsed
    with Interruption() as interruption, make_display(settings.verbose) as display:
        while reason is None:
            if not add_round(context, booster, checkpoint, n_done, interruption):
                checkpoint.write(evaluation, time.perf_counter() - start_time)
                return n_done, best, INTERRUPTED
            evaluation.evaluate_round(context.team.run)
            if context.out_of_bag is not None:
                context.out_of_bag.record_round(n_done, context.scores)
            n_done += 1
            _update_best(best, evaluation, n_done)
            history = evaluation.copy_history() if settings.callbacks else evaluation.history
            progress = Progress(n_done, n_rounds, history, time.perf_counter() - start_time)
            display.show(progress)
            if logger.isEnabledFor(DEBUG):
                logger.debug("%s", describe(progress))
            reason = _reason_to_stop(context, best, progress, interruption)
            reason = context.dataset.workers.broadcast_text(reason)
            checkpoint.end_round(evaluation, context.scores, progress.elapsed, reason)
        if best.patience is not None or reason != ALL_ROUNDS:
            display.end(_describe_end(n_done, best, reason, evaluation))
    return n_done, best, reason


def restore_rounds(
    context: TrainingContext, booster: Booster, evaluation: Evaluation, best: BestRound, checkpoint: Checkpoint
) -> int:
    """Add the rounds of a checkpoint to the model, the scores and the history; return their number.

    Scores are updated only if training is resumed, or if the rows that samples leave out are scored.
    """
    state, out_of_bag = checkpoint.state, context.out_of_bag
    booster.updates_scores = state.stopped is None or out_of_bag is not None
    if out_of_bag is not None:
        out_of_bag.begin(context.scores)
    for round, trees in enumerate(state.rounds):
        booster.begin_round(round)
        for tree in trees:
            booster.add_tree(tree, round)
        booster.end_round(round)
        if out_of_bag is not None:
            out_of_bag.record_round(round, context.scores)
    if state.stopped is None:
        checkpoint.check_scores(booster.state.scores)
    for values in state.history:
        evaluation.restore(values)
    for n_done in range(1, len(state.rounds) + 1):
        _update_best(best, evaluation, n_done)
    return len(state.rounds)


def _best_round(evaluation: Evaluation, stopping: EarlyStopping | None) -> BestRound:
    """Return the best round before the first one; training stops early if a metric is monitored."""
    monitored = evaluation.monitored
    if monitored is None:
        return BestRound(False)
    if stopping is None:
        return BestRound(monitored.metric.greater_is_better)
    logger.info("early stopping watches %s for %d rounds", monitored, stopping.rounds)
    return BestRound(
        monitored.metric.greater_is_better, stopping.rounds, stopping.min_delta, stopping.min_relative_delta
    )


def _describe_end(n_done: int, best: BestRound, reason: str, evaluation: Evaluation) -> str:
    """Return in words after how many rounds and why training ended, and the best round."""
    ended = f"ended after {n_done} rounds ({reason.replace('_', ' ')})"
    if best.score is None:
        return ended
    return f"{ended}; best round {best.round}: {evaluation.monitored} {best.score:.6g}"


def _update_best(best: BestRound, evaluation: Evaluation, n_done: int) -> None:
    if (value := evaluation.monitored_value(n_done)) is not None:
        best.update(n_done, value, str(evaluation.monitored))


def _reason_to_stop(
    context: TrainingContext, best: BestRound, progress: Progress, interruption: Interruption
) -> str | None:
    settings = context.params.evaluation
    if settings.callbacks:
        returned = [callback(progress) for callback in settings.callbacks]
        if any(isinstance(value, bool | np.bool_) and value for value in returned):
            return CALLBACK
    if progress.round == progress.n_rounds:
        return ALL_ROUNDS
    if best.should_stop(progress.round):
        return EARLY_STOPPING
    if settings.time_limit is not None and progress.elapsed >= settings.time_limit:
        return TIME_LIMIT
    return INTERRUPTED if interruption.is_requested else None


def add_round(
    context: TrainingContext, booster: Booster, checkpoint: Checkpoint, round: int, interruption: Interruption
) -> bool:  # fmt: skip
    """Grow the trees of a round; return whether it is complete, false if Ctrl-C was pressed before."""
    view = booster.state.view_of(round)
    context.team.take_free_cores()
    booster.begin_round(round)
    if context.leaf_refit is not None:
        context.leaf_refit.begin_round(context.params.boost.tree_rate_of(round))
    context.grower.set_dataset(view.dataset)
    booster.compute_pairs(round, context.pairs)
    if context.params.boost.parallel_trees > 1 and context.quantile_leaves is not None:
        view = view._replace(scores=view.scores.copy())  # residuals are those before the first tree of the round
    trees: list[FittedTree] = []
    for copy in range(context.params.boost.parallel_trees):
        sampled = draw_rows(context, round, copy)
        for output in range(0, context.objective.n_outputs, context.builder.width):
            if interruption.is_requested and (trees or round == 0):
                if round == 0:
                    raise InterruptedBeforeFirstRound
                return False
            scored = booster.scored_pairs(context.tree_pairs[output // context.builder.width], round, output)
            tree = _grow_tree(context, view, sampled, scored, (round, copy), output)
            checkpoint.add_tree(tree)
            booster.add_tree(tree, round, sampled.rows is None)
            trees.append(tree)
    booster.end_round(round)
    if context.kept_rounds is not None:
        context.kept_rounds.append([tree.without_rows() for tree in trees])
    return True


def draw_rows(context: TrainingContext, round: int, copy: int) -> SampledRows:
    """Return the rows that the trees of a round are grown on; ``copy`` counts the parallel trees of an output."""
    if context.sampler is None:
        return context.all_rows
    context.dataset.workers.begin("sampling")
    return context.sampler.draw(context.pairs, sample_number(context.first_round + round, copy))


def _grow_tree(
    context: TrainingContext,
    view: DatasetView,
    sampled: SampledRows,
    scored: np.ndarray,
    place: tuple[int, int],
    output: int,
) -> FittedTree:
    """Grow the tree of an output on sampled rows and compute its leaf values; ``place`` is its round and copy.

    ``scored`` are the pairs that splits are scored by, those of the outputs first.
    """
    grower, team, n_outputs, boost = context.grower, context.team, context.objective.n_outputs, context.params.boost
    round, copy = place
    pairs = context.tree_pairs[output // context.builder.width]
    number = sample_number(context.first_round + round, copy)
    rate, rounds = boost.tree_rate_of(round), (round, context.first_round)
    grower.split_noise = split_noise_scale(context.params, pairs, sampled, rounds, team.run, context.dataset.workers)
    grown = grower.grow(scored, sampled.weight, number * n_outputs + output, sampled.rows, n_outputs)
    nodes = None
    if context.leaf_refit is not None:
        is_grown_on = sampled.rows is None and view.dataset is context.dataset
        nodes = find_nodes(context.dataset, grown, team, is_grown_on)
        grown, value = context.leaf_refit.refit(grown, nodes, output)
    else:
        value = _node_values(context, grown, output, sampled, view.scores, rate)
    check_values(value, context, rate)
    if context.linear_leaves is not None:
        leaves, scale = context.linear_leaves.on(view.dataset), grower.scales.exact[0]
        grown = leaves.fitted(grown, scale, grower.grow_params(), pairs[0], sampled.weight_by_row, rate)
    return FittedTree(grown, value, output, nodes)


def _node_values(
    context: TrainingContext, grown: GrownTree, output: int, sampled: SampledRows, scores: np.ndarray, rate: float
) -> np.ndarray:
    """Return the values of the nodes of a new tree, with shrinkage; ``scores`` are those it was grown on."""
    value = grown.value
    if context.quantile_leaves is not None:
        leaves = context.quantile_leaves
        if len(sampled.weight) and sampled.weight is not context.target.weight:
            leaves = leaves.with_weights(sampled.weight_by_row)
        value = leaves.values(grown, scores[output], output, context.team.run)
    if rate <= 1.0:
        return value * rate
    with np.errstate(over="ignore"):
        return value * rate


def check_values(value: np.ndarray, context: TrainingContext, rate: float) -> None:
    """Raise a TrainingError if a leaf value of a new tree is not finite."""
    if not np.isfinite(value).all():
        raise TrainingError(
            f"a leaf value of tree {len(context.builder) + 1} is not finite in float64: lower learning_rate={rate:g}, "
            "raise reg_lambda, or rescale the target"
        )
