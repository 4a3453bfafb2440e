"""Random forest: all trees are fitted to the same gradients, on random rows, and averaged."""

from __future__ import annotations

import dataclasses

import numpy as np

from sapwood.boost.boosters.plain import Booster, TrainingState
from sapwood.boost.score_update import add_tree
from sapwood.grow.grown_tree import FittedTree
from sapwood.model.ensemble import Ensemble
from sapwood.model.tree_weights import TreeRescaling


class ForestBooster(Booster):
    """Leaves the training scores unchanged; scores of validation sets are the mean over the trees so far."""

    def __init__(self, state: TrainingState) -> None:
        super().__init__(state)
        self._initial = [eval_set.scores.copy() for eval_set in state.eval_sets]
        self._sums = [np.zeros_like(eval_set.scores) for eval_set in state.eval_sets]

    def add_tree(self, tree: FittedTree, round: int, on_all_rows: bool = False) -> None:
        """Add a tree to the sums of the validation sets."""
        if self.updates_scores:
            for eval_set, total in zip(self.state.eval_sets, self._sums, strict=True):
                add_tree(eval_set, tree, total, self.state.team)
        self.state.append(tree, round)

    def end_round(self, round: int) -> None:
        """Set the scores of validation sets to the mean over the trees."""
        for eval_set, initial, total in zip(self.state.eval_sets, self._initial, self._sums, strict=True):
            eval_set.scores[:] = initial + total / (round + 1)

    def build(self, rounds: int) -> Ensemble:
        """Return the trees of the first rounds, divided by their number."""
        built = self.state.builder.build(rounds)
        if not rounds:
            return built
        rescalings = tuple(TreeRescaling(round, round / (round + 1), range(round)) for round in range(1, rounds))
        return dataclasses.replace(built.scaled(np.full(rounds, 1.0 / rounds)), rescalings=rescalings)
