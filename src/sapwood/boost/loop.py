"""The rounds of boosting."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapwood.boost.checkpoint import Checkpoint, KeptTree
from sapwood.boost.evaluation import EvalSet, Evaluation
from sapwood.boost.interrupt import Interruption, TooSoon
from sapwood.boost.leaves import Renewal
from sapwood.boost.linear import LinearLeaves, add_answers, forest_of
from sapwood.boost.progress import Bar, Progress
from sapwood.boost.routing import add_to_all_rows
from sapwood.boost.sampling import Pool, Sampler, make_sampler
from sapwood.boost.sampling.base import Drawn
from sapwood.boost.start import Start
from sapwood.boost.stopping import ALL_ROUNDS, CALLBACK, EARLY, INTERRUPTED, TIME, Best
from sapwood.boost.target import Target
from sapwood.data.dataset import Dataset
from sapwood.grow.choice import make_grower
from sapwood.grow.grower import Grower
from sapwood.grow.grown import Grown
from sapwood.kernels.leaves import add_leaf_values
from sapwood.model.ensemble import EnsembleBuilder
from sapwood.native.team import Team, current_team
from sapwood.objectives.base import Objective
from sapwood.params import Params

NO_WEIGHT = np.empty(0)


class View(NamedTuple):
    """Rows in bins, and the scores of the trees so far: statistics of categories differ by the order of rows."""

    dataset: Dataset
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class Work:
    """What the rounds read, and the arrays and trees they write. A tree answers ``width`` outputs."""

    dataset: Dataset
    target: Target
    objective: Objective
    params: Params
    team: Team
    grower: Grower
    sampler: Sampler | None
    renewal: Renewal | None
    linear: LinearLeaves | None
    builder: EnsembleBuilder
    scores: np.ndarray
    other_scores: tuple[np.ndarray, ...]
    pairs: np.ndarray
    first_round: int

    @classmethod
    def make(cls, dataset: Dataset, target: Target, objective: Objective, params: Params, start: Start) -> Work:
        """Make room for training."""
        team = current_team(params.run.n_jobs, dataset.n_rows * dataset.n_features)
        width = objective.n_outputs if objective.vector_leaves else 1
        seed = params.run.random_state
        pool = Pool(dataset.row_ids, target, objective.task, seed, team)
        return cls(
            dataset=dataset,
            target=target,
            objective=objective,
            params=params,
            team=team,
            grower=make_grower(dataset, width, params.tree, seed, team),
            sampler=make_sampler(params.boost, pool),
            renewal=Renewal.of(objective, target, params.tree, dataset),
            linear=LinearLeaves.of(objective, params, dataset, team),
            builder=EnsembleBuilder(objective.n_outputs, width),
            scores=start.first_scores(dataset.n_rows),
            other_scores=tuple(start.first_scores(dataset.n_rows) for _ in dataset.others),
            pairs=np.empty((objective.n_outputs, dataset.n_rows, 2), dtype=np.float32),
            first_round=start.n_rounds,
        )

    def views(self, round: int) -> list[View]:
        """The rows in every order of categories' statistics, that of the trees of a round first."""
        every = [View(self.dataset, self.scores), *map(View, self.dataset.others, self.other_scores)]
        every.insert(0, every.pop(self.dataset.order_of(self.params.run.random_state, self.first_round + round)))
        return every


def run_rounds(work: Work, evaluation: Evaluation, checkpoint: Checkpoint) -> tuple[int, Best, str]:
    """Add rounds until there is a reason to stop; return how many, the best one, and the reason."""
    watch, n_rounds = work.params.watch, work.params.boost.n_estimators
    greater = bool(evaluation.measures) and evaluation.measures[0].greater_is_better
    best = Best(greater, watch.early_stopping_rounds if evaluation.sets else None)
    done = repeat_rounds(work, evaluation, best, checkpoint)
    reason = checkpoint.past.reason_to_stop(watch.time_limit)
    began = time.perf_counter() - checkpoint.past.elapsed
    with Interruption() as interruption, Bar(bool(watch.verbose)) as bar:
        while reason is None:
            if not add_round(work, evaluation, checkpoint, done, interruption):
                checkpoint.write(evaluation, time.perf_counter() - began)
                return done, best, INTERRUPTED
            evaluation.measure(work.team.run)
            done += 1
            if (decided := evaluation.deciding(done)) is not None:
                best.update(done, decided[1], decided[0])
            progress = Progress(done, n_rounds, evaluation.history, time.perf_counter() - began)
            bar.show(progress)
            reason = _reason_to_stop(work, best, progress, interruption)
            checkpoint.end_round(evaluation, work.scores, progress.elapsed, reason)
    return done, best, reason


