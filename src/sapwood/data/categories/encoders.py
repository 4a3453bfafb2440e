"""Encoders of categorical columns and combinations: one-hot, partition, frequency and target statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from sapwood.data.binning.max_bins import BinLimits, derived_max_bins, largest_limit
from sapwood.data.categories.combination_codes import MAX_MEMBERS, Sources, combine_columns, key_orders
from sapwood.data.categories.derived_feature import FREQUENCY, MEMBER, RANK, STATISTIC, DerivedFeature
from sapwood.data.categories.fixed_point_target import FixedPointTarget
from sapwood.data.categories.vocabulary import MISSING, Vocabulary
from sapwood.distributed.row_order import RowOrder
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.encode.target_statistics import bin_ordered_statistics, ordered_statistics, sum_targets
from sapwood.kernels.layout import MAX_CATEGORY_BINS
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.params.encodings import (
    Encoding,
    Frequency,
    Greedy,
    Holdout,
    LeaveOneOut,
    OneHot,
    Ordered,
    Partition,
    Statistic,
)

MIN_RANKED_ROWS = 10  # of a category to get a rank beyond the first column of a partition
MAX_RANKED = 2048  # categories of a column that splits can partition


class OrderedSums(NamedTuple):
    """Sums by code, and the ordered statistics (targets · priors, rows) by permutation: bins where there are edges."""

    sums: np.ndarray
    by_permutation: list[np.ndarray]
    edges: list[np.ndarray] | None = None


@dataclass(frozen=True, eq=False)
class EncodingInputs:
    """Inputs of encoders: codes of the rows, target, orders of the rows for ordered statistics, held-out rows.

    Numeric columns that have ``cuts`` have codes too, for combinations. ``ordered`` are statistics that have been
    computed already, by columns and encoding. Where ``workers`` have rows of their own, rows are those of this worker,
    and all that encoders compute from rows is computed from those of all workers; ``row_ids`` are then the numbers of
    the rows among all. ``needs_values`` is whether the values of statistics are needed that have bins of equal width.
    """

    vocabularies: Mapping[int, Vocabulary]
    codes: Mapping[int, np.ndarray]
    target: FixedPointTarget
    permutations: Sequence[RowOrder]
    held_out: np.ndarray
    run: Run = run_serial
    max_bins: BinLimits = 255
    cuts: Mapping[int, np.ndarray] = field(default_factory=dict)
    ordered: Mapping[tuple[Sources, Ordered], OrderedSums] = field(default_factory=dict)
    workers: Workers = LOCAL
    row_ids: np.ndarray | None = None
    needs_values: bool = True

    def search_order(self) -> RowOrder:
        """Return the order whose first rows combinations are searched by: a random one if there is any."""
        if self.permutations:
            return self.permutations[0]
        row_ids = np.arange(len(self.target.weights)) if self.row_ids is None else self.row_ids
        return RowOrder.unchanged(row_ids, self.workers)

    def n_codes(self, feature: int) -> int:
        """Return the number of codes of a categorical column, or of a numeric column that has cuts."""
        cuts = self.cuts.get(feature)
        return self.vocabularies[feature].n_codes if cuts is None else len(cuts) + 2


@dataclass(frozen=True, eq=False)
class Combination:
    """Codes of a categorical column or of a combination of columns, which has a key for each code but the last.

    The last code is that of unknown categories. ``key_order`` are the codes in the order of ascending keys.
    """

    sources: Sources
    codes: np.ndarray
    n_codes: int
    keys: np.ndarray | None = None
    key_order: np.ndarray | None = None

    @classmethod
    def of(cls, feature: int, inputs: EncodingInputs) -> Combination:
        """Return a single column."""
        return cls((feature,), inputs.codes[feature], inputs.n_codes(feature))

    @classmethod
    def encode_all(cls, combinations: Sequence[Sources], inputs: EncodingInputs) -> list[Combination]:
        """Encode combinations of columns."""
        columns = {f: inputs.codes[f] for f in sorted({f for sources in combinations for f in sources})}
        encoded = list(combine_columns(combinations, columns, inputs.run)) if combinations else []
        if inputs.workers.splits_rows:
            encoded = merge_codes(encoded, inputs.workers)
        orders = key_orders([keys for _, keys in encoded], inputs.run)
        return [
            cls(sources, codes, len(keys) + 1, keys, order)
            for sources, (codes, keys), order in zip(combinations, encoded, orders, strict=True)
        ]

    def sort_by_key(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Sort a table with an entry per code by ascending keys; return the table and the keys."""
        if self.keys is None:
            return table, None
        assert self.key_order is not None
        ordered = np.empty_like(table)
        # With "clip", rows are written to their places without a copy between.
        np.take(table[:-1], self.key_order, axis=0, out=ordered[:-1], mode="clip")
        ordered[-1:] = table[-1:]
        return ordered, self.keys.take(self.key_order)

    def sums(self, inputs: EncodingInputs, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the sums of weighted targets and of weights per code (codes, targets + 1), over ``rows`` or all."""
        target = inputs.target
        out = np.empty((self.n_codes, target.n_targets + 1), dtype=np.int64)
        rows = np.arange(len(self.codes), dtype=np.uint32) if rows is None else rows
        start = np.array([0, self.n_codes], dtype=np.int64)
        inputs.run(sum_targets, self.codes[None, :], rows, target.weighted, target.weights, start, out)
        return inputs.workers.sum(out)

    def counts(self, inputs: EncodingInputs) -> np.ndarray:
        """Return the number of rows of each code."""
        return inputs.workers.sum(np.bincount(self.codes, minlength=self.n_codes).astype(np.int64))


def merge_codes(
    encoded: Sequence[tuple[np.ndarray, np.ndarray]], workers: Workers
) -> list[tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    """Return codes and keys of combinations with the keys of all workers, ascending."""
    combination = np.repeat(np.arange(len(encoded)), [len(keys) for _, keys in encoded])
    all_combinations = workers.gather_rows(combination)
    all_keys = workers.gather_rows(np.concatenate([np.empty(0, np.uint64), *(keys for _, keys in encoded)]))
    merged = []
    for k, (codes, keys) in enumerate(encoded):
        known = np.unique(all_keys[all_combinations == k])
        merged.append((np.searchsorted(known, keys).astype(np.int32)[codes], known))
    return merged


@dataclass(eq=False)
class EncodedColumns:
    """Derived features, and the values of each for training rows, one array per permutation.

    Values are None where training rows have the values of new rows. Where a column has edges, values are its bins.
    """

    columns: list[DerivedFeature] = field(default_factory=list)
    values: list[list[np.ndarray] | None] = field(default_factory=list)
    edges: list[np.ndarray | None] = field(default_factory=list)

    def value_range(self, k: int, workers: Workers) -> tuple[float, float]:
        """Return the smallest and largest value of a column, of training rows and of new rows."""
        arrays = [self.columns[k].table, *(self.values[k] or ())]
        extremes = [
            -min(values.min(initial=np.inf) for values in arrays),  # this worker may have no rows
            max(values.max(initial=-np.inf) for values in arrays),
        ]
        low, high = workers.max(np.array(extremes)).tolist()
        return -low, high

    def add(
        self, column: DerivedFeature, values: list[np.ndarray] | None = None, edges: np.ndarray | None = None
    ) -> None:
        """Add a column."""
        self.columns.append(column)
        self.values.append(values)
        self.edges.append(edges)


Encoder = Callable[[Any, Combination, EncodingInputs], EncodedColumns]
ENCODERS: dict[type[Encoding], Encoder] = {}


def encoder_for(encoding: type[Encoding]) -> Callable[[Encoder], Encoder]:
    """Return a decorator that registers the function that computes the columns of an encoding."""

    def register(encoder: Encoder) -> Encoder:
        ENCODERS[encoding] = encoder
        return encoder

    return register


def encode_combination(encoding: Encoding, combination: Combination, inputs: EncodingInputs) -> EncodedColumns:
    """Return the columns of an encoding of a categorical column or a combination."""
    return ENCODERS[type(encoding)](encoding, combination, inputs)


@encoder_for(OneHot)
def _one_hot(_: Encoding, combination: Combination, inputs: EncodingInputs) -> EncodedColumns:
    encoded = EncodedColumns()
    observed = np.flatnonzero(combination.counts(inputs))
    categories = inputs.vocabularies[combination.sources[0]].categories
    zeros = np.zeros(combination.n_codes)
    for code in observed if len(observed) != 2 else observed[1:]:
        indicator = zeros.copy()
        indicator[code] = 1.0
        part = "is missing" if code == MISSING else f"is {categories[code - 1]!r}"
        encoded.add(DerivedFeature(combination.sources, MEMBER, indicator, zeros, part=part))
    if not encoded.columns:
        encoded.add(DerivedFeature(combination.sources, MEMBER, zeros, zeros))
    return encoded


@encoder_for(Partition)
def _partition(_: Encoding, combination: Combination, inputs: EncodingInputs) -> EncodedColumns:
    """Rank categories by descending frequency, as many in a column as there are bins; the others have no rank.

    Columns after the first hold categories of at least ``MIN_RANKED_ROWS`` rows.
    """
    counts = combination.counts(inputs)
    order = np.lexsort((np.arange(len(counts)), -counts))
    size = min(MAX_CATEGORY_BINS, largest_limit(derived_max_bins(inputs.max_bins, [combination.sources])))
    n_ranked = max(min(size, int(np.count_nonzero(counts))), int(np.count_nonzero(counts >= MIN_RANKED_ROWS)))
    encoded = EncodedColumns()
    for first in range(0, min(n_ranked, MAX_RANKED), size):
        chosen = order[first : min(first + size, n_ranked)]
        ranks = np.zeros(combination.n_codes)
        ranks[chosen] = np.arange(1, len(chosen) + 1)
        part = "" if first == 0 else f"levels from number {first + 1} on"  # the wording of model files
        encoded.add(DerivedFeature(combination.sources, RANK, ranks, np.zeros_like(ranks), part=part))
    return encoded


@encoder_for(Frequency)
def _frequency(_: Encoding, combination: Combination, inputs: EncodingInputs) -> EncodedColumns:
    sums, keys = combination.sort_by_key(combination.sums(inputs))
    weights, encoded = sums[:, -1] * inputs.target.units[-1], EncodedColumns()
    total = float(sums[:, -1].sum()) * float(inputs.target.units[-1])
    encoded.add(DerivedFeature(combination.sources, FREQUENCY, np.zeros_like(weights), weights, 0.0, total, keys))
    return encoded


@encoder_for(Ordered)
def _ordered(encoding: Ordered, combination: Combination, inputs: EncodingInputs) -> EncodedColumns:
    computed = inputs.ordered.get((combination.sources, encoding))
    sums, by_permutation, edges = computed or compute_ordered([combination], encoding, inputs)[0]
    return _statistics(encoding, combination, inputs, sums, lambda k: [values[k] for values in by_permutation], edges)


def compute_ordered(
    combinations: Sequence[Combination], encoding: Ordered, inputs: EncodingInputs
) -> list[OrderedSums]:  # fmt: skip
    """Return the ordered statistics of each combination, of each permutation."""
    if encoding.bins is not None and not inputs.needs_values and inputs.permutations[0].positions is None:
        return _bin_ordered(combinations, encoding, encoding.bins, inputs)
    target, priors = inputs.target, inputs.target.priors(encoding.priors)
    codes, start = _stack_codes(combinations)
    sums = np.empty((start[-1], target.n_targets + 1), dtype=np.int64)
    by_permutation = []
    for order in inputs.permutations[: encoding.permutations]:
        rows = order.to_range(codes), order.range_order, order.to_range(target.weighted), order.to_range(target.weights)
        before = np.zeros_like(sums)
        if inputs.workers.splits_rows:
            inputs.run(sum_targets, *rows, start, sums)
            before, sums = inputs.workers.sum_before(sums)
        out = np.empty((len(combinations), priors.size, len(rows[1])))
        inputs.run(ordered_statistics, *rows, start, before, target.units, priors, encoding.prior_weight, out)
        by_permutation.append(order.to_rows(out))
        sums = sums if inputs.workers.splits_rows else before
    return [
        OrderedSums(sums[start[j] : start[j + 1]], [values[j] for values in by_permutation])
        for j in range(len(combinations))
    ]


def _bin_ordered(
    combinations: Sequence[Combination], encoding: Ordered, n_bins: int, inputs: EncodingInputs
) -> list[OrderedSums]:  # fmt: skip
    """Return the bins of the ordered statistics of each combination, of equal width in the range of all values."""
    target, priors = inputs.target, inputs.target.priors(encoding.priors)
    codes, start = _stack_codes(combinations)
    orders = np.array([order.permutation for order in inputs.permutations[: encoding.permutations]])
    integers = np.concatenate([target.weighted, target.weights[None]])
    n, n_rows, n_members = len(combinations), codes.shape[1], min(len(combinations), MAX_MEMBERS)
    sums = np.empty((start[-1], len(integers)), dtype=np.int64)
    totals, values = (np.empty((n_members, k * len(orders), n_rows)) for k in (len(integers), 1))
    edges, n_edges = np.empty((n, priors.size, n_bins + 1)), np.empty((n, priors.size), dtype=np.int64)
    bins = np.empty((len(orders), n, priors.size, n_rows), dtype=np.uint8)
    inputs.run(
        bin_ordered_statistics, codes, orders, np.stack([integers.take(order, axis=1) for order in orders]), start,
        sums.reshape(-1), target.units, priors, encoding.prior_weight, totals, values, edges, n_edges, bins,
    )  # fmt: skip
    return [
        OrderedSums(
            sums[start[j] : start[j + 1]],
            list(bins[:, j]),
            [row[1 : 1 + k] for row, k in zip(edges[j], n_edges[j].tolist(), strict=True)],
        )
        for j in range(n)
    ]


def _stack_codes(combinations: Sequence[Combination]) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes of combinations (combinations, rows), and the start of each one's codes among those of all."""
    first = combinations[0].codes[None, :]
    codes = first if len(combinations) == 1 else np.stack([combination.codes for combination in combinations])
    return codes, np.concatenate([[0], np.cumsum([combination.n_codes for combination in combinations])])


@encoder_for(Greedy)
def _greedy(encoding: Statistic, combination: Combination, inputs: EncodingInputs) -> EncodedColumns:
    return _statistics(encoding, combination, inputs, combination.sums(inputs))


@encoder_for(Holdout)
def _holdout(encoding: Statistic, combination: Combination, inputs: EncodingInputs) -> EncodedColumns:
    held_out = np.flatnonzero(inputs.held_out).astype(np.uint32)
    return _statistics(encoding, combination, inputs, combination.sums(inputs, held_out))


@encoder_for(LeaveOneOut)
def _leave_one_out(encoding: Statistic, combination: Combination, inputs: EncodingInputs) -> EncodedColumns:
    sums, target = combination.sums(inputs), inputs.target
    priors, prior_weight = target.priors(encoding.priors), encoding.prior_weight

    def values(column: int) -> list[np.ndarray]:
        k, p = divmod(column, priors.shape[1])
        total = (sums[combination.codes, k] - target.weighted[k]) * target.units[k]
        weight = (sums[combination.codes, -1] - target.weights) * target.units[-1]
        return [(total + prior_weight * priors[k, p]) / (weight + prior_weight)]

    return _statistics(encoding, combination, inputs, sums, values)


def _statistics(
    encoding: Statistic,
    combination: Combination,
    inputs: EncodingInputs,
    sums: np.ndarray,
    values: Callable[[int], list[np.ndarray]] | None = None,
    edges: Sequence[np.ndarray] | None = None,
) -> EncodedColumns:
    """Return a column per target and prior; ``values`` gives the values of training rows by the column's number.

    If there are ``edges`` of each column, it gives their bins.
    """
    target, encoded = inputs.target, EncodedColumns()
    priors = target.priors(encoding.priors)
    sums, keys = combination.sort_by_key(sums)
    counts = sums[:, -1] * target.units[-1]
    for k in range(target.n_targets):
        totals = sums[:, k] * target.units[k]
        for p in range(priors.shape[1]):
            part = encoding.name + (f", class {k}" if target.n_targets > 1 else "")
            part += f", prior {priors[k, p]:.4g}" if priors.shape[1] > 1 else ""
            column = DerivedFeature(
                combination.sources, STATISTIC, totals, counts, float(priors[k, p]), encoding.prior_weight, keys, part,
            )  # fmt: skip
            number = k * priors.shape[1] + p
            of_rows, of_column = values and values(number), None if edges is None else edges[number]
            encoded.add(column, of_rows, of_column)
    return encoded
