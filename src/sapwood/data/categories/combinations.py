"""Choose which categorical columns to combine: those whose combined categories best predict the target.

Larger combinations extend the best smaller ones, as long as they predict better than their parts. One numeric column,
cut into bins, can join the categories where it improves them. A combination is evaluated by its ordered target
statistic as a prediction of the target: every row is predicted from earlier rows only, so that many rare categories are
no advantage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

import numpy as np

from sapwood.data.binning.bin_edges import find_edges
from sapwood.data.categories.combination_codes import (
    CodeMatrix,
    CombinationWorkspace,
    Sources,
    encode_number_columns,
    parts,
)
from sapwood.data.categories.encoders import Combination, EncodingInputs
from sapwood.data.categories.plan import EncodingPlan
from sapwood.data.tables.table import Table
from sapwood.kernels.encode.combinations import score_combinations
from sapwood.lazy_dataclass import dataclass
from sapwood.params.encodings import Crossing, Statistic

# Values of all columns of all combinations: 8 bytes each while they are computed, 1 or 2 as bins.
MAX_VALUES = 2**26
SEARCH_ROWS = 2**13  # by which combinations are evaluated, the first in random order
MAX_PAIRS = 40  # combinations of two categorical columns
MAX_LARGER = 12  # combinations of three categorical columns, and as many of four
MAX_WITH_NUMBERS = 12  # combinations of categorical columns and a numeric column
MAX_IN_TREES = 48  # combinations of each size that are used inside trees only
# A larger combination must reduce the squared error of the mean at least so many times as much as its best part.
MIN_RELATIVE_GAIN = 1.02


@dataclass(frozen=True)
class CombinationLimits:
    """Largest number of categorical columns in a combination, and of combinations of each kind.

    The kinds are pairs of categorical columns, larger combinations of each size, combinations with a numeric column,
    and those of each size that trees may use below a split on one of their parts only.
    """

    max_columns: int
    max_pairs: int
    max_larger: int = 0
    max_with_numbers: int = 0
    max_in_trees: int = 0

    def within_memory(self, n_rows: int, columns_per_combination: int) -> CombinationLimits:
        """Return the limits under which the encoded columns of all combinations fit into memory."""
        n_fitting = MAX_VALUES // max(1, n_rows * columns_per_combination)
        max_pairs = min(self.max_pairs, n_fitting)
        max_with_numbers = min(self.max_with_numbers, n_fitting - max_pairs)
        max_larger = (n_fitting - max_pairs - max_with_numbers) // max(1, self.max_columns - 2)
        max_larger = min(self.max_larger, max_larger)
        n_left = n_fitting - max_pairs - max_with_numbers - max_larger * max(0, self.max_columns - 2)
        max_in_trees = min(self.max_in_trees, n_left // max(1, self.max_columns - 1))
        return CombinationLimits(self.max_columns, max_pairs, max_larger, max_with_numbers, max_in_trees)


class CombinationSearch:
    """Evaluate combinations; remember the number of codes and the error of each."""

    def __init__(self, features: Sequence[int], inputs: EncodingInputs) -> None:
        target, order = inputs.target, inputs.search_order()
        codes = {f: order.gather_first(inputs.codes[f], SEARCH_ROWS) for f in [*features, *inputs.cuts]}
        self._matrix = CodeMatrix.of(codes)
        self._target = (
            order.gather_first(target.weighted, SEARCH_ROWS), order.gather_first(target.weights, SEARCH_ROWS),
            target.units, target.priors((None,))[:, 0],
        )  # fmt: skip
        self._run = inputs.run
        self._sizes: dict[Sources, int] = {}
        self._errors: dict[Sources, float] = {}
        self.evaluate([()])

    def evaluate(self, combinations: Sequence[Sources]) -> None:
        """Compute the error and the number of codes of each combination, or of single columns."""
        if not combinations:
            return
        matrix, n_targets = self._matrix, len(self._target[0])
        errors, counts = np.empty(len(combinations)), np.empty(len(combinations), dtype=np.int64)
        workspace = CombinationWorkspace.of(matrix.n_rows, len(combinations))
        sums = np.empty((workspace.n_members, matrix.n_rows, n_targets + 1), dtype=np.int64)
        self._run(
            score_combinations, matrix.codes, matrix.sizes, matrix.matrix_rows(combinations), *self._target,
            workspace.slots, workspace.keys, sums, errors, counts,
        )  # fmt: skip
        self._errors |= zip(combinations, errors.tolist(), strict=True)
        self._sizes |= zip(combinations, counts.tolist(), strict=True)

    def extend(self, combinations: Iterable[Sources], features: Sequence[int], n_kept: int) -> list[Sources]:
        """Return the best of all combinations with one of ``features`` added, best first."""
        extended = sorted(
            {tuple(sorted((*sources, f))) for sources in combinations for f in features if f not in sources}
        )
        self.evaluate([sources for sources in extended if sources not in self._errors])
        # Combinations that group the rows alike have the same number of codes and error: keep the first of them.
        distinct = {
            (self._sizes[sources], self._errors[sources]): sources
            for sources in reversed(extended)
            if self._refines_parts(sources)
        }
        return self.best(list(distinct.values()), n_kept)

    def improving(self, combinations: Sequence[Sources]) -> list[Sources]:
        """Return the combinations that predict better than each of their parts."""
        return [
            sources
            for sources in combinations
            if self._error_reduction(sources) > MIN_RELATIVE_GAIN * max(map(self._error_reduction, parts(sources)))
        ]

    def _error_reduction(self, sources: Sources) -> float:
        """Return by how much a combination reduces the error of the mean, 0 if it was not evaluated."""
        return self._errors[()] - self._errors.get(sources, self._errors[()])

    def improved_by_number(self, combinations: Sequence[Sources], numbers: Sequence[int]) -> list[Sources]:
        """Return the combinations that predict better than their categorical columns without the numeric one."""
        categorical = {sources: tuple(f for f in sources if f not in numbers) for sources in combinations}
        return [
            sources
            for sources in combinations
            if self._errors[sources] < self._errors.get(categorical[sources], np.inf)
        ]

    def best(self, combinations: Sequence[Sources], n_kept: int) -> list[Sources]:
        """Return the combinations of smallest error, best first."""
        return sorted(combinations, key=lambda sources: (self._errors[sources], sources))[:n_kept]

    def _refines_parts(self, sources: Sources) -> bool:
        """Return whether a combination divides the rows further than each of its parts."""
        return all(self._sizes.get(part, 0) < self._sizes[sources] for part in parts(sources))


class FoundCombinations(NamedTuple):
    """Combinations in the order of their columns; ``in_trees`` are the sources of those that grow inside trees."""

    combinations: list[Combination]
    in_trees: frozenset[Sources] = frozenset()


def search_combinations(
    features: Sequence[int], limits: CombinationLimits, columns_per_combination: int, inputs: EncodingInputs
) -> FoundCombinations:
    """Return the best combinations of categorical columns, also with a numeric one, and those that grow in trees."""
    n_rows = inputs.workers.count_rows(len(inputs.target.weights))
    limits = limits.within_memory(n_rows, columns_per_combination)
    if limits.max_pairs == 0:
        return FoundCombinations([])
    search = CombinationSearch(features, inputs)
    single: list[Sources] = [(f,) for f in features]
    search.evaluate(single)
    chosen = _search_categories(search, single, features, limits)
    chosen += _search_with_numbers(search, single, features, list(inputs.cuts), limits)
    in_trees = frozenset(_search_for_trees(search, single, features, limits)) - frozenset(chosen)
    ordered = sorted([*chosen, *in_trees], key=lambda sources: (len(sources), sources))
    return FoundCombinations(Combination.encode_all(ordered, inputs), in_trees)


def _search_for_trees(
    search: CombinationSearch, single: list[Sources], features: Sequence[int], limits: CombinationLimits
) -> list[Sources]:
    """Return the combinations that trees may grow: each extends a column or one of these by a column."""
    found: list[Sources] = []
    best = single
    for _ in range(2, min(limits.max_columns, len(features)) + 1):
        best = search.extend(best, features, limits.max_in_trees) if limits.max_in_trees else []
        found += best
    return found


def _search_categories(
    search: CombinationSearch, single: list[Sources], features: Sequence[int], limits: CombinationLimits
) -> list[Sources]:
    """Return the best pairs of categorical columns, and larger combinations that improve on their parts."""
    chosen: list[Sources] = []
    best = single
    for size in range(2, min(limits.max_columns, len(features)) + 1):
        if size == 2:
            best = search.extend(best, features, limits.max_pairs)
        else:
            best = search.improving(search.extend(best, features, limits.max_larger))
        chosen = [*chosen, *best]
    return chosen


def _search_with_numbers(
    search: CombinationSearch,
    single: list[Sources],
    features: Sequence[int],
    numbers: Sequence[int],
    limits: CombinationLimits,
) -> list[Sources]:
    """Return the best combinations of a numeric column with one or two categorical columns."""
    if not numbers or limits.max_with_numbers == 0:
        return []
    search.evaluate([(f,) for f in numbers])
    best = search.extend(single, numbers, limits.max_with_numbers)
    if min(limits.max_columns, len(features)) > 1:
        larger = search.extend(best, features, limits.max_with_numbers)
        best = search.best([*best, *larger], limits.max_with_numbers)
    return search.improved_by_number(best, numbers)


@dataclass(frozen=True, eq=False)
class NumericColumns:
    """Numeric columns that may be combined with categorical ones, and the rows from which their cuts are chosen.

    ``features`` are column numbers of ``table``. Columns in ``cuts``, those of a model that is continued, keep theirs.
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
        edges = find_edges(columns, self.weight, n_bins, self.seed, self.row_ids, inputs.run, inputs.workers)
        cuts = {f: self.cuts.get(f, found) for f, found in zip(self.features, edges, strict=True)}
        cuts = {f: points for f, points in cuts.items() if len(points)}
        return replace(inputs, cuts=cuts, codes={**inputs.codes, **encode_number_columns(self.table, cuts)})