def repeat_rounds(work: Work, evaluation: Evaluation, best: Best, checkpoint: Checkpoint) -> int:
    """Add the trees of a checkpoint as if they were new, to the same scores; return how many rounds they are."""
    past = checkpoint.past
    for round, trees in enumerate(past.rounds):
        for tree in trees:
            if past.stopped is None:
                for view in work.views(round):
                    add_to_all_rows(view.dataset, tree.grown, tree.value, tree.output, view.scores, work.team)
            keep_tree(work, evaluation.sets if past.stopped is None else (), tree, round)
    if past.stopped is None:
        checkpoint.check_scores(work.scores)
    for values in past.history:
        evaluation.remember(values)
    for done in range(1, len(past.rounds) + 1):
        if (decided := evaluation.deciding(done)) is not None:
            best.update(done, decided[1], decided[0])
    return len(past.rounds)


def _reason_to_stop(work: Work, best: Best, progress: Progress, interruption: Interruption) -> str | None:
    watch = work.params.watch
    stops = [callback(progress) is True for callback in watch.callbacks]
    if any(stops):
        return CALLBACK
    if progress.round == progress.n_rounds:
        return ALL_ROUNDS
    if best.is_stale(progress.round):
        return EARLY
    if watch.time_limit is not None and progress.elapsed >= watch.time_limit:
        return TIME
    return INTERRUPTED if interruption.was_asked else None


def add_round(
    work: Work, evaluation: Evaluation, checkpoint: Checkpoint, round: int, interruption: Interruption
) -> bool:  # fmt: skip
    """Grow the trees of a round; tell whether all of them are there, or Ctrl-C came before."""
    team, width = work.team, work.builder.width
    number, (view, *others) = work.first_round + round, work.views(round)
    work.grower.see(view.dataset)
    work.objective.pairs(work.target.y, view.scores, work.pairs, team.run)
    drawn = _drawn(work, number)
    for output in range(0, work.objective.n_outputs, width):
        if interruption.was_asked and (output > 0 or round == 0):
            if round == 0:
                raise TooSoon
            return False
        pairs = work.pairs[output : output + width]
        grown = work.grower.grow(pairs, drawn.weight, number * work.objective.n_outputs + output, drawn.rows)
        value = _values(work, grown, output, drawn, view.scores)
        if work.linear is not None:
            grown = work.linear.on(view.dataset).fitted(grown, work.grower, pairs[0], drawn.weight)
        tree = KeptTree(grown, value, output)
        _add_to_scores(view, tree, drawn.rows is None, team)
        for other in others:
            add_to_all_rows(other.dataset, grown, value, output, other.scores, team)
        checkpoint.add_tree(tree)
        keep_tree(work, evaluation.sets, tree, round)
    return True


def _drawn(work: Work, round: int) -> Drawn:
    """The rows that the trees of a round are grown on, and their weights."""
    if work.sampler is not None:
        return work.sampler.draw(work.pairs, round)
    return Drawn(None, NO_WEIGHT if work.target.weight is None else work.target.weight)


def _add_to_scores(view: View, tree: KeptTree, has_all_rows: bool, team: Team) -> None:
    """Add what a new tree answers to the scores of training."""
    grown, value, output = tree.grown, tree.value, tree.output
    if not has_all_rows:
        add_to_all_rows(view.dataset, grown, value, output, view.scores, team)
    elif grown.terms is None:
        team.run(add_leaf_values, grown.order, grown.span, value[grown.leaf_node], output, view.scores)
    else:
        assert view.dataset.values is not None
        nodes = grown.node_of_row(view.dataset.n_rows)
        add_answers(view.dataset.values, nodes, forest_of(grown, value, output), view.scores, team.run)


def keep_tree(work: Work, sets: Sequence[EvalSet], tree: KeptTree, round: int) -> None:
    """Add a tree to the model and to the scores of validation sets."""
    for one in sets:
        one.add_tree(tree.grown, tree.value, tree.output, work.team.run)
    work.builder.append(tree.grown.to_tree(work.dataset.encoder, tree.value), tree.output, round)


def _values(work: Work, grown: Grown, output: int, drawn: Drawn, scores: np.ndarray) -> np.ndarray:
    """What the nodes of a new tree answer, shrinkage included; ``scores`` are those that it was grown on."""
    value = grown.value
    if work.renewal is not None:
        renewal = work.renewal
        if len(drawn.weight) and drawn.weight is not work.target.weight:
            renewal = renewal.drawn(drawn.weight)
        value = renewal.values(grown, scores[output], output, work.team.run)
    return value * work.params.boost.learning_rate
