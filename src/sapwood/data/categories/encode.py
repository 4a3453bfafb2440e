"""Fit a recipe: find the levels of categories, and make columns for trees of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sapwood.data.categories.combination_codes import Sources, combine_categories
from sapwood.data.categories.fixed_point_target import FixedPointTarget
from sapwood.data.categories.transformer import (
    FREQUENCY,
    MEMBER,
    RANK,
    STATISTIC,
    DerivedFeature,
    FeatureTransformer,
    TransformedTable,
)
from sapwood.data.categories.vocabulary import MISSING, Vocabulary
from sapwood.data.tables.table import Table
from sapwood.kernels.encode.target_statistics import ordered_statistics, sum_targets
from sapwood.kernels.layout import MAX_CATEGORY_BINS
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

RANKED_ROWS = 10  # of a level beyond those of the first column
MOST_RANKED = 2048  # levels of a category that leaves can divide

OrderedSums = tuple[np.ndarray, list[np.ndarray]]  # sums by code, and statistics by order of rows


@dataclass(frozen=True, eq=False)
class EncodingInputs:
    """What columns are made of: the rows' codes, their response, the orders of rows, and which rows are held out.

    Columns of numbers that have ``cuts`` have codes too, for crossings. Statistics that are ``ordered`` already are by
    their columns and encoding.
    """

    vocabularies: Mapping[int, Vocabulary]
    codes: Mapping[int, np.ndarray]
    response: FixedPointTarget
    orders: Sequence[np.ndarray]
    held_out: np.ndarray
    run: Run = run_serial
    max_bins: int = 255
    cuts: Mapping[int, np.ndarray] = field(default_factory=dict)
    ordered: Mapping[tuple[Sources, Ordered], OrderedSums] = field(default_factory=dict)

    def n_codes(self, feature: int) -> int:
        """How many codes a category has, or a column of numbers that is cut into levels."""
        cuts = self.cuts.get(feature)
        return self.vocabularies[feature].n_codes if cuts is None else len(cuts) + 2


@dataclass(frozen=True, eq=False)
class Combination:
    """The codes of one category, or of several crossed: the number of codes, and the keys of crossed ones.

    The last code is for levels that no row has.
    """

    sources: Sources
    codes: np.ndarray
    n_codes: int
    keys: np.ndarray | None = None

    @classmethod
    def of(cls, feature: int, stuff: EncodingInputs) -> Combination:
        """One column by itself."""
        return cls((feature,), stuff.codes[feature], stuff.n_codes(feature))

    @classmethod
    def several(cls, several: Sequence[Sources], stuff: EncodingInputs) -> list[Combination]:
        """Number the levels that rows have in crossings."""
        columns = {f: stuff.codes[f] for f in sorted({f for sources in several for f in sources})}
        crossed = combine_categories(several, columns, stuff.run) if several else ()
        return [
            cls(sources, codes, len(keys) + 1, keys) for sources, (codes, keys) in zip(several, crossed, strict=True)
        ]

    def ascending(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """A table that has an entry for each code, with entries in the order of the keys, and the keys ascending."""
        if self.keys is None:
            return table, None
        order = np.argsort(self.keys)
        return np.concatenate([table[:-1][order], table[-1:]]), self.keys[order]

    def sums(self, stuff: EncodingInputs, rows: np.ndarray | None = None) -> np.ndarray:
        """The sums of amounts and weights of every code over some rows: (codes, targets + 1)."""
        out = np.empty((self.n_codes, stuff.response.n_targets + 1), dtype=np.int64)
        rows = np.arange(len(self.codes), dtype=np.uint32) if rows is None else rows
        start = np.array([0, self.n_codes], dtype=np.int64)
        stuff.run(sum_targets, self.codes[None, :], rows, stuff.response.amounts, stuff.response.weights, start, out)
        return out


@dataclass(eq=False)
class EncodedColumns:
    """The columns made so far, and for each the values of training rows, one array per order of rows."""

    columns: list[DerivedFeature] = field(default_factory=list)
    values: list[list[np.ndarray] | None] = field(default_factory=list)

    def span(self, k: int) -> tuple[float, float]:
        """The least and the largest value of a column, of training rows and of new ones."""
        every = [self.columns[k].table, *(self.values[k] or ())]
        return min(float(one.min()) for one in every), max(float(one.max()) for one in every)

    def add(self, column: DerivedFeature, values: list[np.ndarray] | None = None) -> None:
        """Add a column; training rows whose values are not given have those of new rows."""
        self.columns.append(column)
        self.values.append(values)


Encoder = Callable[[Any, Combination, EncodingInputs], EncodedColumns]
ENCODERS: dict[type[Encoding], Encoder] = {}


def encoder_for(encoding: type[Encoding]) -> Callable[[Encoder], Encoder]:
    """Return a decorator that registers the function that computes the features of an encoding."""

    def register(encoder: Encoder) -> Encoder:
        ENCODERS[encoding] = encoder
        return encoder

    return register


def encode_combination(encoding: Encoding, crossed: Combination, stuff: EncodingInputs) -> EncodedColumns:
    """The columns that an encoding makes of a category or several crossed ones."""
    return ENCODERS[type(encoding)](encoding, crossed, stuff)


@encoder_for(OneHot)
def _one_hot(_: Encoding, crossed: Combination, stuff: EncodingInputs) -> EncodedColumns:
    made = EncodedColumns()
    present = np.flatnonzero(np.bincount(crossed.codes, minlength=crossed.n_codes))
    texts = stuff.vocabularies[crossed.sources[0]].texts
    nothing = np.zeros(crossed.n_codes)
    for code in present if len(present) != 2 else present[1:]:
        member = nothing.copy()
        member[code] = 1.0
        part = "is missing" if code == MISSING else f"is {texts[code - 1]!r}"
        made.add(DerivedFeature(crossed.sources, MEMBER, member, nothing, part=part))
    if not made.columns:
        made.add(DerivedFeature(crossed.sources, MEMBER, nothing, nothing))
    return made


@encoder_for(Partition)
def _partition(_: Encoding, crossed: Combination, stuff: EncodingInputs) -> EncodedColumns:
    """Levels by their rank, the most frequent first, as many in a column as there are bins; the others have none.

    Columns behind the first have the levels that are not too rare to be told from chance.
    """
    counts = np.bincount(crossed.codes, minlength=crossed.n_codes)
    order = np.lexsort((np.arange(len(counts)), -counts))
    size = min(MAX_CATEGORY_BINS, stuff.max_bins)
    n_ranked = max(min(size, int(np.count_nonzero(counts))), int(np.count_nonzero(counts >= RANKED_ROWS)))
    made = EncodedColumns()
    for first in range(0, min(n_ranked, MOST_RANKED), size):
        chosen = order[first : min(first + size, n_ranked)]
        ranks = np.zeros(crossed.n_codes)
        ranks[chosen] = np.arange(1, len(chosen) + 1)
        part = "" if first == 0 else f"levels from number {first + 1} on"
        made.add(DerivedFeature(crossed.sources, RANK, ranks, np.zeros_like(ranks), part=part))
    return made


@encoder_for(Frequency)
def _frequency(_: Encoding, crossed: Combination, stuff: EncodingInputs) -> EncodedColumns:
    sums, keys = crossed.ascending(crossed.sums(stuff))
    weights, made = sums[:, -1] * stuff.response.units[-1], EncodedColumns()
    total = float(stuff.response.weights.sum()) * float(stuff.response.units[-1])
    made.add(DerivedFeature(crossed.sources, FREQUENCY, np.zeros_like(weights), weights, 0.0, total, keys))
    return made


@encoder_for(Ordered)
def _ordered(encoding: Ordered, crossed: Combination, stuff: EncodingInputs) -> EncodedColumns:
    ready = stuff.ordered.get((crossed.sources, encoding)) or order_all([crossed], encoding, stuff)[0]
    sums, by_order = ready
    return _statistics(encoding, crossed, stuff, sums, lambda line: [values[line] for values in by_order])


def order_all(several: Sequence[Combination], encoding: Ordered, stuff: EncodingInputs) -> list[OrderedSums]:
    """The sums of every code of some crossings, and for each order the statistics of rows (targets · priors, rows)."""
    response, priors = stuff.response, stuff.response.priors(encoding.priors)
    codes = several[0].codes[None, :] if len(several) == 1 else np.stack([one.codes for one in several])
    start = np.concatenate([[0], np.cumsum([one.n_codes for one in several])])
    sums = np.empty((start[-1], response.n_targets + 1), dtype=np.int64)
    by_order = []
    for order in stuff.orders[: encoding.permutations]:
        out = np.empty((len(several), priors.size, codes.shape[1]))
        stuff.run(
            ordered_statistics, codes, order, response.amounts, response.weights, start, sums, response.units, priors,
            encoding.prior_weight, out,
        )  # fmt: skip
        by_order.append(out)
    return [(sums[start[j] : start[j + 1]], [values[j] for values in by_order]) for j in range(len(several))]


@encoder_for(Greedy)
def _greedy(encoding: Statistic, crossed: Combination, stuff: EncodingInputs) -> EncodedColumns:
    return _statistics(encoding, crossed, stuff, crossed.sums(stuff))


@encoder_for(Holdout)
def _holdout(encoding: Statistic, crossed: Combination, stuff: EncodingInputs) -> EncodedColumns:
    return _statistics(encoding, crossed, stuff, crossed.sums(stuff, np.flatnonzero(stuff.held_out).astype(np.uint32)))


@encoder_for(LeaveOneOut)
def _leave_one_out(encoding: Statistic, crossed: Combination, stuff: EncodingInputs) -> EncodedColumns:
    sums, response = crossed.sums(stuff), stuff.response
    priors, a = response.priors(encoding.priors), encoding.prior_weight

    def values(line: int) -> list[np.ndarray]:
        k, p = divmod(line, priors.shape[1])
        total = (sums[crossed.codes, k] - response.amounts[k]) * response.units[k]
        weight = (sums[crossed.codes, -1] - response.weights) * response.units[-1]
        return [(total + a * priors[k, p]) / (weight + a)]

    return _statistics(encoding, crossed, stuff, sums, values)


def _statistics(
    encoding: Statistic,
    crossed: Combination,
    stuff: EncodingInputs,
    sums: np.ndarray,
    values: Callable[[int], list[np.ndarray]] | None = None,
) -> EncodedColumns:
    """A column for every target and prior, the values of training rows by its number."""
    made, priors = EncodedColumns(), stuff.response.priors(encoding.priors)
    sums, keys = crossed.ascending(sums)
    counts = sums[:, -1] * stuff.response.units[-1]
    for k in range(stuff.response.n_targets):
        amounts = sums[:, k] * stuff.response.units[k]
        for p in range(priors.shape[1]):
            part = encoding.name + (f", class {k}" if stuff.response.n_targets > 1 else "")
            part += f", prior {priors[k, p]:.4g}" if priors.shape[1] > 1 else ""
            column = DerivedFeature(
                crossed.sources, STATISTIC, amounts, counts, float(priors[k, p]), encoding.prior_weight, keys, part,
            )  # fmt: skip
            made.add(column, None if values is None else values(k * priors.shape[1] + p))
    return made


@dataclass(frozen=True, eq=False)
class EncodedTables:
    """A fitted recipe, and the table of its training rows, once per order of rows.

    ``edges`` are between the bins of those columns that have bins of their own.
    """

    transformer: FeatureTransformer
    tables: tuple[Table, ...]
    edges: Mapping[int, np.ndarray]


def _order_together(
    every: Sequence[tuple[Combination, Sequence[Encoding]]], stuff: EncodingInputs
) -> dict[tuple[Sources, Ordered], OrderedSums]:
    """The ordered statistics of all columns that have the same, which the members of the team share out."""
    ordered: dict[tuple[Sources, Ordered], OrderedSums] = {}
    for encoding in {one: None for _, encodings in every for one in encodings if isinstance(one, Ordered)}:
        several = [crossed for crossed, encodings in every if encoding in encodings]
        made = order_all(several, encoding, stuff)
        ordered |= {(one.sources, encoding): sums for one, sums in zip(several, made, strict=True)}
    return ordered


def encode_categories(
    table: Table,
    plan: Mapping[int, Sequence[Encoding]],
    crossings: Sequence[tuple[Combination, Sequence[Encoding]]],
    stuff: EncodingInputs,
) -> EncodedTables:
    """Make columns of every category as planned, and of the crossings."""
    columns: list[int | DerivedFeature | None] = [None if f in plan else f for f in range(table.n_features)]
    values: dict[int, list[np.ndarray]] = {}
    edges: dict[int, np.ndarray] = {}
    every = [*((Combination.of(f, stuff), encodings) for f, encodings in plan.items()), *crossings]
    stuff = replace(stuff, ordered=_order_together(every, stuff))
    for crossed, encodings in every:
        sources = crossed.sources
        for encoding in encodings:
            made = encode_combination(encoding, crossed, stuff)
            for k, (column, own) in enumerate(zip(made.columns, made.values, strict=True)):
                place = sources[0] if len(sources) == 1 and columns[sources[0]] is None else len(columns)
                if place == len(columns):
                    columns.append(None)
                columns[place] = column
                if column.kind == RANK:
                    edges[place] = np.arange(1.0, column.sums.max()) + 0.5  # the bin of a level is its rank
                if isinstance(encoding, Statistic) and encoding.bins is not None:
                    edges[place] = np.unique(np.linspace(*made.span(k), encoding.bins + 1)[1:-1])
                if own is not None:
                    values[place] = own
    recipe = FeatureTransformer(stuff.vocabularies, tuple(c for c in columns if c is not None), stuff.cuts)
    n_orders = max([1, *(len(own) for own in values.values())])
    tables = tuple(
        TransformedTable(table, recipe, stuff.codes, {k: own[s % len(own)] for k, own in values.items()})
        for s in range(n_orders)
    )
    return EncodedTables(recipe, tables, edges)
