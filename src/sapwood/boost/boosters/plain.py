"""How trees are added up: the plain way, which the others build on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sapwood.boost.evaluation import EvalSet
from sapwood.boost.score_update import add_by_nodes, add_grown_tree, add_tree
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.grown_tree import FittedTree
from sapwood.model.ensemble import Ensemble
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.native.runtime.kernel import CallCache
from sapwood.native.threads.team import Team
from sapwood.objectives.base import Objective
from sapwood.params.declaration import Params


class DatasetView(NamedTuple):
    """Rows in bins and their scores (outputs, rows): statistics of categories differ by the order of rows."""

    dataset: BinnedDataset
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class TrainingState:
    """Where trees go: the rows of training with their scores (outputs, rows), validation sets, and the model.

    ``others`` are the same rows where statistics of categories come from other orders of them.
    """

    dataset: BinnedDataset
    scores: np.ndarray
    sets: Sequence[EvalSet]
    builder: EnsembleBuilder
    team: Team
    params: Params
    first_round: int
    others: tuple[DatasetView, ...]
    target: Target
    objective: Objective

    @cached_property
    def run(self) -> CallCache:
        """Runs what every round runs on the team."""
        return CallCache(self.team.run)

    @cached_property
    def views(self) -> tuple[DatasetView, ...]:
        """The rows in every order."""
        return (DatasetView(self.dataset, self.scores), *self.others)

    def order_of(self, round: int) -> int:
        """The order of rows that the trees of a round are grown on: 0, or the place in ``others`` from 1."""
        return self.dataset.permutation_of_round(self.params.run.random_state, self.first_round + round)

    def view(self, round: int) -> DatasetView:
        """The rows as the trees of a round see them."""
        return self.views[self.order_of(round)]

    def add_to_scores(self, tree: FittedTree, has_all_rows: bool = False, order: int = 0) -> None:
        """Add a tree's answers to the scores of training; it may have been grown, just now, on all rows in an order."""
        for k, view in enumerate(self.views):
            self.add_to_view(tree, view, has_all_rows and k == order)

    def add_to_view(self, tree: FittedTree, view: DatasetView, has_all_rows: bool) -> None:
        """Add a tree's answers to the scores of one view of the rows; it may have been grown on all of its rows."""
        if tree.nodes is not None and view.dataset is self.dataset:
            add_by_nodes(tree.nodes, tree, view.scores, self.run)
        elif has_all_rows:
            add_grown_tree(view.dataset, tree, view.scores, self.team, self.run)
        else:
            add_tree(view.dataset, tree, view.scores, self.team)

    def add_to_sets(self, tree: FittedTree) -> None:
        """Add a tree's answers to the scores of the validation sets."""
        for one in self.sets:
            add_tree(one, tree, one.scores, self.team)

    def keep(self, tree: FittedTree, round: int) -> None:
        """Add a tree to the model."""
        self.builder.append(tree, tree.output, round)


class Booster:
    """Each tree corrects all before it. Told of every round and its trees, keeps the scores of all rows.

    ``is_live`` is False where only trees count.
    """

    def __init__(self, field: TrainingState) -> None:
        self.field = field
        self.is_live = True

    def begin_round(self, round: int) -> None:
        """Make the scores of training those at which the gradients of a round are taken."""

    def take_pairs(self, round: int, out: np.ndarray) -> None:
        """Fill ``out`` (outputs, rows, 2) with the gradient pairs that the trees of a round are grown on."""
        field = self.field
        field.objective.pairs(field.target.y, field.view(round).scores, out, field.run)

    def add_tree(self, tree: FittedTree, round: int, has_all_rows: bool = False) -> None:
        """Take a tree of the round at hand, its values with shrinkage."""
        if self.is_live:
            self.field.add_to_scores(tree, has_all_rows, self.field.order_of(round))
            self.field.add_to_sets(tree)
        self.field.keep(tree, round)

    def end_round(self, round: int) -> None:
        """Make all scores those of the model with this round."""

    def build(self, rounds: int) -> Ensemble:
        """The trees of the first rounds, as they were after these."""
        return self.field.builder.build(rounds)
