"""Put the values of a table into bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.binning.edges import edge_table, find_edges, gather
from sapwood.data.binning.sparse_bins import (
    SparseBins,
    bins_of_entries,
    encode_sparse,
    find_sparse_edges,
    listed_bins,
    make_sparse_bins,
)
from sapwood.data.binning.tiles import aligned_zeros, tile_width
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.sparse import SparseTable
from sapwood.data.tables.table import Table
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import ParameterError
from sapwood.kernels.encode import binning
from sapwood.native.runtime.kernel import Run, run_serial

MAX_BINS = 65_535
LISTED_AT_ONCE = 64  # columns of a dense table that are looked through together


@dataclass(frozen=True, eq=False)
class BinMapper:
    """The edges between bins of every column: value x is in bin 1 + (number of edges below x), missing in bin 0.

    Where some columns are listed, ``usual`` is the bin of each that is not, and −1 for the others.
    """

    schema: Schema
    edges: tuple[np.ndarray, ...]
    usual: np.ndarray | None = None

    @classmethod
    def fit(
        cls,
        table: Table,
        weight: np.ndarray | None = None,
        max_bins: int = 255,
        seed: int = 0,
        run: Run = run_serial,
        row_ids: np.ndarray | None = None,
        bundle: bool = True,
        workers: Workers = LOCAL,
    ) -> BinMapper:
        """Choose edges for a table; weights must be positive and ``row_ids`` are the rows' original numbers.

        ``bundle`` tells whether sparse columns that exclude each other will share bytes. Of several ``workers`` none
        lists columns.
        """
        if not 2 <= max_bins <= MAX_BINS:
            raise ParameterError(f"max_bins must be between 2 and {MAX_BINS}, got {max_bins!r}")
        if row_ids is None:
            row_ids = np.arange(table.n_rows, dtype=np.uint64)
        if isinstance(table, SparseTable) and not workers.splits_rows:
            edges = find_sparse_edges(table, weight, max_bins, seed, row_ids, run)
            return cls(Schema.of(table), tuple(edges), listed_bins(table, edges, bundle) if workers.is_local else None)
        return cls(Schema.of(table), tuple(find_edges(table, weight, max_bins, seed, row_ids, run, workers)))

    @cached_property
    def n_bins(self) -> np.ndarray:
        """The number of value bins of every column; a column of one bin can never be split."""
        return np.array([len(line) + 1 for line in self.edges], dtype=np.int64)

    @cached_property
    def cut_points(self) -> tuple[np.ndarray, np.ndarray]:
        """All edges in a row, an infinite one behind those of each column, and where each column's begin."""
        end = np.cumsum(self.n_bins)
        points = np.empty(int(end[-1]))
        is_edge = np.ones(len(points), dtype=bool)
        is_edge[end - 1] = False
        points[is_edge] = np.concatenate(self.edges)
        points[end - 1] = np.inf
        return points, end - self.n_bins

    @property
    def dtype(self) -> np.dtype:
        """The type of a bin: one byte where the greatest number of bins allows, else two."""
        return np.dtype(np.uint8 if int(self.n_bins.max()) <= np.iinfo(np.uint8).max else np.uint16)

    def encode(self, table: Table, run: Run = run_serial, with_columns: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The bins of a table with these columns, as tiles (tile, row, lane) and as columns (feature, row).

        Without columns, that array has no lines. Columns that are listed are left out.
        """
        table = self.schema.align(table)
        if self.usual is None:
            return self._encode(table, self.edges, run, with_columns)
        in_tiles = np.flatnonzero(self.usual < 0).tolist()
        if not in_tiles:
            n = table.n_rows
            return np.empty((0, n, tile_width(0, self.dtype)), self.dtype), np.empty((0, n), self.dtype)
        return self._encode(table.select(in_tiles), [self.edges[f] for f in in_tiles], run, with_columns)

    def _encode(
        self, table: Table, edges: Sequence[np.ndarray], run: Run, with_columns: bool
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        n, p = table.n_rows, table.n_features
        width = tile_width(p, self.dtype)
        tiles = aligned_zeros((-(-p // width), n, width), self.dtype)
        columns = np.empty((p if with_columns else 0, n), dtype=self.dtype)
        if isinstance(table, SparseTable):
            encode_sparse(table, edges, tiles, columns, run)
            return tiles, columns
        padded, starts = edge_table(tuple(edges), table.dtype)
        for block in table.blocks():
            run(
                binning.assign_bins, block.values, block.row_stride, block.column_stride,
                block.start, block.n_rows, 0, p, padded, starts, tiles, columns,
            )  # fmt: skip
        return tiles, columns

    def lists(self, table: Table, run: Run = run_serial) -> SparseBins | None:
        """The columns that are listed, if there are any."""
        if self.usual is None:
            return None
        table = self.schema.align(table)
        if isinstance(table, SparseTable):
            bins = bins_of_entries(table, self.edges, run)
            features = np.repeat(np.arange(table.n_features), np.diff(table.start))
            return make_sparse_bins(table.rows, features, bins, table.n_rows, self.n_bins, self.usual)
        listed, parts = np.flatnonzero(self.usual >= 0), []
        for first in range(0, len(listed), LISTED_AT_ONCE):
            part = listed[first : first + LISTED_AT_ONCE]
            _, columns = self._encode(table.select(part.tolist()), [self.edges[f] for f in part], run, True)
            line, rows = np.nonzero(columns != self.usual[part, None])
            parts.append((rows, part[line], columns[line, rows].astype(np.int64)))
        rows, features, bins = (np.concatenate(one) for one in zip(*parts, strict=True))
        return make_sparse_bins(rows, features, bins, table.n_rows, self.n_bins, self.usual)


@dataclass(frozen=True, eq=False)
class ExactBinMapper(BinMapper):
    """Gives each distinct value a bin of its own: the edges are the values themselves, and the last bin stays empty."""

    @classmethod
    def of(cls, table: Table) -> ExactBinMapper:
        """Find the distinct values of every column."""
        assert not table.is_sparse
        columns = _columns(table)
        return cls(Schema.of(table), tuple(np.unique(line[~np.isnan(line)]).astype(float) + 0.0 for line in columns))

    @property
    def dtype(self) -> np.dtype:
        """The type of a bin: a column may have as many values as rows."""
        return np.dtype(np.uint32)

    def encode(self, table: Table, run: Run = run_serial, with_columns: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The values (feature, row, 1) in the place of tiles, and their bins as columns (feature, row).

        Without columns, that array has no lines.
        """
        values = _columns(self.schema.align(table))
        bins = np.empty(values.shape if with_columns else (0, table.n_rows), dtype=self.dtype)
        for f in range(len(bins)):
            bins[f] = np.searchsorted(self.edges[f], values[f], side="left") + 1
            bins[f, np.isnan(values[f])] = 0
        return values[:, :, None], bins


def _columns(table: Table) -> np.ndarray:
    return gather(table, np.arange(table.n_rows, dtype=np.int64), 0, table.n_features)
