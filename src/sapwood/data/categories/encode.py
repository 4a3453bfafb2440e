"""Fit the feature transformer: encode the categorical columns and combinations of the training rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sapwood.data.categories.combination_codes import Sources
from sapwood.data.categories.derived_feature import RANK, DerivedFeature
from sapwood.data.categories.encoders import (
    Combination,
    EncodingInputs,
    OrderedSums,
    compute_ordered,
    encode_combination,
)
from sapwood.data.categories.numeric_cross import NumericCross
from sapwood.data.categories.transformer import FeatureTransformer, TransformedTable
from sapwood.data.tables.table import Table
from sapwood.lazy_dataclass import dataclass
from sapwood.params.encodings import Encoding, Ordered, Statistic


@dataclass(frozen=True, eq=False)
class EncodedTables:
    """A fitted transformer, and the transformed table of the training rows, one per permutation.

    ``edges`` are the bin edges of the columns that have bins of their own, ``statistics`` the columns that target
    statistics have. ``kept_rows`` are the rows that trees are grown on, None for all. ``bins`` are those of the columns
    that exist in bins only, by permutation; the tables have the values of new rows in their place.
    """

    transformer: FeatureTransformer
    tables: tuple[TransformedTable, ...]
    edges: Mapping[int, np.ndarray]
    statistics: tuple[StatisticColumns, ...] = ()
    kept_rows: np.ndarray | None = None
    bins: tuple[Mapping[int, np.ndarray], ...] = ()

    def row_tables(self) -> tuple[Table, ...]:
        """Return the tables of the rows that trees are grown on."""
        rows = self.kept_rows
        return self.tables if rows is None else tuple(table.take(rows) for table in self.tables)

    def with_crosses(self, crosses: Sequence[NumericCross]) -> EncodedTables:
        """Return the tables with numeric crosses as further columns."""
        tables = tuple(table.with_crosses(crosses) for table in self.tables)
        return replace(self, transformer=self.transformer.with_crosses(crosses), tables=tables)


class StatisticColumns(NamedTuple):
    """A target statistic of a categorical column or a combination, and the numbers of its columns."""

    sources: Sources
    encoding: Statistic
    columns: tuple[int, ...]


def encode_categories(
    table: Table,
    plan: Mapping[int, Sequence[Encoding]],
    combinations: Sequence[tuple[Combination, Sequence[Encoding]]],
    inputs: EncodingInputs,
) -> EncodedTables:
    """Encode each categorical column as planned, and each combination."""
    columns: list[int | DerivedFeature | None] = [None if f in plan else f for f in range(table.n_features)]
    values: dict[int, list[np.ndarray]] = {}
    bins: dict[int, list[np.ndarray]] = {}
    edges: dict[int, np.ndarray] = {}
    statistics: list[StatisticColumns] = []
    planned = [*((Combination.of(f, inputs), encodings) for f, encodings in plan.items()), *combinations]
    inputs = replace(inputs, ordered=_compute_all_ordered(planned, inputs))
    for combination, encodings in planned:
        sources = combination.sources
        for encoding in encodings:
            encoded = encode_combination(encoding, combination, inputs)
            positions = []
            columns_of = zip(encoded.columns, encoded.values, encoded.edges, strict=True)
            for k, (column, column_values, column_edges) in enumerate(columns_of):
                position = sources[0] if len(sources) == 1 and columns[sources[0]] is None else len(columns)
                if position == len(columns):
                    columns.append(None)
                columns[position] = column
                positions.append(position)
                if column.kind == RANK:
                    edges[position] = np.arange(1.0, column.sums.max()) + 0.5  # the bin of a category is its rank
                if column_edges is not None:
                    edges[position] = column_edges
                elif isinstance(encoding, Statistic) and encoding.bins is not None:
                    edges[position] = np.unique(
                        np.linspace(*encoded.value_range(k, inputs.workers), encoding.bins + 1)[1:-1]
                    )
                if column_values is not None:
                    (values if column_edges is None else bins)[position] = column_values
            if isinstance(encoding, Statistic):
                statistics.append(StatisticColumns(sources, encoding, tuple(positions)))
    transformer = FeatureTransformer(inputs.vocabularies, tuple(c for c in columns if c is not None), inputs.cuts)
    n_tables = max([1, *map(len, values.values()), *map(len, bins.values())])
    tables = tuple(
        TransformedTable(table, transformer, inputs.codes, _of_permutation(values, s)) for s in range(n_tables)
    )
    by_permutation = tuple(_of_permutation(bins, s) for s in range(n_tables))
    return EncodedTables(transformer, tables, edges, tuple(statistics), bins=by_permutation)


def encode_statistics_again(
    table: Table, transformer: FeatureTransformer, statistics: Sequence[StatisticColumns], inputs: EncodingInputs
) -> tuple[FeatureTransformer, Table]:
    """Compute the target statistics of a transformer from the rows of another table, all other columns as they are.

    Return the new transformer, and the table of the rows with the statistics of the first permutation.
    """
    columns, values = list(transformer.columns), {}
    combined = [sources for sources, _, _ in statistics if len(sources) > 1]
    encoded = {one.sources: one for one in Combination.encode_all(list(dict.fromkeys(combined)), inputs)}
    for sources, encoding, positions in statistics:
        combination = encoded.get(sources) or Combination.of(sources[0], inputs)
        again = encode_combination(encoding, combination, inputs)
        for position, column, column_values in zip(positions, again.columns, again.values, strict=True):
            columns[position] = column
            if column_values is not None:
                values[position] = column_values
    transformer = replace(transformer, vocabularies=inputs.vocabularies, columns=tuple(columns))
    return transformer, TransformedTable(table, transformer, inputs.codes, _of_permutation(values, 0))


def _of_permutation(columns: Mapping[int, list[np.ndarray]], s: int) -> dict[int, np.ndarray]:
    """Return the arrays of a permutation of columns that have one for each, or one for all."""
    return {k: arrays[s % len(arrays)] for k, arrays in columns.items()}


def _compute_all_ordered(
    planned: Sequence[tuple[Combination, Sequence[Encoding]]], inputs: EncodingInputs
) -> dict[tuple[Sources, Ordered], OrderedSums]:
    """Return the ordered statistics of all columns; one kernel call computes all those with equal parameters."""
    ordered: dict[tuple[Sources, Ordered], OrderedSums] = {}
    for encoding in {one: None for _, encodings in planned for one in encodings if isinstance(one, Ordered)}:
        combinations = [combination for combination, encodings in planned if encoding in encodings]
        computed = compute_ordered(combinations, encoding, inputs)
        ordered |= {(one.sources, encoding): sums for one, sums in zip(combinations, computed, strict=True)}
    return ordered
