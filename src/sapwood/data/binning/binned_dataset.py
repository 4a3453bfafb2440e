"""A table in bins, ready to train on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.binning.tiles import aligned_zeros
from sapwood.data.categories.transformer import RANK, DerivedFeature, FeatureTransformer
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Block, Table
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.layout import CATEGORY_ONE_HOT, CATEGORY_PARTITION
from sapwood.kernels.numeric.random import TREE_PERMUTATION, draw_many
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.params.encodings import Partition


@dataclass(frozen=True, eq=False)
class BinnedDataset:
    """The bins of some rows twice over, by rows in ``tiles`` and by features in ``columns``, and the rows' numbers.

    ``numbers`` are those that the rows had in the user's table, none where they are 0, 1, 2 ...
    ``schema`` is that of the columns in bins. With categories these come from the user's by a ``recipe``, and ``user``
    is the schema of those. ``values`` are those that the bins come from, kept only where training needs them. Columns
    that nearly always have the same bin are in ``lists`` instead of tiles and columns.
    ``others`` hold the same rows where statistics of categories come from other orders of the rows: rounds draw one of
    them to grow trees on, and their leaves are fitted to this one. ``order`` lists the rows as ordered boosting takes
    them, None where it has not been asked for.
    ``workers`` train on the rows together.
    """

    schema: Schema
    bin_mapper: BinMapper
    tiles: np.ndarray
    columns: np.ndarray
    numbers: np.ndarray
    values: Block | None = None
    transformer: FeatureTransformer | None = None
    user: Schema | None = None
    lists: SparseBins | None = None
    others: tuple[BinnedDataset, ...] = ()
    partition: Partition | None = None
    order: np.ndarray | None = None
    workers: Workers = LOCAL

    @classmethod
    def build(
        cls,
        table: Table,
        weight: np.ndarray | None = None,
        max_bins: int = 255,
        seed: int = 0,
        run: Run = run_serial,
    ) -> BinnedDataset:
        """Choose bins and encode the table. Rows of zero weight are left out; ``row_ids`` tells which remain."""
        row_ids = np.arange(table.n_rows, dtype=np.uint64)
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            table, weight, row_ids = table.take(kept), weight[kept], row_ids[kept]
        encoder = BinMapper.fit(table, weight, max_bins, seed, run, row_ids)
        numbers, lists = kept_numbers(row_ids), encoder.lists(table, run)
        return cls(encoder.schema, encoder, *encoder.encode(table, run), numbers, lists=lists)

    @property
    def user_schema(self) -> Schema:
        """The schema of the user's columns."""
        return self.schema if self.user is None else self.user

    def order_of(self, seed: int, round: int) -> int:
        """Which of the orders of rows the trees of a round are grown on: 0 is the only one, k is ``others[k - 1]``."""
        if not self.others:
            return 0
        drawn = np.empty(1, dtype=np.uint64)
        draw_many(seed, TREE_PERMUTATION, round, np.zeros(1, dtype=np.uint64), drawn)
        return 1 + int(drawn[0] % np.uint64(len(self.others)))

    @property
    def level_kinds(self) -> np.ndarray:
        """How the levels in each column's bins are divided as ``partition`` says; 0 where bins are none."""
        kinds = np.zeros(self.n_features, dtype=np.int64)
        partition = self.partition or Partition()
        for k, column in enumerate(() if self.transformer is None else self.transformer.columns):
            if isinstance(column, DerivedFeature) and column.kind == RANK:
                kinds[k] = CATEGORY_ONE_HOT if column.n_levels <= partition.max_single else CATEGORY_PARTITION
        return kinds

    @property
    def n_rows(self) -> int:
        """The number of rows kept."""
        return self.tiles.shape[1]

    @property
    def row_ids(self) -> np.ndarray:
        """The rows' original numbers, made anew where they are not kept."""
        return self.numbers if len(self.numbers) else np.arange(self.n_rows, dtype=np.uint64)

    @property
    def n_features(self) -> int:
        """The number of columns in bins."""
        return self.schema.n_features

    @property
    def n_bins(self) -> np.ndarray:
        """The number of value bins of every column."""
        return self.bin_mapper.n_bins

    @property
    def nbytes(self) -> int:
        """Bytes held by the arrays."""
        listed = 0 if self.lists is None else self.lists.nbytes
        return self.tiles.nbytes + self.columns.nbytes + self.numbers.nbytes + listed

    def take(self, rows: np.ndarray) -> BinnedDataset:
        """The same bins for some of the rows, by their places in this dataset."""
        tiles = aligned_zeros((self.tiles.shape[0], len(rows), self.tiles.shape[2]), self.tiles.dtype)
        np.take(self.tiles, rows, axis=1, out=tiles)
        columns = np.take(self.columns, rows, axis=1)
        lists = None if self.lists is None else self.lists.take(rows)
        return replace(self, tiles=tiles, columns=columns, numbers=kept_numbers(self.row_ids[rows]), lists=lists)


def kept_numbers(row_ids: np.ndarray) -> np.ndarray:
    """The numbers of rows as a dataset keeps them."""
    is_plain = np.array_equal(row_ids, np.arange(len(row_ids), dtype=np.uint64))
    return np.empty(0, dtype=np.uint64) if is_plain else row_ids
