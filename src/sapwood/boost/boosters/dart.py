"""DART: boosting with dropout of earlier rounds.

Gradients are computed without the dropped rounds; then the new round and the dropped ones are rescaled so that together
they do not overshoot.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from sapwood.boost.boosters.plain import Booster, TrainingState
from sapwood.grow.grown_tree import FittedTree
from sapwood.kernels.numeric.random import DART_DROPS, DART_SKIPS, draw_many
from sapwood.model.ensemble import Ensemble
from sapwood.model.tree_weights import TreeRescaling
from sapwood.params.options import Dart

TO_UNIT = 2.0**-53


class DartBooster(Booster):
    """Keeps the trees of all rounds and their weights; trees of a continued model are never dropped."""

    def __init__(self, state: TrainingState, settings: Dart) -> None:
        super().__init__(state)
        self._settings = settings
        self._trees: list[list[FittedTree]] = []
        self._weights: list[float] = []
        self._rescalings: list[TreeRescaling] = []
        self._dropped: tuple[int, ...] = ()
        self._new_factor, self._dropped_factor = 1.0, 1.0

    def begin_round(self, round: int) -> None:
        """Subtract the dropped rounds from the training scores."""
        state, settings = self.state, self._settings
        seed, rate = state.params.run.random_state, state.params.boost.rate_of(round)
        self._dropped = sample_dropped_rounds(settings, self._weights, seed, state.first_round + round)
        self._new_factor, self._dropped_factor = dropout_factors(settings.normalise, len(self._dropped), rate)
        self._trees.append([])
        for tree in self._scaled_dropped(-1.0):
            state.add_to_scores(tree)

    def add_tree(self, tree: FittedTree, round: int, has_all_rows: bool = False) -> None:
        """Add a tree of the current round, multiplied by the factor of new trees."""
        tree = scaled(tree, self._new_factor)
        super().add_tree(tree, round, has_all_rows)
        self._trees[round].append(dataclasses.replace(tree, grown=tree.grown.without_rows()))

    def end_round(self, round: int) -> None:
        """Add the dropped rounds with their new weights."""
        self._weights.append(self._new_factor)
        if not self._dropped:
            return
        factor = self._dropped_factor
        for tree in self._scaled_dropped(factor):
            self.state.add_to_scores(tree)
        for tree in self._scaled_dropped(factor - 1.0):  # they were never subtracted from validation sets
            self.state.add_to_eval_sets(tree)
        for dropped in self._dropped:
            self._weights[dropped] *= factor
            self._trees[dropped] = [scaled(tree, factor) for tree in self._trees[dropped]]
        self._rescalings.append(TreeRescaling(round, factor, self._dropped))

    def build(self, rounds: int) -> Ensemble:
        """Return the trees of the first rounds with the weights that they had after these."""
        rescalings = tuple(one for one in self._rescalings if one.round < rounds)
        factors = np.ones(rounds)
        for rescaling in rescalings:
            factors[list(rescaling.rounds)] *= rescaling.factor
        built = self.state.builder.build(rounds)
        return dataclasses.replace(built.scaled(factors), rescalings=rescalings) if rescalings else built

    def _scaled_dropped(self, factor: float) -> Iterator[FittedTree]:
        """Yield the trees of the dropped rounds times a factor; none if scores are not updated."""
        if self.updates_scores:
            for dropped in self._dropped:
                yield from (scaled(tree, factor) for tree in self._trees[dropped])


def sample_dropped_rounds(settings: Dart, weights: list[float], seed: int, round: int) -> tuple[int, ...]:
    """Return the rounds to drop, ascending; they depend on the seed, the round and the weights alone.

    If there are more than ``max_drop``, those with the smallest random numbers are dropped.
    """
    n = len(weights)
    if n == 0 or uniform(seed, DART_SKIPS, round, 1)[0] < settings.skip:
        return ()
    probability = np.full(n, settings.drop)
    if settings.weighted:
        probability = np.minimum(1.0, settings.drop * np.array(weights) * n / sum(weights))
    random = uniform(seed, DART_DROPS, round, n)
    dropped = np.flatnonzero(random < probability)
    first = dropped[np.argsort(random[dropped], kind="stable")[: settings.max_drop]]
    return tuple(np.sort(first).tolist())


def uniform(seed: int, purpose: int, round: int, n: int) -> np.ndarray:
    """Return n random numbers in [0, 1)."""
    bits = np.empty(n, dtype=np.uint64)
    draw_many(seed, purpose, round, np.arange(n, dtype=np.uint64), bits)
    return (bits >> np.uint64(11)).astype(np.float64) * TO_UNIT


def dropout_factors(normalise: str, n_dropped: int, learning_rate: float) -> tuple[float, float]:
    """Return the factors of the new round and of the dropped ones; 1 if none is dropped."""
    if n_dropped == 0:
        return 1.0, 1.0
    if normalise == "forest":
        return 1.0 / (1.0 + learning_rate), 1.0 / (1.0 + learning_rate)
    total = n_dropped + (1.0 if normalise == "mean" else learning_rate)
    return 1.0 / total, n_dropped / total


def scaled(tree: FittedTree, factor: float) -> FittedTree:
    """Return a tree whose values are multiplied by a factor."""
    grown = tree.grown
    if grown.leaf_coefficients is not None:
        grown = dataclasses.replace(grown, leaf_coefficients=grown.leaf_coefficients.scaled(factor))
    return FittedTree(grown, tree.value * factor, tree.output)
