"""Rows of a table with their targets, weights, offsets and groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from sapwood.boost.target import Target
from sapwood.cached_property import cached_property
from sapwood.data.binning.bin_mapper import BinMapper, ExactBinMapper
from sapwood.data.binning.binned_dataset import BinnedDataset, compact_row_ids
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.dataset import Dataset
from sapwood.data.tables.row_selection import select_rows
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.streamed_tables import collect_table
from sapwood.data.tables.table import Block, Table, read_table, single_block
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.errors import SapwoodError, warn_user
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run
from sapwood.params.declaration import Params
from sapwood.params.options import linear_of


@dataclass(frozen=True, eq=False)
class LabeledRows:
    """Some rows of a table with their targets, weights, offsets (outputs, rows) and groups.

    ``X`` is the user's table and ``table`` the same as columns; ``indices`` selects rows of them (None: all rows).
    ``bins`` are those of all rows of a ``Dataset``. ``row_numbers`` are set in a distributed fit, where other
    ``workers`` have the other rows.
    """

    X: Any
    table: Table
    y: np.ndarray
    weight: np.ndarray | None = None
    init_score: np.ndarray | None = None
    groups: np.ndarray | None = None
    bins: BinnedDataset | None = None
    indices: np.ndarray | None = None
    workers: Workers = LOCAL
    row_numbers: np.ndarray | None = None

    @property
    def target(self) -> Target:
        """Targets, weights and groups."""
        return Target(self.y, self.weight, self.groups)

    @cached_property
    def selected_table(self) -> Table:
        """Table of the selected rows, copied at the first access."""
        return self.table if self.indices is None else self.table.take(self.indices)

    @property
    def user_rows(self) -> Any:
        """The selected rows in the type of the user's table."""
        return self.X if self.indices is None else select_rows(self.X, self.indices)

    @property
    def row_ids(self) -> np.ndarray:
        """Row numbers in the user's table, which random draws depend on."""
        if self.row_numbers is not None:
            row_ids = self.row_numbers
        else:
            row_ids = np.arange(self.table.n_rows, dtype=np.uint64) if self.bins is None else self.bins.row_ids
        return row_ids if self.indices is None else row_ids[self.indices]

    def take(self, mask: np.ndarray) -> LabeledRows:
        """Return the rows that a boolean mask selects."""
        if mask.all():
            return self
        return replace(
            self,
            y=self.y[mask],
            weight=None if self.weight is None else self.weight[mask],
            init_score=None if self.init_score is None else np.ascontiguousarray(self.init_score[:, mask]),
            groups=self._groups_of(mask),
            indices=np.flatnonzero(mask) if self.indices is None else self.indices[mask],
        )

    def _groups_of(self, mask: np.ndarray) -> np.ndarray | None:
        """Return the groups of selected rows, numbered from 0 on; other workers may have rows of those left out."""
        if self.groups is None:
            return None
        groups = self.groups[mask]
        return groups if self.workers.splits_rows else np.unique(groups, return_inverse=True)[1]

    def bin(self, params: Params, run: Run) -> BinnedDataset:
        """Return the rows in bins: those of a ``Dataset``, else found from the rows; one bin per value if exact."""
        is_exact = params.tree.split_search == "exact"
        if self.bins is not None and not is_exact:
            bins = self._selected_bins(self.bins)
            return replace(bins, raw_values=self.raw_values(params, bins.schema))
        table, row_ids = self.selected_table, self.row_ids
        bin_mapper = ExactBinMapper.of(table) if is_exact else self._fit_bin_mapper(table, row_ids, params, run)
        return self._bin_by(bin_mapper, params, run)

    def bin_by(self, dataset: BinnedDataset, params: Params, run: Run) -> BinnedDataset:
        """Return the rows in the bins of a dataset of other rows of the same table."""
        if self.bins is not None and self.bins.bin_mapper is dataset.bin_mapper:
            bins = self._selected_bins(self.bins)
            return replace(bins, raw_values=self.raw_values(params, bins.schema), workers=dataset.workers)
        return replace(self._bin_by(dataset.bin_mapper, params, run), workers=dataset.workers)

    def _bin_by(self, bin_mapper: BinMapper, params: Params, run: Run) -> BinnedDataset:
        table = self.selected_table
        return BinnedDataset(
            bin_mapper.schema,
            bin_mapper,
            *bin_mapper.encode(table, run),
            compact_row_ids(self.row_ids),
            self.raw_values(params, bin_mapper.schema),
            sparse_bins=bin_mapper.encode_sparse(table, run),
        )

    def _selected_bins(self, bins: BinnedDataset) -> BinnedDataset:
        return bins if self.indices is None else bins.take(self.indices)

    def _fit_bin_mapper(self, table: Table, row_ids: np.ndarray, params: Params, run: Run) -> BinMapper:
        """Find bin edges from these rows and those of other workers."""
        max_bins, seed = params.binning.column_limits, params.run.random_state
        bundle = params.tree.bundle is not False
        return BinMapper.fit(table, self.weight, max_bins, seed, run, row_ids, bundle, self.workers)

    def raw_values(self, params: Params, schema: Schema) -> Block | None:
        """Return the values of the rows in the order of a schema's columns; None if training does not read them."""
        return None if linear_of(params.tree.leaf_model) is None else single_block(schema.align(self.selected_table))

    def encode(self, bin_mapper: BinMapper, run: Run) -> tuple[np.ndarray, SparseBins | None]:
        """Return the rows in the bins of a bin mapper, as tiles and sparse bins."""
        if self.bins is not None and self.bins.bin_mapper is bin_mapper:
            bins = self._selected_bins(self.bins)
            return bins.tiles, bins.sparse_bins
        table = self.selected_table
        return bin_mapper.encode(table, run, with_columns=False)[0], bin_mapper.encode_sparse(table, run)


