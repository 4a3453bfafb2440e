"""Rows with all that ``fit`` is told of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sapwood.boost.target import Target
from sapwood.cached_property import cached_property
from sapwood.data.binning import binned_dataset as binned
from sapwood.data.binning.bin_mapper import BinMapper, ExactBinMapper
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.dataset import Dataset
from sapwood.data.tables.row_selection import select_rows
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Block, Table, read_table, single_block
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import SapwoodError, SapwoodWarning
from sapwood.native.runtime.kernel import Run
from sapwood.params.declaration import Params
from sapwood.params.options import linear_of


class GatheredRows(NamedTuple):
    """Original numbers, ascending, and targets of all rows, and the places of this worker's ``own`` among them."""

    row_ids: np.ndarray
    y: np.ndarray
    own: np.ndarray


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Some rows of a table: ``places`` in X (None: all of them), targets, weights, offsets (outputs, rows), groups.

    ``bins`` are those of all rows of X, if it came with bins. ``row_numbers`` are there where other ``workers`` have
    the other rows.
    """

    X: Any
    table: Table
    y: np.ndarray
    weight: np.ndarray | None = None
    init_score: np.ndarray | None = None
    groups: np.ndarray | None = None
    bins: binned.BinnedDataset | None = None
    places: np.ndarray | None = None
    workers: Workers = LOCAL
    row_numbers: np.ndarray | None = None

    @property
    def target(self) -> Target:
        """What training lowers the loss of."""
        return Target(self.y, self.weight, self.groups)

    @cached_property
    def rows(self) -> Table:
        """The table of these rows alone."""
        return self.table if self.places is None else self.table.take(self.places)

    @property
    def features(self) -> Any:
        """The rows in the user's own kind of table."""
        return self.X if self.places is None else select_rows(self.X, self.places)

    @property
    def row_ids(self) -> np.ndarray:
        """The rows' original numbers, from which everything random is drawn."""
        if self.row_numbers is not None:
            every = self.row_numbers
        else:
            every = np.arange(self.table.n_rows, dtype=np.uint64) if self.bins is None else self.bins.row_ids
        return every if self.places is None else every[self.places]

    def whole(self) -> GatheredRows:
        """Return numbers and targets of the rows of all workers, as one worker would have them."""
        if not self.workers.splits_rows:
            return GatheredRows(self.row_ids, self.y, np.arange(len(self.y)))
        numbers, y = self.workers.gather_rows(self.row_ids), self.workers.gather_rows(self.y)
        order = np.argsort(numbers)
        return GatheredRows(numbers[order], y[order], np.searchsorted(numbers[order], self.row_ids))

    def take(self, rows: np.ndarray) -> LabeledRows:
        """The rows marked by truth values."""
        if rows.all():
            return self
        places = np.flatnonzero(rows) if self.places is None else self.places[rows]
        return replace(
            self,
            y=self.y[rows],
            weight=None if self.weight is None else self.weight[rows],
            init_score=None if self.init_score is None else np.ascontiguousarray(self.init_score[:, rows]),
            groups=None if self.groups is None else np.unique(self.groups[rows], return_inverse=True)[1],
            places=places,
        )

    def binned(self, params: Params, run: Run) -> binned.BinnedDataset:
        """The rows in bins: those X came with, else chosen from these very rows; a bin per value for exact search."""
        is_exact = params.tree.split_search == "exact"
        if self.bins is not None and not is_exact:
            bins = self.bins if self.places is None else self.bins.take(self.places)
            return replace(bins, raw_values=self.values(params, bins.schema))
        table, row_ids = self.rows, self.row_ids
        encoder: BinMapper
        if is_exact:
            encoder = ExactBinMapper.of(table)
        else:
            encoder = self._encoder(table, row_ids, params, run)
        values = self.values(params, encoder.schema)
        lists = encoder.encode_sparse(table, run)
        numbers = binned.compact_row_ids(row_ids)
        return binned.BinnedDataset(
            encoder.schema, encoder, *encoder.encode(table, run), numbers, values, sparse_bins=lists
        )

    def _encoder(self, table: Table, row_ids: np.ndarray, params: Params, run: Run) -> BinMapper:
        """Choose bins from these rows and those of other workers."""
        max_bins, seed = params.binning.max_bins, params.run.random_state
        bundle = params.tree.bundle is not False
        return BinMapper.fit(table, self.weight, max_bins, seed, run, row_ids, bundle, self.workers)

    def values(self, params: Params, schema: Schema) -> Block | None:
        """The rows as numbers in the order of a schema's columns, if training needs them."""
        return None if linear_of(params.tree.leaf_model) is None else single_block(schema.align(self.rows))

    def tiles(self, encoder: BinMapper, run: Run) -> tuple[np.ndarray, SparseBins | None]:
        """The rows in the bins of an encoder, as tiles and lists."""
        if self.bins is not None and self.bins.bin_mapper is encoder:
            bins = self.bins if self.places is None else self.bins.take(self.places)
            return bins.tiles, bins.sparse_bins
        return encoder.encode(self.rows, run, with_columns=False)[0], encoder.encode_sparse(self.rows, run)


def read_features(X: Any) -> tuple[Any, Table, binned.BinnedDataset | None]:
    """X as given, as a table, and its bins if it has them."""
    if isinstance(X, Dataset):
        return X.X, X.table, X.bins
    return X, read_table(X), None


def warn_of_index_order(X: Any, values: Any, name: str) -> None:
    """Warn when two pandas objects have the same labels in another order: rows are matched by position."""
    if not (hasattr(getattr(X, "index", None), "equals") and hasattr(getattr(values, "index", None), "equals")):
        return
    mine, other = X.index, values.index
    if len(mine) != len(other) or mine.equals(other):
        return
    try:
        is_permuted = mine.sort_values().equals(other.sort_values())
    except TypeError:  # labels that cannot be ordered
        return
    if is_permuted:
        warnings.warn(
            f"{name} has the index of X in another order, but rows are matched by their position: pass "
            f"{name}.loc[X.index] if the labels tell which rows belong together",
            SapwoodWarning,
            stacklevel=5,
        )


@contextmanager
def eval_set_in_errors(name: str) -> Iterator[None]:
    """Say in every error which validation set it is about."""
    try:
        yield
    except SapwoodError as error:
        raise type(error)(f"eval_set {name!r}: {error}") from error
