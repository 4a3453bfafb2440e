"""The rounds of boosting."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from logging import DEBUG

import numpy as np

from sapwood.boost.boosters.plain import Booster
from sapwood.boost.checkpoint.checkpoint import Checkpoint
from sapwood.boost.context import TrainingContext, make_booster
from sapwood.boost.early_stopping import ALL_ROUNDS, CALLBACK, EARLY_STOPPING, INTERRUPTED, TIME_LIMIT, BestRound
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.interrupt import InterruptedBeforeFirstRound, Interruption
from sapwood.boost.progress import Progress, ProgressBar, describe
from sapwood.boost.sampling.base import SampledRows
from sapwood.boost.score_update import find_nodes
from sapwood.boost.split_noise import noise_of
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.categories.transformer import DerivedFeature
from sapwood.errors import TrainingError
from sapwood.grow.grown_tree import FittedTree, GrownTree
from sapwood.log import logger
from sapwood.model.ensemble import Ensemble
from sapwood.native.threads.team import training_team
from sapwood.objectives.base import Objective
from sapwood.params.declaration import Params


@dataclass(frozen=True, eq=False)
class TrainResult:
    """What training brings: trees, the constants they start from, and how it went.

    ``best_iteration`` counts rounds, those of an earlier model included; ``best_score`` is None without validation
    rows; ``stopped`` says why training ended; ``restored_seconds`` are the seconds of training that a checkpoint saved.
    ``columns`` are made of categories for the trees, behind those of the dataset.
    """

    ensemble: Ensemble
    base_scores: np.ndarray
    best_iteration: int
    best_score: float | None = None
    stopped: str = "n_estimators"
    evals: Mapping[str, Mapping[str, list[float]]] = field(default_factory=dict)
    restored_seconds: float = 0.0
    columns: tuple[DerivedFeature, ...] = ()


def boost(
    dataset: BinnedDataset,
    target: Target,
    objective: Objective,
    params: Params,
    start: InitialScores | None = None,
    evaluation: Evaluation | None = None,
) -> TrainResult:
    """Add ``n_estimators`` rounds of trees to the start, each fitted to the gradients left by those before.

    Training may end sooner (``params.watch``). With early stopping the trees are those of the best round, else all.
    """
    team = training_team(params.run.n_jobs, dataset.n_rows, dataset.n_features)
    if start is None:
        start = InitialScores(objective.initial_scores(target.y, target.weight, team.run))
    if evaluation is None:
        evaluation = Evaluation((), (), objective)
    work = TrainingContext.make(dataset, target, objective, params, start)
    boosting = make_booster(work, evaluation)
    with Checkpoint.open(dataset, target, params, start, evaluation) as checkpoint:
        size = f"{dataset.n_rows} rows, {dataset.n_features} features, {objective.n_outputs} output(s)"
        logger.info("training begins: %s, objective %s, %d thread(s)", size, objective.name, team.size)
        done, best, stopped = run_rounds(work, boosting, evaluation, checkpoint)
        logger.info("training ended after %d rounds: %s", done, stopped)
    kept = best.round if best.patience is not None and best.score is not None else done
    return TrainResult(
        ensemble=start.joined(boosting.build(kept)),
        base_scores=start.base_scores,
        best_iteration=start.n_rounds + (done if best.score is None else best.round),
        best_score=best.score,
        stopped=stopped,
        evals=evaluation.history,
        restored_seconds=checkpoint.state.elapsed,
        columns=tuple(work.assembler.columns),
    )


def run_rounds(
    work: TrainingContext, boosting: Booster, evaluation: Evaluation, checkpoint: Checkpoint
) -> tuple[int, BestRound, str]:  # fmt: skip
    """Add rounds until there is a reason to stop; return how many, the best one, and the reason."""
    watch, n_rounds = work.params.evaluation, work.params.boost.n_estimators
    greater = bool(evaluation.metrics) and evaluation.metrics[0].greater_is_better
    best = BestRound(greater, watch.early_stopping_rounds if evaluation.sets else None)
    done = repeat_rounds(boosting, evaluation, best, checkpoint)
    reason = checkpoint.state.reason_to_stop(watch.time_limit)
    began = time.perf_counter() - checkpoint.state.elapsed
    with Interruption() as interruption, ProgressBar(bool(watch.verbose)) as bar:
        while reason is None:
            if not add_round(work, boosting, checkpoint, done, interruption):
                checkpoint.write(evaluation, time.perf_counter() - began)
                return done, best, INTERRUPTED
            evaluation.measure(work.team.run)
            done += 1
            if (decided := evaluation.deciding(done)) is not None:
                best.update(done, decided[1], decided[0])
            history = evaluation.seen() if watch.callbacks else evaluation.history
            progress = Progress(done, n_rounds, history, time.perf_counter() - began)
            bar.show(progress)
            if logger.isEnabledFor(DEBUG):
                logger.debug("%s", describe(progress))
            reason = _reason_to_stop(work, best, progress, interruption)
            reason = work.dataset.workers.broadcast_text(reason)
            checkpoint.end_round(evaluation, work.scores, progress.elapsed, reason)
    return done, best, reason


def repeat_rounds(boosting: Booster, evaluation: Evaluation, best: BestRound, checkpoint: Checkpoint) -> int:
    """Add the trees of a checkpoint as if they were new, to the same scores; return how many rounds they are."""
    past = checkpoint.state
    boosting.is_live = past.stopped is None
    for round, trees in enumerate(past.rounds):
        boosting.begin_round(round)
        for tree in trees:
            boosting.add_tree(tree, round)
        boosting.end_round(round)
    if past.stopped is None:
        checkpoint.check_scores(boosting.field.scores)
    for values in past.history:
        evaluation.remember(values)
    for done in range(1, len(past.rounds) + 1):
        if (decided := evaluation.deciding(done)) is not None:
            best.update(done, decided[1], decided[0])
    return len(past.rounds)


def _reason_to_stop(
    work: TrainingContext, best: BestRound, progress: Progress, interruption: Interruption
) -> str | None:
    watch = work.params.evaluation
    if watch.callbacks:
        answers = [callback(progress) for callback in watch.callbacks]
        if any(isinstance(answer, bool | np.bool_) and answer for answer in answers):
            return CALLBACK
    if progress.round == progress.n_rounds:
        return ALL_ROUNDS
    if best.should_stop(progress.round):
        return EARLY_STOPPING
    if watch.time_limit is not None and progress.elapsed >= watch.time_limit:
        return TIME_LIMIT
    return INTERRUPTED if interruption.is_requested else None


def add_round(
    work: TrainingContext, boosting: Booster, checkpoint: Checkpoint, round: int, interruption: Interruption
) -> bool:  # fmt: skip
    """Grow the trees of a round; tell whether all of them are there, or Ctrl-C came before."""
    number, n_outputs, width = work.first_round + round, work.objective.n_outputs, work.builder.width
    view = boosting.field.view(round)
    boosting.begin_round(round)
    if work.leaf_refit is not None:
        work.leaf_refit.begin_round()
    work.grower.see(view.dataset)
    boosting.take_pairs(round, work.pairs)
    drawn = _drawn(work, number)
    for output, pairs in zip(range(0, n_outputs, width), work.tree_pairs, strict=True):
        if interruption.is_requested and (output > 0 or round == 0):
            if round == 0:
                raise InterruptedBeforeFirstRound
            return False
        work.grower.noise = noise_of(work.params, pairs, drawn, number, work.team.run, work.dataset.workers)
        grown = work.grower.grow(pairs, drawn.weight, number * n_outputs + output, drawn.rows, n_outputs)
        nodes = None
        if work.leaf_refit is not None:
            is_own = drawn.rows is None and view.dataset is work.dataset
            nodes = find_nodes(work.dataset, grown, work.team, is_own)
            grown, value = work.leaf_refit.refit(grown, nodes, output)
        else:
            value = _values(work, grown, output, drawn, view.scores)
        _check_values(value, work)
        if work.linear is not None:
            grown = work.linear.on(view.dataset).fitted(grown, work.grower, pairs[0], drawn.weight_by_row)
        tree = FittedTree(grown, value, output, nodes)
        checkpoint.add_tree(tree)
        boosting.add_tree(tree, round, drawn.rows is None)
    boosting.end_round(round)
    return True


def _drawn(work: TrainingContext, round: int) -> SampledRows:
    """The rows that the trees of a round are grown on, and their weights."""
    if work.sampler is not None:
        return work.sampler.draw(work.pairs, round)
    return work.everyone


def _values(work: TrainingContext, grown: GrownTree, output: int, drawn: SampledRows, scores: np.ndarray) -> np.ndarray:
    """What the nodes of a new tree answer, shrinkage included; ``scores`` are those that it was grown on."""
    value, rate = grown.value, work.params.boost.learning_rate
    if work.quantile_leaves is not None:
        renewal = work.quantile_leaves
        if len(drawn.weight) and drawn.weight is not work.target.weight:
            renewal = renewal.drawn(drawn.weight_by_row)
        value = renewal.values(grown, scores[output], output, work.team.run)
    if rate <= 1.0:
        return value * rate
    with np.errstate(over="ignore"):
        return value * rate


def _check_values(value: np.ndarray, work: TrainingContext) -> None:
    if not np.isfinite(value).all():
        rate = work.params.boost.learning_rate
        raise TrainingError(
            f"a leaf value of tree {len(work.builder) + 1} is beyond float64: lower learning_rate={rate:g}, raise "
            "reg_lambda, or rescale the target"
        )
