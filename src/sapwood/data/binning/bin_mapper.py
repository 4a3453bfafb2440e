"""Bin mappers: from the values of a table to bins, by quantile edges or by distinct values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.binning.bin_edges import find_edges, gather_columns, pad_edges
from sapwood.data.binning.max_bins import BinLimits, limits_array
from sapwood.data.binning.sparse_bins import (
    SparseBins,
    choose_sparse_columns,
    encode_entries,
    encode_sparse_table,
    find_sparse_edges,
)
from sapwood.data.binning.tiles import aligned_zeros, tile_width
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.sparse import SparseTable
from sapwood.data.tables.table import Table
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import ParameterError
from sapwood.kernels.encode import binning
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.params.declaration import MAX_BINS

SPARSE_COLUMNS_PER_PASS = 64  # of a dense table that are binned at a time to find the bins that are not default bins


@dataclass(frozen=True, eq=False)
class BinMapper:
    """Bin edges of each column: value x has bin 1 + (number of edges below x), a missing value bin 0.

    ``default_bins`` are those of the columns that are stored as sparse bins, −1 for the others; None if there are none.
    """

    schema: Schema
    edges: tuple[np.ndarray, ...]
    default_bins: np.ndarray | None = None

    @classmethod
    def fit(
        cls,
        table: Table,
        weight: np.ndarray | None = None,
        max_bins: BinLimits = 255,
        seed: int = 0,
        run: Run = run_serial,
        row_ids: np.ndarray | None = None,
        bundle: bool = True,
        workers: Workers = LOCAL,
    ) -> BinMapper:
        """Choose the edges for a table; weights must be positive, and ``row_ids`` are the original row numbers.

        ``max_bins`` is the number of bins that all columns, or each one, may have.
        ``bundle`` is whether sparse columns that exclude each other may be bundled in tiles. With several ``workers``
        all columns are dense.
        """
        if not all(2 <= limit <= MAX_BINS for limit in limits_array(max_bins, table.n_features).tolist()):
            raise ParameterError(f"max_bins must be between 2 and {MAX_BINS}, got {max_bins!r}")
        if row_ids is None:
            row_ids = np.arange(table.n_rows, dtype=np.uint64)
        if isinstance(table, SparseTable) and not workers.splits_rows:
            edges = find_sparse_edges(table, weight, max_bins, seed, row_ids, run)
            default_bins = choose_sparse_columns(table, edges, bundle) if workers.is_local else None
            return cls(Schema.of(table), tuple(edges), default_bins)
        return cls(Schema.of(table), tuple(find_edges(table, weight, max_bins, seed, row_ids, run, workers)))

    @cached_property
    def n_bins(self) -> np.ndarray:
        """Number of value bins of each column; a column of one bin can never be split."""
        return np.array([len(column) + 1 for column in self.edges], dtype=np.int64)

    @cached_property
    def flat_edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Edges of all columns as one array, infinity after those of each column, and the start of each column's."""
        end = np.cumsum(self.n_bins)
        flat = np.empty(int(end[-1]))
        is_edge = np.ones(len(flat), dtype=bool)
        is_edge[end - 1] = False
        flat[is_edge] = np.concatenate(self.edges)
        flat[end - 1] = np.inf
        return flat, end - self.n_bins

    @property
    def dtype(self) -> np.dtype:
        """Type of a bin: one byte if the largest number of bins allows it, else two."""
        return np.dtype(np.uint8 if int(self.n_bins.max()) <= np.iinfo(np.uint8).max else np.uint16)

    def encode(
        self,
        table: Table,
        run: Run = run_serial,
        with_columns: bool = True,
        known: Mapping[int, np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the bins of the dense columns of a table as tiles (tile, row, byte) and as columns (feature, row).

        Without ``with_columns`` the second array is empty. Columns whose bins are ``known`` are not read.
        """
        table = self.schema.align(table)
        if known:
            return self._encode_others(table, run, known)
        if self.default_bins is None:
            return self._encode(table, self.edges, run, with_columns)
        dense = np.flatnonzero(self.default_bins < 0).tolist()
        if not dense:
            n = table.n_rows
            return np.empty((0, n, tile_width(0, self.dtype)), self.dtype), np.empty((0, n), self.dtype)
        return self._encode(table.select(dense), [self.edges[f] for f in dense], run, with_columns)

    def _encode_others(
        self, table: Table, run: Run, known: Mapping[int, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Return tiles and columns of a dense table, given the bins of some of its columns."""
        columns = np.empty((table.n_features, table.n_rows), dtype=self.dtype)
        others = [f for f in range(table.n_features) if f not in known]
        if others:
            columns[others] = self._encode(table.select(others), [self.edges[f] for f in others], run, True)[1]
        for f, bins in known.items():
            columns[f] = bins
        width = tile_width(len(columns), self.dtype)
        tiles = aligned_zeros((-(-len(columns) // width), table.n_rows, width), self.dtype)
        run(binning.place_in_tiles, columns, tiles)
        return tiles, columns

    def _encode(
        self, table: Table, edges: Sequence[np.ndarray], run: Run, with_columns: bool
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        n, p = table.n_rows, table.n_features
        width = tile_width(p, self.dtype)
        tiles = aligned_zeros((-(-p // width), n, width), self.dtype)
        columns = np.empty((p if with_columns else 0, n), dtype=self.dtype)
        if isinstance(table, SparseTable):
            encode_sparse_table(table, edges, tiles, columns, run)
            return tiles, columns
        padded, starts = pad_edges(tuple(edges), table.dtype)
        for block in table.blocks():
            run(
                binning.assign_bins, block.values, block.row_stride, block.column_stride,
                block.start, block.n_rows, 0, p, padded, starts, tiles, columns,
            )  # fmt: skip
        return tiles, columns

    def encode_sparse(self, table: Table, run: Run = run_serial) -> SparseBins | None:
        """Return the bins of the sparse columns of a table, None if there are none."""
        if self.default_bins is None:
            return None
        table = self.schema.align(table)
        if isinstance(table, SparseTable):
            bins = encode_entries(table, self.edges, run)
            features = np.repeat(np.arange(table.n_features), np.diff(table.start))
            return SparseBins.from_entries(table.rows, features, bins, table.n_rows, self.n_bins, self.default_bins)
        sparse, parts = np.flatnonzero(self.default_bins >= 0), []
        for first in range(0, len(sparse), SPARSE_COLUMNS_PER_PASS):
            part = sparse[first : first + SPARSE_COLUMNS_PER_PASS]
            _, columns = self._encode(table.select(part.tolist()), [self.edges[f] for f in part], run, True)
            column, rows = np.nonzero(columns != self.default_bins[part, None])
            parts.append((rows, part[column], columns[column, rows].astype(np.int64)))
        rows, features, bins = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return SparseBins.from_entries(rows, features, bins, table.n_rows, self.n_bins, self.default_bins)


@dataclass(frozen=True, eq=False)
class ExactBinMapper(BinMapper):
    """A bin for each distinct value, for exact split search: edges are the values, and the last bin stays empty."""

    @classmethod
    def of(cls, table: Table) -> ExactBinMapper:
        """Find the distinct values of each column."""
        columns = _all_columns(table)
        edges = (np.unique(column[~np.isnan(column)]).astype(float) + 0.0 for column in columns)
        return cls(Schema.of(table), tuple(edges))

    @property
    def dtype(self) -> np.dtype:
        """Type of a bin: a column may have as many values as rows."""
        return np.dtype(np.uint32)

    def encode(
        self,
        table: Table,
        run: Run = run_serial,
        with_columns: bool = True,
        known: Mapping[int, np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the values (feature, row, 1) in the place of tiles, and their bins as columns (feature, row).

        Without ``with_columns`` the second array is empty; no bins are ``known``.
        """
        values = _all_columns(self.schema.align(table))
        bins = np.empty(values.shape if with_columns else (0, table.n_rows), dtype=self.dtype)
        for f in range(len(bins)):
            bins[f] = np.searchsorted(self.edges[f], values[f], side="left") + 1
            bins[f, np.isnan(values[f])] = 0
        return values[:, :, None], bins


def _all_columns(table: Table) -> np.ndarray:
    return gather_columns(table, np.arange(table.n_rows, dtype=np.int64), 0, table.n_features)
