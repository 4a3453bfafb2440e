"""Keep all values of a table apart, for exact search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.binning.edges import Run, gather, run_alone
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table
from sapwood.errors import InputError


@dataclass(frozen=True, eq=False)
class ExactBinMapper(BinMapper):
    """Gives each distinct value a bin of its own: the edges are the values themselves, and the last bin stays empty."""

    @classmethod
    def of(cls, table: Table) -> ExactBinMapper:
        """Find the distinct values of every column."""
        if table.is_sparse:
            raise InputError(
                "split_search='exact' sorts all values of every column, but X is sparse: use split_search='histogram', "
                "or pass X.toarray()"
            )
        columns = _columns(table)
        return cls(Schema.of(table), tuple(np.unique(line[~np.isnan(line)]).astype(float) + 0.0 for line in columns))

    @property
    def dtype(self) -> np.dtype:
        """The type of a bin: a column may have as many values as rows."""
        return np.dtype(np.uint32)

    def encode(self, table: Table, run: Run = run_alone, with_columns: bool = True) -> tuple[np.ndarray, np.ndarray]:
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
