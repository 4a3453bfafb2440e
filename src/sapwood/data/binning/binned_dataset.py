"""A table in bins, ready to train on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.binning.sparse_bins import SparseBins
from sapwood.data.binning.tiles import aligned_zeros
from sapwood.data.categories.derived_feature import RANK, DerivedFeature
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Block, Table
from sapwood.distributed.row_order import RowOrder
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.layout import CATEGORY_ONE_HOT, CATEGORY_PARTITION
from sapwood.kernels.numeric.random import TREE_PERMUTATION, draw_many
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run, run_serial
from sapwood.params.encodings import Partition


@dataclass(frozen=True, eq=False)
class BinnedDataset:
    """The bins of some rows twice, row by row in ``tiles`` and feature by feature in ``columns``.

    ``schema`` describes the binned columns. ``kept_row_ids`` are the row numbers in the user's table, empty if they are
    0, 1, 2 ... ``raw_values`` are the values before binning, kept only where training needs them. With categorical
    columns, the binned columns are computed from the user's by ``transformer``, and ``raw_schema`` describes the
    latter. Columns that nearly always have their default bin are in ``sparse_bins`` instead of tiles and columns.

    ``permuted`` hold the same rows with the target statistics of other permutations: each round grows its trees on one
    of them, and their leaves are fitted to this one. ``permutation`` is the order of the rows for ordered boosting.
    ``tree_combinations`` are the sources of combinations that trees may use below a split on one of their parts only.
    ``workers`` train on the rows together.
    """

    schema: Schema
    bin_mapper: BinMapper
    tiles: np.ndarray
    columns: np.ndarray
    kept_row_ids: np.ndarray
    raw_values: Block | None = None
    transformer: FeatureTransformer | None = None
    raw_schema: Schema | None = None
    sparse_bins: SparseBins | None = None
    permuted: tuple[BinnedDataset, ...] = ()
    partition: Partition | None = None
    permutation: RowOrder | None = None
    tree_combinations: frozenset[tuple[int, ...]] = frozenset()
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
        """Choose bins for a table and encode it; rows of zero weight are dropped."""
        row_ids = np.arange(table.n_rows, dtype=np.uint64)
        if weight is not None and not weight.all():
            kept = np.flatnonzero(weight)
            table, weight, row_ids = table.take(kept), weight[kept], row_ids[kept]
        bin_mapper = BinMapper.fit(table, weight, max_bins, seed, run, row_ids)
        return cls.encode(bin_mapper, table, row_ids, run)

    @classmethod
    def encode(cls, bin_mapper: BinMapper, table: Table, row_ids: np.ndarray, run: Run = run_serial) -> BinnedDataset:
        """Return a table in the bins of a bin mapper."""
        sparse_bins = bin_mapper.encode_sparse(table, run)
        tiles, columns = bin_mapper.encode(table, run)
        return cls(bin_mapper.schema, bin_mapper, tiles, columns, compact_row_ids(row_ids), sparse_bins=sparse_bins)

    @property
    def user_schema(self) -> Schema:
        """Schema of the user's columns."""
        return self.schema if self.raw_schema is None else self.raw_schema

    def permutation_of_round(self, seed: int, round: int) -> int:
        """Return the permutation on which the trees of a round are grown: 0 is this dataset, k ``permuted[k - 1]``."""
        if len(self.permuted) <= 1:
            return len(self.permuted)
        drawn = np.empty(1, dtype=np.uint64)
        draw_many(seed, TREE_PERMUTATION, round, np.zeros(1, dtype=np.uint64), drawn)
        return 1 + int(drawn[0] % np.uint64(len(self.permuted)))

    @property
    def category_kinds(self) -> np.ndarray:
        """Kind of categorical split of each column, CATEGORY_ONE_HOT or CATEGORY_PARTITION; 0 for numeric columns."""
        kinds = np.zeros(self.n_features, dtype=np.int64)
        partition = self.partition or Partition()
        for k, column in enumerate(() if self.transformer is None else self.transformer.columns):
            if isinstance(column, DerivedFeature) and column.kind == RANK:
                kinds[k] = CATEGORY_ONE_HOT if column.n_categories <= partition.max_single else CATEGORY_PARTITION
        return kinds

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.tiles.shape[1]

    @property
    def row_ids(self) -> np.ndarray:
        """Row numbers in the user's table."""
        return self.kept_row_ids if len(self.kept_row_ids) else np.arange(self.n_rows, dtype=np.uint64)

    @property
    def n_features(self) -> int:
        """Number of binned columns."""
        return self.schema.n_features

    @property
    def n_bins(self) -> np.ndarray:
        """Number of value bins of each column."""
        return self.bin_mapper.n_bins

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        sparse = 0 if self.sparse_bins is None else self.sparse_bins.nbytes
        return self.tiles.nbytes + self.columns.nbytes + self.kept_row_ids.nbytes + sparse

    def take(self, rows: np.ndarray) -> BinnedDataset:
        """Return the bins of some rows, given by their positions in this dataset."""
        tiles = aligned_zeros((self.tiles.shape[0], len(rows), self.tiles.shape[2]), self.tiles.dtype)
        np.take(self.tiles, rows, axis=1, out=tiles)
        columns = np.take(self.columns, rows, axis=1)
        kept_row_ids = compact_row_ids(self.row_ids[rows])
        sparse_bins = None if self.sparse_bins is None else self.sparse_bins.take(rows)
        return replace(self, tiles=tiles, columns=columns, kept_row_ids=kept_row_ids, sparse_bins=sparse_bins)


def compact_row_ids(row_ids: np.ndarray) -> np.ndarray:
    """Return the row numbers as a dataset keeps them: none if they are 0, 1, 2 ..."""
    is_range = np.array_equal(row_ids, np.arange(len(row_ids), dtype=np.uint64))
    return np.empty(0, dtype=np.uint64) if is_range else row_ids
