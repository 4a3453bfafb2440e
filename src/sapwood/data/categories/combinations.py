"""Choose which category columns to cross: those whose crossed levels tell most of the target.

Larger crossings grow out of the best smaller ones, as far as they tell more than these. One column of numbers, cut into
levels, can join the categories, where it tells more than they do without it. A crossing is judged by its ordered
statistic, taken for a prediction of the target: every row is predicted by earlier rows alone, so that many rare levels
are no advantage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sapwood.data.binning.edges import find_edges
from sapwood.data.categories.combination_codes import CombinedCodes, Sources, Workspace, codes_of_columns
from sapwood.data.categories.encode import Combination, EncodingInputs
from sapwood.data.categories.plan import EncodingPlan
from sapwood.data.tables.table import Table
from sapwood.kernels.encode.combinations import score_combinations
from sapwood.params.encodings import Crossing, Statistic

# Values of all crossings of all rows at most: 8 bytes each while they are made, 2 afterwards.
MOST_VALUES = 2**26
# Rows that crossings are judged by, the first in their order: fewer where there are many pairs, so that it ends soon.
MOST_JUDGED, LEAST_JUDGED, MOST_LOOKS = 2**17, 2**13, 2**25
MAX_PAIRS = 40  # combinations of two categories
MAX_LARGER = 12  # combinations of three categories, and as many of four
MAX_WITH_NUMBERS = 12  # combinations of categories and a numeric column
TELLS_MORE = 1.02  # by how much a larger crossing decreases the error of no columns at all, relative to its parts


@dataclass(frozen=True)
class CombinationLimits:
    """How many categories are crossed at most, and how many crossings are kept.

    These are pairs of categories, crossings of each larger number of them, and crossings with numbers.
    """

    n_crossed: int
    n_pairs: int
    n_larger: int = 0
    n_with_numbers: int = 0

    def fitting(self, n_rows: int, n_lines: int) -> CombinationLimits:
        """The limits under which all crossings fit into memory, each with so many columns."""
        n_fitting = MOST_VALUES // max(1, n_rows * n_lines)
        n_pairs = min(self.n_pairs, n_fitting)
        n_with_numbers = min(self.n_with_numbers, n_fitting - n_pairs)
        n_larger = (n_fitting - n_pairs - n_with_numbers) // max(1, self.n_crossed - 2)
        return CombinationLimits(self.n_crossed, n_pairs, min(self.n_larger, n_larger), n_with_numbers)


class CombinationSearch:
    """Try crossings; remember by their columns how many levels they have and how good they are."""

    def __init__(self, features: Sequence[int], stuff: EncodingInputs) -> None:
        n_rows, response = len(stuff.response.weights), stuff.response
        order = stuff.orders[0] if len(stuff.orders) else np.arange(n_rows, dtype=np.uint32)
        n_pairs = len(features) * (len(features) - 1) // 2 + len(features) * len(stuff.cuts)
        order = order[: min(MOST_JUDGED, max(LEAST_JUDGED, MOST_LOOKS // max(1, n_pairs)))]
        self._lines = CombinedCodes.of({f: stuff.codes[f][order] for f in [*features, *stuff.cuts]})
        self._target = (
            np.ascontiguousarray(response.amounts[:, order]), response.weights[order], response.units,
            response.priors((None,))[:, 0],
        )  # fmt: skip
        self._run = stuff.run
        self._sizes: dict[Sources, int] = {}
        self._errors: dict[Sources, float] = {}
        self.look_at([()])

    def look_at(self, several: Sequence[Sources]) -> None:
        """Judge columns alone, or crossings of them."""
        chosen, n_rows, n_targets = self._lines.places(several), self._lines.n_rows, len(self._target[0])
        errors, counts = np.empty(len(several)), np.empty(len(several), dtype=np.int64)
        room = Workspace.of(n_rows, len(several))
        sums = np.empty((room.n_members, n_rows, n_targets + 1), dtype=np.int64)
        self._run(
            score_combinations,
            self._lines.codes,
            self._lines.sizes,
            chosen,
            *self._target,
            room.slots,
            room.keys,
            sums,
            errors,
            counts,
        )
        self._errors |= zip(several, errors.tolist(), strict=True)
        self._sizes |= zip(several, counts.tolist(), strict=True)

    def best_wider(self, narrow: Iterable[Sources], features: Sequence[int], n_kept: int) -> list[Sources]:
        """The best crossings of those given with one more column, the best first."""
        several = sorted({tuple(sorted((*one, f))) for one in narrow for f in features if f not in one})
        self.look_at(several)
        # Crossings that divide the rows alike have the same levels and error: the first stands for all.
        alike = {(self._sizes[one], self._errors[one]): one for one in reversed(several) if self._is_new(one)}
        return self.best(list(alike.values()), n_kept)

    def telling_more(self, several: Sequence[Sources]) -> list[Sources]:
        """The crossings that tell more than each that they are made of by leaving out one column."""
        return [one for one in several if self._told(one) > TELLS_MORE * max(map(self._told, parts(one)))]

    def _told(self, sources: Sources) -> float:
        """By how much a crossing decreases the error; nothing is known of those that were not looked at."""
        return self._errors[()] - self._errors.get(sources, self._errors[()])

    def helped_by(self, several: Sequence[Sources], numbers: Sequence[int]) -> list[Sources]:
        """The crossings that tell more than their categories do without the number."""
        without = {one: tuple(f for f in one if f not in numbers) for one in several}
        return [one for one in several if self._errors[one] < self._errors.get(without[one], np.inf)]

    def best(self, several: Sequence[Sources], n_kept: int) -> list[Sources]:
        """The best of several crossings, the best first."""
        return sorted(several, key=lambda sources: (self._errors[sources], sources))[:n_kept]

    def _is_new(self, sources: Sources) -> bool:
        """Whether a crossing divides the rows further than all that it is made of by leaving out one column."""
        return all(self._sizes.get(part, 0) < self._sizes[sources] for part in parts(sources))


def parts(sources: Sources) -> list[Sources]:
    """What is left of a crossing without one of its columns."""
    return [tuple(f for f in sources if f != left_out) for left_out in sources]


def search_combinations(
    features: Sequence[int], limits: CombinationLimits, n_lines: int, stuff: EncodingInputs
) -> list[Combination]:
    """The crossings of these categories, also with a cut column, that tell most; in the order of their columns."""
    limits = limits.fitting(len(stuff.response.weights), n_lines)
    if limits.n_pairs == 0:
        return []
    judge = CombinationSearch(features, stuff)
    alone: list[Sources] = [(f,) for f in features]
    judge.look_at(alone)
    chosen = _among_categories(judge, alone, features, limits)
    chosen += _with_numbers(judge, alone, features, list(stuff.cuts), limits)
    return Combination.several(sorted(chosen, key=lambda sources: (len(sources), sources)), stuff)


def _among_categories(
    judge: CombinationSearch, alone: list[Sources], features: Sequence[int], limits: CombinationLimits
) -> list[Sources]:
    """The best pairs of categories, and larger crossings that grow out of them and tell more than their parts."""
    best: list[Sources] = []
    grown = alone
    for size in range(2, min(limits.n_crossed, len(features)) + 1):
        if size == 2:
            grown = judge.best_wider(grown, features, limits.n_pairs)
        else:
            grown = judge.telling_more(judge.best_wider(grown, features, limits.n_larger))
        best = [*best, *grown]
    return best


def _with_numbers(
    judge: CombinationSearch,
    alone: list[Sources],
    features: Sequence[int],
    numbers: Sequence[int],
    limits: CombinationLimits,
) -> list[Sources]:
    """The best crossings of a column of numbers with one category, and of these with a second one."""
    if not numbers or limits.n_with_numbers == 0:
        return []
    judge.look_at([(f,) for f in numbers])
    best = judge.best_wider(alone, numbers, limits.n_with_numbers)
    if min(limits.n_crossed, len(features)) > 1:
        best = judge.best([*best, *judge.best_wider(best, features, limits.n_with_numbers)], limits.n_with_numbers)
    return judge.helped_by(best, numbers)


@dataclass(frozen=True, eq=False)
class NumericColumns:
    """Numeric columns that may be combined with categories, and the rows from which their cuts are chosen.

    ``features`` are column numbers of ``table``. Columns in ``cuts`` (of a model that is continued) keep their cuts.
    """

    table: Table
    features: Sequence[int]
    weight: np.ndarray | None
    row_ids: np.ndarray
    seed: int
    cuts: Mapping[int, np.ndarray] = field(default_factory=dict)

    def cut(self, n_bins: int, inputs: EncodingInputs) -> EncodingInputs:
        """Add the cuts of each column into at most ``n_bins`` bins, and the codes of the rows."""
        if not self.features:
            return inputs
        columns = self.table.select(list(self.features))
        edges = find_edges(columns, self.weight, n_bins, self.seed, self.row_ids, inputs.run)
        cuts = {f: self.cuts.get(f, line) for f, line in zip(self.features, edges, strict=True)}
        cuts = {f: line for f, line in cuts.items() if len(line)}
        return replace(inputs, cuts=cuts, codes={**inputs.codes, **codes_of_columns(self.table, cuts)})


PlannedCombinations = list[tuple[Combination, tuple[Statistic, ...]]]


def plan_combinations(
    plans: Mapping[int, EncodingPlan], inputs: EncodingInputs, crossing: Crossing, numbers: NumericColumns
) -> tuple[PlannedCombinations, EncodingInputs]:
    """Choose combinations of the columns that have target statistics, and the statistics of each combination.

    A combination has the statistics of its first category column. Return also the inputs, with the cuts of the
    numeric columns that are combined.
    """
    statistics = {f: tuple(one for one in plan.encodings if isinstance(one, Statistic)) for f, plan in plans.items()}
    features = [f for f, encodings in statistics.items() if encodings]
    if features and crossing.number_levels:
        inputs = numbers.cut(crossing.number_levels, inputs)
    if not features or (crossing.columns == 1 and not inputs.cuts):
        return [], inputs
    n_lines = max(len(one.priors) for f in features for one in statistics[f]) * inputs.response.n_targets
    limits = CombinationLimits(crossing.columns, MAX_PAIRS, MAX_LARGER, MAX_WITH_NUMBERS)
    chosen = search_combinations(features, limits, n_lines, inputs)
    combined = {f for one in chosen for f in one.sources}
    cuts = {f: line for f, line in inputs.cuts.items() if f in combined}
    planned = [(one, next(statistics[f] for f in one.sources if f in features)) for one in chosen]
    return planned, replace(inputs, cuts=cuts)
