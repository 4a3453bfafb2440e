"""Fit a recipe: find the levels of categories, and make columns for trees of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sapwood.data.categories import MISSING, Vocabulary
from sapwood.data.columns import Table
from sapwood.data.crossing import cross_levels
from sapwood.data.numeric import Run, run_alone
from sapwood.data.recipe import FREQUENCY, MEMBER, RANK, STATISTIC, Derived, Recipe, RecipeTable
from sapwood.data.response import Response
from sapwood.encodings import (
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
from sapwood.kernels.layout import MOST_LEVELS
from sapwood.kernels.target_stats import ordered_statistics, sum_levels

RANKED_ROWS = 10  # of a level beyond those of the first column
MOST_RANKED = 2048  # levels of a category that leaves can divide

Values = np.ndarray | None  # of training rows, where they differ from those of new rows


@dataclass(frozen=True, eq=False)
class Ingredients:
    """What columns are made of: the rows' codes, their response, the orders of rows, and which rows are held out.

    Columns of numbers that have ``cuts`` have codes too, for crossings.
    """

    vocabularies: Mapping[int, Vocabulary]
    codes: Mapping[int, np.ndarray]
    response: Response
    orders: Sequence[np.ndarray]
    held_out: np.ndarray
    run: Run = run_alone
    max_bins: int = 255
    cuts: Mapping[int, np.ndarray] = field(default_factory=dict)

    def n_codes(self, feature: int) -> int:
        """How many codes a category has, or a column of numbers that is cut into levels."""
        cuts = self.cuts.get(feature)
        return self.vocabularies[feature].n_codes if cuts is None else len(cuts) + 2


@dataclass(frozen=True, eq=False)
class Crossed:
    """The codes of one category, or of several crossed: the number of codes, and the keys of crossed ones."""

    sources: tuple[int, ...]
    codes: np.ndarray
    n_codes: int
    keys: np.ndarray | None = None

    @classmethod
    def of(cls, sources: tuple[int, ...], stuff: Ingredients) -> Crossed:
        """Number the levels that rows have."""
        if len(sources) == 1:
            return cls(sources, stuff.codes[sources[0]], stuff.n_codes(sources[0]))
        keys, codes = cross_levels([stuff.codes[f] for f in sources], [stuff.n_codes(f) for f in sources])
        return cls(sources, codes, len(keys) + 1, keys)

    def sums(self, stuff: Ingredients, rows: np.ndarray | None = None) -> np.ndarray:
        """The sums of amounts and weights of every code over some rows: (codes, targets + 1)."""
        out = np.empty((self.n_codes, stuff.response.n_targets + 1), dtype=np.int64)
        rows = np.arange(len(self.codes), dtype=np.uint32) if rows is None else rows
        start = np.array([0, self.n_codes], dtype=np.int64)
        stuff.run(sum_levels, self.codes[None, :], rows, stuff.response.amounts, stuff.response.weights, start, out)
        return out


@dataclass(eq=False)
class Made:
    """The columns made so far, and for each the values of training rows, one array per order of rows."""

    columns: list[Derived] = field(default_factory=list)
    values: list[list[np.ndarray] | None] = field(default_factory=list)

    def span(self, k: int) -> tuple[float, float]:
        """The least and the largest value of a column, of training rows and of new ones."""
        every = [self.columns[k].table, *(self.values[k] or ())]
        return min(float(one.min()) for one in every), max(float(one.max()) for one in every)

    def add(self, column: Derived, values: list[np.ndarray] | None = None) -> None:
        """Add a column; training rows whose values are not given have those of new rows."""
        self.columns.append(column)
        self.values.append(values)


def make_columns(encoding: Encoding, crossed: Crossed, stuff: Ingredients) -> Made:
    """The columns that an encoding makes of a category or several crossed ones."""
    return MAKERS[type(encoding)](encoding, crossed, stuff)


def _one_hot(_: Encoding, crossed: Crossed, stuff: Ingredients) -> Made:
    made = Made()
    present = np.flatnonzero(np.bincount(crossed.codes, minlength=crossed.n_codes))
    texts = stuff.vocabularies[crossed.sources[0]].texts
    nothing = np.zeros(crossed.n_codes)
    for code in present if len(present) != 2 else present[1:]:
        member = nothing.copy()
        member[code] = 1.0
        part = "is missing" if code == MISSING else f"is {texts[code - 1]!r}"
        made.add(Derived(crossed.sources, MEMBER, member, nothing, keys=crossed.keys, part=part))
    if not made.columns:
        made.add(Derived(crossed.sources, MEMBER, nothing, nothing, keys=crossed.keys))
    return made


def _partition(_: Encoding, crossed: Crossed, stuff: Ingredients) -> Made:
    """Levels by their rank, the most frequent first, as many in a column as there are bins; the others have none.

    Columns behind the first have the levels that are not too rare to be told from chance.
    """
    counts = np.bincount(crossed.codes, minlength=crossed.n_codes)
    order = np.lexsort((np.arange(len(counts)), -counts))
    size = min(MOST_LEVELS, stuff.max_bins)
    n_ranked = max(min(size, int(np.count_nonzero(counts))), int(np.count_nonzero(counts >= RANKED_ROWS)))
    made = Made()
    for first in range(0, min(n_ranked, MOST_RANKED), size):
        chosen = order[first : min(first + size, n_ranked)]
        ranks = np.zeros(crossed.n_codes)
        ranks[chosen] = np.arange(1, len(chosen) + 1)
        part = "" if first == 0 else f"levels from number {first + 1} on"
        made.add(Derived(crossed.sources, RANK, ranks, np.zeros_like(ranks), part=part))
    return made


def _frequency(_: Encoding, crossed: Crossed, stuff: Ingredients) -> Made:
    weights = crossed.sums(stuff)[:, -1] * stuff.response.units[-1]
    made = Made()
    total = float(stuff.response.weights.sum()) * float(stuff.response.units[-1])
    made.add(Derived(crossed.sources, FREQUENCY, np.zeros_like(weights), weights, 0.0, total, crossed.keys))
    return made


def _ordered(encoding: Ordered, crossed: Crossed, stuff: Ingredients) -> Made:
    response, priors = stuff.response, stuff.response.priors(encoding.priors)
    n_lines = priors.size
    start = np.array([0, crossed.n_codes], dtype=np.int64)
    sums = np.empty((crossed.n_codes, response.n_targets + 1), dtype=np.int64)
    by_order = []
    for order in stuff.orders[: encoding.permutations]:
        out = np.empty((1, n_lines, len(crossed.codes)))
        stuff.run(
            ordered_statistics, crossed.codes[None, :], order, response.amounts, response.weights, start, sums,
            response.units, priors, encoding.prior_weight, out,
        )  # fmt: skip
        by_order.append(out[0])
    return _statistics(encoding, crossed, stuff, sums, lambda line: [values[line] for values in by_order])


def _greedy(encoding: Statistic, crossed: Crossed, stuff: Ingredients) -> Made:
    return _statistics(encoding, crossed, stuff, crossed.sums(stuff))


def _holdout(encoding: Statistic, crossed: Crossed, stuff: Ingredients) -> Made:
    return _statistics(encoding, crossed, stuff, crossed.sums(stuff, np.flatnonzero(stuff.held_out).astype(np.uint32)))


def _leave_one_out(encoding: Statistic, crossed: Crossed, stuff: Ingredients) -> Made:
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
    crossed: Crossed,
    stuff: Ingredients,
    sums: np.ndarray,
    values: Callable[[int], list[np.ndarray]] | None = None,
) -> Made:
    """A column for every target and prior, the values of training rows by its number."""
    made, priors = Made(), stuff.response.priors(encoding.priors)
    counts = sums[:, -1] * stuff.response.units[-1]
    for k in range(stuff.response.n_targets):
        amounts = sums[:, k] * stuff.response.units[k]
        for p in range(priors.shape[1]):
            part = encoding.name + (f", class {k}" if stuff.response.n_targets > 1 else "")
            part += f", prior {priors[k, p]:.4g}" if priors.shape[1] > 1 else ""
            column = Derived(
                crossed.sources, STATISTIC, amounts, counts, float(priors[k, p]), encoding.prior_weight, crossed.keys,
                part,
            )  # fmt: skip
            made.add(column, None if values is None else values(k * priors.shape[1] + p))
    return made


MAKERS: dict[type[Encoding], Callable[..., Made]] = {
    OneHot: _one_hot,
    Partition: _partition,
    Frequency: _frequency,
    Ordered: _ordered,
    Greedy: _greedy,
    Holdout: _holdout,
    LeaveOneOut: _leave_one_out,
}


@dataclass(frozen=True, eq=False)
class Cooked:
    """A fitted recipe, and the table of its training rows, once per order of rows.

    ``edges`` are between the bins of those columns that have bins of their own.
    """

    recipe: Recipe
    tables: tuple[Table, ...]
    edges: Mapping[int, np.ndarray]


def cook(
    table: Table,
    plan: Mapping[int, Sequence[Encoding]],
    crossings: Sequence[tuple[Crossed, Sequence[Encoding]]],
    stuff: Ingredients,
) -> Cooked:
    """Make columns of every category as planned, and of the crossings."""
    columns: list[int | Derived | None] = [None if f in plan else f for f in range(table.n_features)]
    values: dict[int, list[np.ndarray]] = {}
    edges: dict[int, np.ndarray] = {}
    for crossed, encodings in [*((Crossed.of((f,), stuff), one) for f, one in plan.items()), *crossings]:
        sources = crossed.sources
        for encoding in encodings:
            made = make_columns(encoding, crossed, stuff)
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
    recipe = Recipe(stuff.vocabularies, tuple(c for c in columns if c is not None), stuff.cuts)
    n_orders = max([1, *(len(own) for own in values.values())])
    tables = tuple(
        RecipeTable(table, recipe, stuff.codes, {k: own[s % len(own)] for k, own in values.items()})
        for s in range(n_orders)
    )
    return Cooked(recipe, tables, edges)
