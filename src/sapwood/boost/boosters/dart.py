"""Dropouts: a round forgets some of the earlier ones, fits what they leave, and shares with them."""

from __future__ import annotations

import dataclasses

import numpy as np

from sapwood.boost.boosters.plain import Booster, TrainingState
from sapwood.grow.grown_tree import FittedTree
from sapwood.kernels.numeric.random import DART_DROPS, DART_SKIPS, draw_many
from sapwood.model.ensemble import Ensemble
from sapwood.model.tree_weights import TreeRescaling
from sapwood.params.options import Dart

TO_UNIT = 2.0**-53


class DartBooster(Booster):
    """Keeps the trees of all rounds with their weights. Which are dropped depends on seed, rounds and weights alone.

    Trees of an earlier model, which this one continues, are never dropped.
    """

    def __init__(self, field: TrainingState, settings: Dart) -> None:
        super().__init__(field)
        self._settings = settings
        self._trees: list[list[FittedTree]] = []
        self._weights: list[float] = []
        self._rescalings: list[TreeRescaling] = []
        self._dropped: tuple[int, ...] = ()
        self._shares = (1.0, 1.0)

    def begin_round(self, round: int) -> None:
        """Take what the dropped rounds answer out of the scores."""
        self._dropped = draw_drops(self._settings, self._weights, self._seed, self.field.first_round + round)
        self._shares = shares(self._settings.normalise, len(self._dropped), self.field.params.boost.learning_rate)
        self._trees.append([])
        self._add_dropped(-1.0, in_training=True, in_sets=False)

    def add_tree(self, tree: FittedTree, round: int, has_all_rows: bool = False) -> None:
        """Take a new tree with the share that is its own."""
        tree = scaled(tree, self._shares[0])
        super().add_tree(tree, round, has_all_rows)
        self._trees[round].append(dataclasses.replace(tree, grown=tree.grown.without_rows()))

    def end_round(self, round: int) -> None:
        """Put the dropped rounds back with their new weights."""
        self._weights.append(self._shares[0])
        if not self._dropped:
            return
        factor = self._shares[1]
        self._add_dropped(factor, in_training=True, in_sets=False)
        self._add_dropped(factor - 1.0, in_training=False, in_sets=True)
        for dropped in self._dropped:
            self._weights[dropped] *= factor
            self._trees[dropped] = [scaled(tree, factor) for tree in self._trees[dropped]]
        self._rescalings.append(TreeRescaling(round, factor, self._dropped))

    def build(self, rounds: int) -> Ensemble:
        """The trees of the first rounds with their weights after these."""
        happened = tuple(one for one in self._rescalings if one.round < rounds)
        factors = np.ones(rounds)
        for one in happened:
            factors[list(one.rounds)] *= one.factor
        built = self.field.builder.build(rounds)
        return dataclasses.replace(built.scaled(factors), rescalings=happened) if happened else built

    @property
    def _seed(self) -> int:
        return self.field.params.run.random_state

    def _add_dropped(self, factor: float, in_training: bool, in_sets: bool) -> None:
        if not self.is_live:
            return
        for tree in (scaled(tree, factor) for dropped in self._dropped for tree in self._trees[dropped]):
            if in_training:
                self.field.add_to_scores(tree)
            if in_sets:
                self.field.add_to_sets(tree)


def draw_drops(settings: Dart, weights: list[float], seed: int, round: int) -> tuple[int, ...]:
    """The rounds to drop, ascending: each by chance, those of the smallest hashes if there are too many."""
    n = len(weights)
    if n == 0 or uniform(seed, DART_SKIPS, round, 1)[0] < settings.skip:
        return ()
    chances = np.full(n, settings.drop)
    if settings.weighted:
        chances = np.minimum(1.0, settings.drop * np.array(weights) * n / sum(weights))
    drawn = uniform(seed, DART_DROPS, round, n)
    dropped = np.flatnonzero(drawn < chances)
    first = dropped[np.argsort(drawn[dropped], kind="stable")[: settings.max_drop]]
    return tuple(np.sort(first).tolist())


def uniform(seed: int, purpose: int, round: int, n: int) -> np.ndarray:
    """Random numbers from 0 to 1 for 0, 1, ..."""
    bits = np.empty(n, dtype=np.uint64)
    draw_many(seed, purpose, round, np.arange(n, dtype=np.uint64), bits)
    return (bits >> np.uint64(11)).astype(np.float64) * TO_UNIT


def shares(normalise: str, n_dropped: int, learning_rate: float) -> tuple[float, float]:
    """What multiplies the new round and the dropped ones; 1 where none is dropped."""
    if n_dropped == 0:
        return 1.0, 1.0
    if normalise == "forest":
        return 1.0 / (1.0 + learning_rate), 1.0 / (1.0 + learning_rate)
    total = n_dropped + (1.0 if normalise == "mean" else learning_rate)
    return 1.0 / total, n_dropped / total


def scaled(tree: FittedTree, factor: float) -> FittedTree:
    """A tree whose answers are multiplied by a number."""
    grown = tree.grown
    if grown.leaf_coefficients is not None:
        grown = dataclasses.replace(grown, leaf_coefficients=grown.leaf_coefficients.scaled(factor))
    return FittedTree(grown, tree.value * factor, tree.output)
