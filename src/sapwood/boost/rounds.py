"""The rounds of boosting."""

from __future__ import annotations

import time
from dataclasses import dataclass
from logging import DEBUG

import numpy as np

from sapwood.boost.assemble import TreeAssembler
from sapwood.boost.boosters.dart import DartBooster
from sapwood.boost.boosters.forest import ForestBooster
from sapwood.boost.boosters.ordered import OrderedBooster
from sapwood.boost.boosters.plain import Booster, DatasetView, TrainingState
from sapwood.boost.category_sets import CategorySets
from sapwood.boost.checkpoint.checkpoint import Checkpoint, FittedTree
from sapwood.boost.early_stopping import ALL_ROUNDS, CALLBACK, EARLY, INTERRUPTED, TIME, BestRound
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.interrupt import InterruptedBeforeFirstRound, Interruption
from sapwood.boost.leaf_refit import LeafRefit, LeafRules, SupportingModels
from sapwood.boost.leaf_values import QuantileLeaves
from sapwood.boost.linear_leaves import LinearLeaves
from sapwood.boost.progress import Progress, ProgressBar, describe
from sapwood.boost.sampling import Sampler, SamplingContext, make_sampler
from sapwood.boost.sampling.base import SampledRows
from sapwood.boost.score_update import find_nodes
from sapwood.boost.split_noise import noise_of
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.errors import TrainingError
from sapwood.grow.factory import make_grower
from sapwood.grow.grower import Grower
from sapwood.grow.grown_tree import GrownTree
from sapwood.log import logger
from sapwood.model.ensemble import EnsembleBuilder
from sapwood.native.threads.team import Team, training_team
from sapwood.objectives.base import Objective
from sapwood.params.declaration import Params
from sapwood.params.options import dart_of, linear_of


@dataclass(frozen=True, eq=False)
class TrainingContext:
    """What the rounds read, and the arrays and trees they write.

    A tree answers ``width`` outputs; ``tree_pairs`` are the ``pairs`` of each tree of a round. Without a sampler
    ``everyone`` is drawn.
    """

    dataset: BinnedDataset
    target: Target
    objective: Objective
    params: Params
    team: Team
    grower: Grower
    sampler: Sampler | None
    everyone: SampledRows
    quantile_leaves: QuantileLeaves | None
    linear: LinearLeaves | None
    leaf_refit: LeafRefit | None
    assembler: TreeAssembler
    builder: EnsembleBuilder
    scores: np.ndarray
    others: tuple[DatasetView, ...]
    pairs: np.ndarray
    tree_pairs: tuple[np.ndarray, ...]
    first_round: int

    @classmethod
    def make(
        cls, dataset: BinnedDataset, target: Target, objective: Objective, params: Params, start: InitialScores
    ) -> TrainingContext:
        """Make room for training."""
        team = training_team(params.run.n_jobs, dataset.n_rows, dataset.n_features)
        width = objective.n_outputs if objective.vector_leaves else 1
        seed = params.run.random_state
        pool = SamplingContext(dataset.numbers, target, objective.task, seed, team, dataset.ranks)
        grower, scores = make_grower(dataset, width, params.tree, seed, team), start.first_scores(dataset.n_rows)
        renewal = QuantileLeaves.of(objective, target, params.tree, dataset)
        linear = LinearLeaves.of(objective, params, dataset, team)
        grower.tells_rows = renewal is not None or linear is not None
        rules = leaf_rules(objective, params, grower, team)
        in_a_row = np.empty((objective.n_outputs, 2 * dataset.n_rows), dtype=np.float32)
        pairs = in_a_row.reshape(objective.n_outputs, dataset.n_rows, 2)
        harvest = TreeAssembler(dataset.bin_mapper, CategorySets(dataset))
        return cls(
            dataset=dataset,
            target=target,
            objective=objective,
            params=params,
            team=team,
            grower=grower,
            sampler=make_sampler(params.boost, pool),
            everyone=SampledRows(None, pool.weight),
            quantile_leaves=renewal,
            linear=linear,
            leaf_refit=_leaf_fit(dataset, target, scores, params, rules, pairs),
            assembler=harvest,
            builder=EnsembleBuilder(objective.n_outputs, width, harvest.join),
            scores=scores,
            others=tuple(DatasetView(other, start.first_scores(dataset.n_rows)) for other in dataset.others),
            pairs=pairs,
            tree_pairs=tuple(pairs[k : k + width] for k in range(0, objective.n_outputs, width)),
            first_round=start.n_rounds,
        )


def leaf_rules(objective: Objective, params: Params, grower: Grower, team: Team) -> LeafRules:
    """How leaves are fitted to rows that trees were not grown on."""
    boost = params.boost
    return LeafRules(objective, grower.rules(), grower.directions, boost.leaf_steps, boost.learning_rate, team)


def _leaf_fit(
    dataset: BinnedDataset, target: Target, scores: np.ndarray, params: Params, rules: LeafRules, pairs: np.ndarray
) -> LeafRefit | None:  # fmt: skip
    """What fits leaves to all rows, where those that a tree was grown on do not tell; None for linear leaves.

    ``pairs`` are those that trees are grown on.
    """
    has_helpers = bool(dataset.others) or params.boost.boosting == "ordered"
    if linear_of(params.tree.leaf_model) is not None or not (has_helpers or params.boost.leaf_steps > 1):
        return None
    return LeafRefit(SupportingModels.once(target, scores), rules, None if has_helpers else pairs)


def make_booster(work: TrainingContext, evaluation: Evaluation) -> Booster:
    """What adds trees up as the parameters ask for."""
    field = TrainingState(
        work.dataset, work.scores, evaluation.sets, work.builder, work.team, work.params, work.first_round, work.others,
        work.target, work.objective,
    )  # fmt: skip
    spec = work.params.boost.boosting
    if (dart := dart_of(spec)) is not None:
        return DartBooster(field, dart)
    if spec == "ordered" or (spec == "plain" and work.others and work.leaf_refit is not None):
        rules = leaf_rules(work.objective, work.params, work.grower, work.team)
        return OrderedBooster(field, rules, spec == "ordered")
    return ForestBooster(field) if spec == "forest" else Booster(field)


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
            if work.dataset.ranks is not None:
                reason = work.dataset.ranks.agreed(reason)
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
    if best.is_stale(progress.round):
        return EARLY
    if watch.time_limit is not None and progress.elapsed >= watch.time_limit:
        return TIME
    return INTERRUPTED if interruption.was_asked else None


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
        if interruption.was_asked and (output > 0 or round == 0):
            if round == 0:
                raise InterruptedBeforeFirstRound
            return False
        work.grower.noise = noise_of(work.params, pairs, drawn, number, work.team.run, work.dataset.ranks)
        grown = work.grower.grow(pairs, drawn.weight, number * n_outputs + output, drawn.rows, n_outputs)
        nodes = None
        if work.leaf_refit is not None:
            is_own = drawn.rows is None and view.dataset is work.dataset
            nodes = find_nodes(work.dataset, grown, work.team, is_own)
            grown, value = work.leaf_refit.fitted(grown, nodes, output)
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
        drawn = work.sampler.draw(work.pairs, round)
        return drawn if work.dataset.ranks is None else drawn.spread()
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
