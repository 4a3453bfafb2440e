"""Plain gradient boosting, the base class of the other boosters."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sapwood.boost.evaluation import EvalSet
from sapwood.boost.score_update import add_by_nodes, add_grown_tree, add_tree
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.grown_tree import FittedTree
from sapwood.lazy_dataclass import dataclass
from sapwood.model.ensemble import Ensemble
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.native.runtime.kernel import CallCache
from sapwood.native.threads.team import Team
from sapwood.objectives.base import Objective
from sapwood.params.declaration import Params


class DatasetView(NamedTuple):
    """The training rows, binned with the target statistics of one permutation, and their scores (outputs, rows)."""

    dataset: BinnedDataset
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class TrainingState:
    """State that trees are added to: the scores (outputs, rows) of training rows and validation sets, and the ensemble.

    ``permuted_views`` are the training rows with the target statistics of other permutations.
    """

    dataset: BinnedDataset
    scores: np.ndarray
    eval_sets: Sequence[EvalSet]
    builder: EnsembleBuilder
    team: Team
    params: Params
    first_round: int
    permuted_views: tuple[DatasetView, ...]
    target: Target
    objective: Objective

    @cached_property
    def run(self) -> CallCache:
        """Runner of kernels on the team that caches the arguments of calls repeated every round."""
        return CallCache(self.team.run)

    @cached_property
    def views(self) -> tuple[DatasetView, ...]:
        """The training rows with the target statistics of every permutation."""
        return (DatasetView(self.dataset, self.scores), *self.permuted_views)

    def permutation_of(self, round: int) -> int:
        """Return the index in ``views`` of the rows that the trees of a round are grown on."""
        return self.dataset.permutation_of_round(self.params.run.random_state, self.first_round + round)

    def view_of(self, round: int) -> DatasetView:
        """Return the rows that the trees of a round are grown on."""
        return self.views[self.permutation_of(round)]

    def add_to_scores(self, tree: FittedTree, on_all_rows: bool = False, permutation: int = 0) -> None:
        """Add a tree to the scores of the training rows.

        ``on_all_rows`` is true if it was just grown on all rows of the view ``permutation``.
        """
        for k, view in enumerate(self.views):
            self.add_to_view(tree, view, on_all_rows and k == permutation)

    def add_to_view(self, tree: FittedTree, view: DatasetView, on_all_rows: bool) -> None:
        """Add a tree to the scores of one view; ``on_all_rows`` is true if it was just grown on all of its rows."""
        if tree.nodes is not None and view.dataset is self.dataset:
            add_by_nodes(tree.nodes, tree, view.scores, self.run)
        elif on_all_rows:
            add_grown_tree(view.dataset, tree, view.scores, self.team, self.run)
        else:
            add_tree(view.dataset, tree, view.scores, self.team)

    def add_to_eval_sets(self, tree: FittedTree) -> None:
        """Add a tree to the scores of the validation sets."""
        for eval_set in self.eval_sets:
            add_tree(eval_set, tree, eval_set.scores, self.team)

    def append(self, tree: FittedTree, round: int) -> None:
        """Append a tree to the ensemble, without the leaves of the training rows."""
        kept = tree if tree.nodes is None else tree.without_rows()
        self.builder.append(kept, tree.output, round)


class Booster:
    """Plain boosting: adds the trees of each round to the scores of all rows and to the ensemble.

    If ``updates_scores`` is false, trees are only appended to the ensemble.
    """

    def __init__(self, state: TrainingState) -> None:
        self.state = state
        self.updates_scores = True

    def begin_round(self, round: int) -> None:
        """Set the training scores to those at which the gradients of the round are computed."""

    def compute_pairs(self, round: int, out: np.ndarray) -> None:
        """Write the gradient pairs (outputs, rows, 2) that the trees of a round are grown on to ``out``."""
        state = self.state
        state.objective.pairs(state.target.y, state.view_of(round).scores, out, state.run)

    def scored_pairs(self, pairs: np.ndarray, round: int, output: int) -> np.ndarray:
        """Return what the tree that begins with an output is grown on: ``pairs``, and more where splits need more."""
        return pairs

    def add_tree(self, tree: FittedTree, round: int, on_all_rows: bool = False) -> None:
        """Add a tree of the current round, its values with shrinkage."""
        if self.updates_scores:
            self.state.add_to_scores(tree, on_all_rows, self.state.permutation_of(round))
            self.state.add_to_eval_sets(tree)
        self.state.append(tree, round)

    def end_round(self, round: int) -> None:
        """Set all scores to those of the model with this round."""

    def build(self, rounds: int) -> Ensemble:
        """Return the ensemble as it was after so many rounds."""
        return self.state.builder.build(rounds)
