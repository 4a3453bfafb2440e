"""A forest: trees of the same gradients on rows of their own, averaged."""

from __future__ import annotations

import dataclasses

import numpy as np

from sapwood.boost.boosters.plain import Booster, TrainingState
from sapwood.boost.score_update import add_tree
from sapwood.grow.grown_tree import FittedTree
from sapwood.model.ensemble import Ensemble
from sapwood.model.tree_weights import TreeRescaling


class ForestBooster(Booster):
    """The scores of training stay as they began; those of validation sets are the mean over the trees so far."""

    def __init__(self, field: TrainingState) -> None:
        super().__init__(field)
        self._starts = [one.scores.copy() for one in field.sets]
        self._sums = [np.zeros_like(one.scores) for one in field.sets]

    def add_tree(self, tree: FittedTree, round: int, has_all_rows: bool = False) -> None:
        """Add the tree to the sums."""
        if self.is_live:
            for one, total in zip(self.field.sets, self._sums, strict=True):
                add_tree(one, tree, total, self.field.team)
        self.field.keep(tree, round)

    def end_round(self, round: int) -> None:
        """Give validation sets the mean."""
        for one, start, total in zip(self.field.sets, self._starts, self._sums, strict=True):
            one.scores[:] = start + total / (round + 1)

    def build(self, rounds: int) -> Ensemble:
        """The trees of the first rounds, each with its share of the mean."""
        built = self.field.builder.build(rounds)
        told = tuple(TreeRescaling(round, round / (round + 1), range(round)) for round in range(1, rounds))
        return dataclasses.replace(built.scaled(np.full(rounds, 1.0 / rounds)), rescalings=told) if rounds else built