class PlannedCombinations(NamedTuple):
    """Combinations with their statistics, and the sources of those that grow inside trees."""

    combinations: list[tuple[Combination, tuple[Statistic, ...]]]
    in_trees: frozenset[Sources] = frozenset()


def plan_combinations(
    plans: Mapping[int, EncodingPlan],
    inputs: EncodingInputs,
    crossing: Crossing,
    numbers: NumericColumns,
    in_trees: bool = False,
) -> tuple[PlannedCombinations, EncodingInputs]:
    """Choose combinations of the columns that have target statistics, and the statistics of each combination.

    A combination has the statistics of its first categorical column, with the priors of ``crossing`` if it has any.
    With ``in_trees``, combinations that grow inside trees are added. Return also the inputs, with the cuts of the
    numeric columns that are combined.
    """
    statistics = {f: _combined_statistics(plan, crossing) for f, plan in plans.items()}
    features = [f for f, encodings in statistics.items() if encodings]
    if features and crossing.number_levels:
        inputs = numbers.cut(crossing.number_levels, inputs)
    if not features or (crossing.columns == 1 and not inputs.cuts):
        return PlannedCombinations([]), inputs
    max_priors = max(len(encoding.priors) for f in features for encoding in statistics[f])
    limits = CombinationLimits(
        crossing.columns, MAX_PAIRS, MAX_LARGER, MAX_WITH_NUMBERS, MAX_IN_TREES if in_trees else 0
    )
    found = search_combinations(features, limits, max_priors * inputs.target.n_targets, inputs)
    combined = {f for combination in found.combinations for f in combination.sources}
    cuts = {f: points for f, points in inputs.cuts.items() if f in combined}
    planned = [(c, next(statistics[f] for f in c.sources if f in features)) for c in found.combinations]
    return PlannedCombinations(planned, found.in_trees), replace(inputs, cuts=cuts)


def _combined_statistics(plan: EncodingPlan, crossing: Crossing) -> tuple[Statistic, ...]:
    """Return the statistics that the combinations of a column have."""
    statistics = (encoding for encoding in plan.encodings if isinstance(encoding, Statistic))
    if crossing.priors is None:
        return tuple(statistics)
    return tuple(dict.fromkeys(replace(statistic, priors=crossing.priors) for statistic in statistics))