def has_same_rows(rows: LabeledRows, other: LabeledRows, categorical_columns: Collection[int]) -> bool:
    """Return whether two tables hold the same targets and values, row by row."""
    if len(rows.y) != len(other.y) or not np.array_equal(rows.y, other.y):
        return False
    if rows.X is other.X and rows.indices is None and other.indices is None:
        return True
    first, second = rows.selected_table, other.selected_table
    return all(
        _has_same_categories(first, second, f) if f in categorical_columns else _has_same_values(first, second, f)
        for f in range(first.n_features)
    )


def _has_same_values(first: Table, second: Table, feature: int) -> bool:
    one, other = (
        np.concatenate([matrix[:, 0] for _, matrix in table.select([feature]).matrices(table.chunk_rows())])
        for table in (first, second)
    )
    return np.array_equal(one, other, equal_nan=True)


def _has_same_categories(first: Table, second: Table, feature: int) -> bool:
    columns = [table.categorical_column(feature) for table in (first, second)]
    names = [np.array([*column.categories, None], dtype=object)[column.codes] for column in columns]
    return bool((names[0] == names[1]).all())


def read_features(X: Any, may_be_empty: bool = False) -> tuple[Any, Table, BinnedDataset | None]:
    """Return X as the user passed it, X as a table, and the bins of a ``Dataset``, else None."""
    if isinstance(X, Dataset):
        return X.X, X.table, X.bins
    X = collect_table(X)
    return X, read_table(X, to_predict=may_be_empty), None


def warn_of_index_order(X: Any, values: Any, name: str) -> None:
    """Warn if two pandas objects have the same labels in different order: rows are matched by position."""
    if not (hasattr(getattr(X, "index", None), "equals") and hasattr(getattr(values, "index", None), "equals")):
        return
    index, other = X.index, values.index
    if len(index) != len(other) or index.equals(other):
        return
    try:
        is_permuted = index.sort_values().equals(other.sort_values())
    except TypeError:  # labels that cannot be ordered
        return
    if is_permuted:
        warn_user(
            f"{name} has the index of X in another order, but rows are matched by position: pass "
            f"{name}.loc[X.index] if they should be matched by label",
        )


@contextmanager
def eval_set_in_errors(name: str) -> Iterator[None]:
    """Prepend the name of the validation set to the message of every error."""
    try:
        yield
    except SapwoodError as error:
        raise type(error)(f"eval_set {name!r}: {error}") from error
