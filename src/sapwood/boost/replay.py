"""Replay trained rounds on other rows: the trees keep their splits, and their leaves are fitted again, round by round.

Scores start from the initial scores of the rows. In each round the gradients at the current scores give the leaf values
of its trees, by the same formulas as in training, over all rows: samples of rows were drawn to grow the trees. Then the
trees are added to the scores.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from sapwood.boost.boosters.plain import Booster
from sapwood.boost.data_preparation import prepare_again
from sapwood.boost.evaluation import Evaluation
from sapwood.boost.interrupt import Interruption
from sapwood.boost.labeled_rows import LabeledRows
from sapwood.boost.leaf_refit import LeafRefit, SupportingModels
from sapwood.boost.learning_task import LearningTask
from sapwood.boost.rounds import check_values
from sapwood.boost.score_update import find_nodes
from sapwood.boost.training_context import TrainingContext, make_booster, refit_settings
from sapwood.boost.training_pipeline import Training, join_transformers
from sapwood.grow.grown_tree import FittedTree
from sapwood.native.threads.team import training_team
from sapwood.params.declaration import Params


def replay_rounds(task: LearningTask, rows: LabeledRows, first: Training) -> Training | None:
    """Return a training whose trees have leaf values fitted to ``rows``; None if it was interrupted.

    The binned rows of the first training give the edges of bins; target statistics are computed from the new rows.
    """
    assert first.prepared is not None
    params = _replay_params(task.params)
    team = training_team(params.run.n_jobs, len(rows.y), rows.table.n_features)
    prepared = prepare_again(first.prepared, rows, task.objective, team.run)
    rows, dataset = prepared.rows, dataclasses.replace(prepared.dataset, workers=rows.workers)
    init = task.init.fit(rows, team.run)
    initial = init.initial_scores(rows)
    context = TrainingContext.make(dataset, rows.target, task.objective, params, initial)
    booster = make_booster(context, Evaluation((), (), task.objective))
    replay = Replay(context, booster)
    with Interruption() as interruption:
        for round, trees in enumerate(first.result.rounds):
            if rows.workers.broadcast_bool(interruption.is_requested):
                return None
            replay.add_round(trees, round)
    result = dataclasses.replace(
        first.result,
        ensemble=initial.concatenate(booster.build(len(first.result.rounds))),
        base_scores=initial.base_scores,
        columns=tuple(context.assembler.columns),
    )
    earlier = None if task.init.warm_start is None else task.init.warm_start.model
    result, transformer = join_transformers(result, earlier, dataset.transformer, task.schema)
    n_rows = dataset.workers.count_rows(dataset.n_rows)
    return dataclasses.replace(first, result=result, init=init, n_rows=n_rows, transformer=transformer)


class Replay:
    """Fits the leaves of trained rounds to the rows of a context and adds them to its scores and ensemble."""

    def __init__(self, context: TrainingContext, booster: Booster) -> None:
        self._context = context
        self._booster = booster
        workers = context.dataset.workers
        settings = refit_settings(context.objective, context.params, context.grower, context.team, workers)
        self._refit = LeafRefit(SupportingModels.single(context.target, context.scores), settings)

    def add_round(self, trees: Sequence[FittedTree], round: int) -> None:
        """Fit the trees of a round at the current scores and add them."""
        self._context.team.take_free_cores()
        self._booster.begin_round(round)
        rate = self._context.params.boost.tree_rate_of(round)
        self._refit.begin_round(rate)
        for tree in trees:
            self._booster.add_tree(self._fitted(tree, rate), round)
        self._booster.end_round(round)

    def _fitted(self, tree: FittedTree, rate: float) -> FittedTree:
        """Return a tree with leaf values of all rows."""
        context, refit, output = self._context, self._refit, tree.output
        nodes = find_nodes(context.dataset, tree.grown, context.team)
        grown, value = refit.refit(tree.grown, nodes, output)
        check_values(value, context, rate)
        if context.linear_leaves is not None:
            with_rows, scale = grown.with_rows(nodes), refit.gradient_scale(output)
            grow_params, weight = context.grower.grow_params(), context.all_rows.weight_by_row
            fitted = context.linear_leaves.fitted(with_rows, scale, grow_params, refit.pairs[output], weight, rate)
            return FittedTree(fitted.without_rows(), value, output)
        return FittedTree(grown, value, output, nodes)


def _replay_params(params: Params) -> Params:
    """Return the parameters under which leaves are fitted: those of the model itself, without supporting models."""
    boost = params.boost
    if boost.boosting == "ordered":
        boost = dataclasses.replace(boost, boosting="plain")
    return dataclasses.replace(params, boost=boost)
