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
from sapwood.data.crossing import Lines, Room, Sources
from sapwood.kernels.crossing import judge_crossings

# Values of all crossings of all rows at most: 8 bytes each while they are made, 2 afterwards.
MOST_VALUES = 2**26
JUDGED_ROWS = 2**17  # the first so many in their order


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


class Judge:
    """Try crossings; remember by their columns how many levels they have and how good they are."""

    def __init__(self, features: Sequence[int], stuff: Ingredients) -> None:
        n_rows, response = len(stuff.response.weights), stuff.response
        order = stuff.orders[0] if len(stuff.orders) else np.arange(n_rows, dtype=np.uint32)
        order = order[:JUDGED_ROWS]
        self._lines = Lines.of({f: stuff.codes[f][order] for f in [*features, *stuff.cuts]})
        self._target = (
            np.ascontiguousarray(response.amounts[:, order]), response.weights[order], response.units,
            response.priors((None,))[:, 0],
        )  # fmt: skip
        self._run = stuff.run
        self._sizes: dict[Sources, int] = {}
        self._errors: dict[Sources, float] = {}

    def look_at(self, several: Sequence[Sources]) -> None:
        """Judge columns alone, or crossings of them."""
        chosen, n_rows, n_targets = self._lines.places(several), self._lines.n_rows, len(self._target[0])
        errors, counts = np.empty(len(several)), np.empty(len(several), dtype=np.int64)
        room = Room.of(n_rows, len(several))
        sums = np.empty((room.n_members, n_rows, n_targets + 1), dtype=np.int64)
        self._run(
            judge_crossings, self._lines.codes, chosen, *self._target, room.slots, room.keys, sums, errors, counts
        )
        self._errors |= zip(several, errors.tolist(), strict=True)
        self._sizes |= zip(several, counts.tolist(), strict=True)

    def best_wider(self, narrow: Iterable[Sources], features: Sequence[int], n_kept: int) -> list[Sources]:
        """The best crossings of those given with one more column, the best first."""
        several = sorted({tuple(sorted((*one, f))) for one in narrow for f in features if f not in one})
        self.look_at(several)
        return self.best([sources for sources in several if self._is_new(sources)], n_kept)

    def helped_by(self, several: Sequence[Sources], numbers: Sequence[int]) -> list[Sources]:
        """The crossings that tell more than their categories do without the number."""
        without = {one: tuple(f for f in one if f not in numbers) for one in several}
        return [one for one in several if self._errors[one] < self._errors.get(without[one], np.inf)]

    def best(self, several: Sequence[Sources], n_kept: int) -> list[Sources]:
        """The best of several crossings, the best first."""
        return sorted(several, key=lambda sources: (self._errors[sources], sources))[:n_kept]

    def _is_new(self, sources: Sources) -> bool:
        """Whether a crossing divides the rows further than all that it is made of by leaving out one column."""
        parts = [tuple(f for f in sources if f != left_out) for left_out in sources]
        return all(self._sizes.get(part, 0) < self._sizes[sources] for part in parts)


def choose_crossings(features: Sequence[int], limits: Limits, n_lines: int, stuff: Ingredients) -> list[Crossed]:
    """The crossings of these categories, also with a cut column, that tell most; in the order of their columns."""
    limits = limits.fitting(len(stuff.response.weights), n_lines)
    if limits.n_kept == 0:
        return []
    judge = Judge(features, stuff)
    alone: list[Sources] = [(f,) for f in features]
    judge.look_at(alone)
    chosen = _among_categories(judge, alone, features, limits)
    chosen += _with_numbers(judge, alone, features, list(stuff.cuts), limits)
    return Crossed.several(sorted(chosen, key=lambda sources: (len(sources), sources)), stuff)


def _among_categories(judge: Judge, alone: list[Sources], features: Sequence[int], limits: Limits) -> list[Sources]:
    """The best crossings of categories, pairs first: larger ones grow out of the best smaller ones."""
    best: list[Sources] = []
    grown = alone
    for _ in range(1, min(limits.n_crossed, len(features))):
        grown = judge.best_wider(grown, features, limits.n_kept)
        best = [*best, *grown]
    return judge.best(best, limits.n_kept)


def _with_numbers(
    judge: Judge, alone: list[Sources], features: Sequence[int], numbers: Sequence[int], limits: Limits
) -> list[Sources]:
    """The best crossings of a column of numbers with one category, and of these with more categories."""
    if not numbers or limits.n_with_numbers == 0:
        return []
    judge.look_at([(f,) for f in numbers])
    best: list[Sources] = []
    grown = judge.best_wider(alone, numbers, limits.n_with_numbers)
    for _ in range(1, min(limits.n_crossed, len(features))):
        best, grown = [*best, *grown], judge.best_wider(grown, features, limits.n_with_numbers)
    return judge.helped_by(judge.best([*best, *grown], limits.n_with_numbers), numbers)
