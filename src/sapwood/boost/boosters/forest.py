"""Random forest: all trees are fitted to the same gradients, on random rows, and averaged."""

from __future__ import annotations

import numpy as np

from sapwood.boost.boosters.plain import Booster, TrainingState
from sapwood.boost.evaluation import EvalSet
from sapwood.boost.score_update import add_tree
from sapwood.grow.grown_tree import FittedTree
from sapwood.model.ensemble import Ensemble


class ForestBooster(Booster):
    """Leaves the training scores unchanged; scores of validation sets are the mean over the trees so far.

    If trees are added to a forest, its trees are counted: the sums of validation sets start with those of its trees.
    """

    def __init__(self, state: TrainingState) -> None:
        super().__init__(state)
        self._initial = [eval_set.scores.copy() for eval_set in state.eval_sets]
        self._sums = [_earlier_sums(eval_set) for eval_set in state.eval_sets]

    def add_tree(self, tree: FittedTree, round: int, on_all_rows: bool = False) -> None:
        """Add a tree to the sums of the validation sets."""
        if self.updates_scores:
            for eval_set, total in zip(self.state.eval_sets, self._sums, strict=True):
                add_tree(eval_set, tree, total, self.state.team)
        self.state.append(tree, round)

    def end_round(self, round: int) -> None:
        """Set the scores of validation sets to the mean over the trees."""
        for eval_set, initial, total in zip(self.state.eval_sets, self._initial, self._sums, strict=True):
            n_earlier = 0 if eval_set.tree_sums is None else self.state.first_round
            eval_set.scores[:] = initial + total / (n_earlier + round + 1)

    def build(self, rounds: int) -> Ensemble:
        """Return the trees of the first rounds, divided by their number."""
        return self.state.builder.build(rounds).averaged()


def _earlier_sums(eval_set: EvalSet) -> np.ndarray:
    return np.zeros_like(eval_set.scores) if eval_set.tree_sums is None else eval_set.tree_sums.copy()
