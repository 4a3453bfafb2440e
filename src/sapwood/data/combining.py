"""Choose which category columns to cross: those whose crossed levels tell most of the target.

Larger crossings grow out of the best smaller ones. One column of numbers, cut into levels, can join the categories,
where it tells more than they do without it. A crossing is judged by its ordered statistic, taken for a
prediction of the target: every row is predicted by earlier rows alone, so that many rare levels are no advantage.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.data.cooking import Crossed, Ingredients
from sapwood.encodings import Ordered
from sapwood.kernels.target_stats import ordered_statistics

# Values of all crossings of all rows at most: 8 bytes each while they are made, 2 afterwards.
MOST_VALUES = 2**26


@dataclass(frozen=True)
class Limits:
    """How many categories are crossed at most, and how many crossings are kept: of categories, and with numbers."""

    n_crossed: int
    n_kept: int
    n_with_numbers: int = 0

    def fitting(self, n_rows: int, n_lines: int) -> Limits:
        """The limits under which all crossings fit into memory, each with so many columns."""
        n_fitting = MOST_VALUES // max(1, n_rows * n_lines)
        n_kept = min(self.n_kept, n_fitting)
        return Limits(self.n_crossed, n_kept, min(self.n_with_numbers, n_fitting - n_kept))


Sources = tuple[int, ...]


class Judge:
    """Try crossings; remember those that may be kept, by their columns, and how large and how good all are."""

    def __init__(self, stuff: Ingredients) -> None:
        n_rows = len(stuff.response.weights)
        self.stuff = stuff
        self._order = stuff.orders[0] if len(stuff.orders) else np.arange(n_rows, dtype=np.uint32)
        self._sizes: dict[Sources, int] = {}
        self._errors: dict[Sources, float] = {}
        self.made: dict[Sources, Crossed] = {}

    def look_at(self, features: Sequence[int]) -> list[Sources]:
        """Judge columns alone, of which crossings are made."""
        for f in features:
            self._sizes[(f,)] = int(np.count_nonzero(np.bincount(self.stuff.codes[f])))
            self._errors[(f,)] = _error(Crossed.of((f,), self.stuff), self._order, self.stuff)
        return [(f,) for f in features]

    def best_wider(self, narrow: Iterable[Sources], features: Sequence[int], n_kept: int) -> list[Sources]:
        """The best crossings of those given with one more column, the best first."""
        found: list[Sources] = []
        for sources in sorted({tuple(sorted((*one, f))) for one in narrow for f in features if f not in one}):
            crossed = Crossed.of(sources, self.stuff)
            self._sizes[sources] = crossed.n_codes - 1
            if _is_new(sources, self._sizes):
                self._errors[sources] = _error(crossed, self._order, self.stuff)
                self.made[sources] = crossed
                found.append(sources)
            if len(found) > 2 * n_kept:
                found = self.best(found, n_kept)
        return self.best(found, n_kept)

    def helped_by(self, several: Sequence[Sources], numbers: Sequence[int]) -> list[Sources]:
        """The crossings that tell more than their categories do without the number."""
        without = {one: tuple(f for f in one if f not in numbers) for one in several}
        return [one for one in several if self._errors[one] < self._errors.get(without[one], np.inf)]

    def best(self, several: Sequence[Sources], n_kept: int) -> list[Sources]:
        """The best of several crossings, the best first; the others are forgotten."""
        ranked = sorted(several, key=lambda sources: (self._errors[sources], sources))
        for sources in ranked[n_kept:]:
            del self.made[sources]
        return ranked[:n_kept]


def choose_crossings(features: Sequence[int], limits: Limits, n_lines: int, stuff: Ingredients) -> list[Crossed]:
    """The crossings of these categories, also with a cut column, that tell most; in the order of their columns."""
    limits = limits.fitting(len(stuff.response.weights), n_lines)
    if limits.n_kept == 0:
        return []
    judge = Judge(stuff)
    alone = judge.look_at(features)
    chosen = _among_categories(judge, alone, features, limits) + _with_numbers(judge, alone, features, limits)
    return [judge.made[sources] for sources in sorted(chosen, key=lambda sources: (len(sources), sources))]


def _among_categories(judge: Judge, alone: list[Sources], features: Sequence[int], limits: Limits) -> list[Sources]:
    """The best crossings of categories, pairs first: larger ones grow out of the best smaller ones."""
    best: list[Sources] = []
    grown = alone
    for _ in range(1, min(limits.n_crossed, len(features))):
        grown = judge.best_wider(grown, features, limits.n_kept)
        best = [*best, *grown]
    return judge.best(best, limits.n_kept)


def _with_numbers(judge: Judge, alone: list[Sources], features: Sequence[int], limits: Limits) -> list[Sources]:
    """The best crossings of a column of numbers with one category, and of these with more categories."""
    numbers = list(judge.stuff.cuts)
    if not numbers or limits.n_with_numbers == 0:
        return []
    judge.look_at(numbers)
    best: list[Sources] = []
    grown = judge.best_wider(alone, numbers, limits.n_with_numbers)
    for _ in range(1, min(limits.n_crossed, len(features))):
        best, grown = [*best, *grown], judge.best_wider(grown, features, limits.n_with_numbers)
    return judge.helped_by(judge.best([*best, *grown], limits.n_with_numbers), numbers)


def _is_new(sources: tuple[int, ...], sizes: dict[tuple[int, ...], int]) -> bool:
    """Whether a crossing divides the rows further than all that it is made of by leaving out one column."""
    parts = [tuple(f for f in sources if f != left_out) for left_out in sources]
    return all(sizes.get(part, 0) < sizes[sources] for part in parts)


def _error(crossed: Crossed, order: np.ndarray, stuff: Ingredients) -> float:
    """The mean squared error of the ordered statistic as a prediction, all targets together."""
    response = stuff.response
    encoding = Ordered()
    priors = response.priors(encoding.priors)
    out = np.empty((1, priors.size, len(crossed.codes)))
    sums = np.empty((crossed.n_codes, response.n_targets + 1), dtype=np.int64)
    start = np.array([0, crossed.n_codes], dtype=np.int64)
    stuff.run(
        ordered_statistics, crossed.codes[None, :], order, response.amounts, response.weights, start, sums,
        response.units, priors, encoding.prior_weight, out,
    )  # fmt: skip
    weight = response.weights * response.units[-1]
    error = 0.0
    for k in range(response.n_targets):
        # weight * (statistic - y)^2 without the constant weight * y^2
        error += float(np.sum(weight * out[0, k] ** 2 - 2.0 * out[0, k] * response.amounts[k] * response.units[k]))
    return error
