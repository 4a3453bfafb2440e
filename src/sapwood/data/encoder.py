"""Put the values of a table into bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.data.columns import Table
from sapwood.data.numeric import Run, edge_table, find_edges, run_alone
from sapwood.data.schema import Schema
from sapwood.data.sparse import SparseTable
from sapwood.data.sparse_bins import encode_sparse, find_sparse_edges
from sapwood.errors import ParameterError
from sapwood.kernels import binning
from sapwood.once import once

MAX_BINS = 65_535
TILE_BYTES = 32
CACHE_LINE = 64


@dataclass(frozen=True, eq=False)
class Encoder:
    """The edges between bins of every column: value x is in bin 1 + (number of edges below x), missing in bin 0."""

    schema: Schema
    edges: tuple[np.ndarray, ...]

    @classmethod
    def fit(
        cls,
        table: Table,
        weight: np.ndarray | None = None,
        max_bins: int = 255,
        seed: int = 0,
        run: Run = run_alone,
        row_ids: np.ndarray | None = None,
    ) -> Encoder:
        """Choose edges for a table; weights must be positive and ``row_ids`` are the rows' original numbers."""
        if not 2 <= max_bins <= MAX_BINS:
            raise ParameterError(f"max_bins must be between 2 and {MAX_BINS}, got {max_bins!r}")
        if row_ids is None:
            row_ids = np.arange(table.n_rows, dtype=np.uint64)
        if isinstance(table, SparseTable):
            edges = find_sparse_edges(table, weight, max_bins, seed, row_ids, run)
        else:
            edges = find_edges(table, weight, max_bins, seed, row_ids, run)
        return cls(Schema.of(table), tuple(edges))

    @once
    def n_bins(self) -> np.ndarray:
        """The number of value bins of every column; a column of one bin can never be split."""
        return np.array([len(line) + 1 for line in self.edges], dtype=np.int64)

    @once
    def cut_points(self) -> tuple[np.ndarray, np.ndarray]:
        """All edges in a row, an infinite one behind those of each column, and where each column's begin."""
        lines = [np.append(line, np.inf) for line in self.edges]
        start = np.cumsum([0, *map(len, lines[:-1])])
        return np.concatenate(lines), start

    @property
    def dtype(self) -> np.dtype:
        """The type of a bin: one byte where the greatest number of bins allows, else two."""
        return np.dtype(np.uint8 if int(self.n_bins.max()) <= np.iinfo(np.uint8).max else np.uint16)

    @property
    def tile_width(self) -> int:
        """Features in one tile."""
        return TILE_BYTES // self.dtype.itemsize

    def encode(self, table: Table, run: Run = run_alone, with_columns: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The bins of a table with these columns, as tiles (tile, row, lane) and as columns (feature, row).

        Without columns, that array has no lines.
        """
        table = self.schema.align(table)
        n, p, width = table.n_rows, table.n_features, self.tile_width
        tiles = aligned_zeros((-(-p // width), n, width), self.dtype)
        columns = np.empty((p if with_columns else 0, n), dtype=self.dtype)
        if isinstance(table, SparseTable):
            encode_sparse(table, self.edges, tiles, columns)
            return tiles, columns
        padded, starts = edge_table(self.edges, table.dtype)
        for block in table.blocks():
            run(
                binning.encode, block.values, block.row_stride, block.column_stride, block.start, block.n_rows, 0, p,
                padded, starts, tiles, columns,
            )  # fmt: skip
        return tiles, columns


def aligned_zeros(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Zeros that start at a cache line, so that a row of a tile never lies across two."""
    n_bytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    buffer = np.zeros(n_bytes + CACHE_LINE, dtype=np.uint8)
    start = -buffer.ctypes.data % CACHE_LINE
    return buffer[start : start + n_bytes].view(dtype).reshape(shape)
