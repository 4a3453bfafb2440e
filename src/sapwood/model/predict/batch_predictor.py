"""Predict tables: workspaces, threads, and kernel calls short enough for Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sapwood.data.tables.table import Table
from sapwood.kernels.predict import byte_forest, linear_leaves, packed_forest
from sapwood.model.predict.byte_packing import PackedByteTrees
from sapwood.model.predict.tree_packing import PackedTrees
from sapwood.native.runtime.kernel import Kernel
from sapwood.native.threads.team import Team, current_team

# Duration of one kernel call: longer calls would delay the response to Ctrl-C.
CALL_NANOSECONDS = 50_000_000
# A block of rows should fit in the first-level cache and be long enough for vector code.
MAX_BLOCK_ROWS, MIN_BLOCK_ROWS, CACHE_BYTES = 256, 64, 32_768
# Approximate cost per row: copying a value, a split in a tree's top, walking down from there, adding a leaf value.
COPY_NANOSECONDS, SPLIT_NANOSECONDS, WALK_NANOSECONDS, ADD_NANOSECONDS = 2.0, 0.2, 30.0, 3.0
# Prediction on bytes: cost of finding the bin of a value and of a split in one plane; number of rows below which blocks
# are too empty for it to pay.
SEARCH_NANOSECONDS, BYTE_NANOSECONDS, MIN_BYTE_ROWS = 4.0, 0.03, 128
# Number of leaves (rows times trees) that are buffered before the predictions of linear leaves are added.
MAX_BUFFERED_LEAVES = 1 << 20


def add_scores(packed: PackedTrees, table: Table, trees: range, out: np.ndarray, n_jobs: int | None = None) -> None:
    """Add the predictions of ``trees`` for every row of ``table`` to ``out`` (outputs, rows)."""
    if packed.linear is not None:
        _add_linear(packed, packed.linear, table, trees, out, n_jobs)
    elif (byte_trees := choose_byte_trees(packed, table, trees)) is not None:
        add_byte_scores(byte_trees, table, trees, out, n_jobs)
    else:
        traverse(packed_forest.add_scores, packed, table, trees, out, n_jobs)


def leaf_indices(packed: PackedTrees, table: Table, trees: range, n_jobs: int | None = None) -> np.ndarray:
    """Return the leaf of each row in each tree as its node number within the tree: int32 (rows, trees)."""
    out = np.empty((table.n_rows, len(trees)), dtype=np.int32)
    traverse(packed_forest.leaf_indices, packed, table, trees, out, n_jobs)
    return out


def traverse(
    kernel: Kernel, packed: PackedTrees, table: Table, trees: range, out: np.ndarray, n_jobs: int | None = None
) -> None:
    """Send all rows of a table through trees with a kernel of ``kernels/predict/packed_forest.py``."""
    packed, table = _select_used_columns(packed, table)
    team = current_team(n_jobs, table.n_rows * len(trees))
    arguments = _traversal_arguments(packed, table.dtype, team)
    _run(team, kernel, table, rows_per_call(packed, trees, team.size), trees, arguments, out)


def add_byte_scores(
    packed: PackedByteTrees, table: Table, trees: range, out: np.ndarray, n_jobs: int | None = None
) -> None:
    """Add the predictions of ``trees`` to ``out``, with rows binned to bytes."""
    team = current_team(n_jobs, table.n_rows * len(trees))
    arguments = (packed.forest, *packed.bin_search(table.dtype), *_byte_workspaces(packed, team.size))
    cost = SEARCH_NANOSECONDS * len(packed.forest.features) + BYTE_NANOSECONDS * packed.n_entries(trees)
    n_rows = _call_rows(cost + ADD_NANOSECONDS * len(trees), team.size, byte_forest.BLOCK)
    _run(team, byte_forest.add_scores_by_bytes, table, n_rows, trees, arguments, out)


def _add_linear(
    packed: PackedTrees,
    forest: linear_leaves.LinearForest,
    table: Table,
    trees: range,
    out: np.ndarray,
    n_jobs: int | None,
) -> None:
    """Find the leaves of a range of rows, then add the predictions of their linear models."""
    team = current_team(n_jobs, table.n_rows * len(trees))
    arguments = _traversal_arguments(packed, table.dtype, team)
    n_rows = min(rows_per_call(packed, trees, team.size), max(1, MAX_BUFFERED_LEAVES // max(1, len(trees))))
    leaves = np.empty((min(n_rows, table.n_rows), len(trees)), dtype=np.int32)
    for rows in row_ranges(table, n_rows):
        bounds = np.array([rows.begin, rows.end, -rows.begin, trees.start, trees.stop], dtype=np.int64)
        team.run(packed_forest.leaf_indices, *rows.memory, *arguments, bounds, leaves)
        bounds = np.array([rows.begin, rows.end, rows.offset, trees.start], dtype=np.int64)
        team.run(linear_leaves.add_linear_leaves, *rows.memory, leaves, forest, bounds, out)


class RowRange(NamedTuple):
    """Rows ``begin`` to ``end`` of a block (values, row stride, column stride) that starts at row ``offset``."""

    memory: tuple[np.ndarray, int, int]
    begin: int
    end: int
    offset: int


def row_ranges(table: Table, n_rows: int) -> Iterator[RowRange]:
    """Yield the rows of a table, at most ``n_rows`` at a time."""
    for block in table.blocks():
        memory = (block.values, block.row_stride, block.column_stride)
        for begin in range(0, block.n_rows, n_rows):
            yield RowRange(memory, begin, min(begin + n_rows, block.n_rows), block.start)


def _run(
    team: Team, kernel: Kernel, table: Table, n_rows: int, trees: range, arguments: tuple[Any, ...], out: np.ndarray
) -> None:
    for rows in row_ranges(table, n_rows):
        bounds = np.array([rows.begin, rows.end, rows.offset, trees.start, trees.stop], dtype=np.int64)
        team.run(kernel, *rows.memory, *arguments, bounds, out)


def _traversal_arguments(packed: PackedTrees, dtype: np.dtype, team: Team) -> tuple[Any, ...]:
    return packed.forest, packed.thresholds.of_type(dtype), *_workspaces(packed, dtype, team.size)


def _select_used_columns(packed: PackedTrees, table: Table) -> tuple[PackedTrees, Table]:
    """Reduce a sparse table to the columns that trees use, so that a block of it takes little memory when dense."""
    used = packed.forest.features
    if not table.is_sparse or packed.linear is not None or len(used) == 0:
        return packed, table
    forest = packed.forest._replace(features=np.arange(len(used), dtype=np.int64))
    return replace(packed, forest=forest), table.select(used.tolist())


def choose_byte_trees(packed: PackedTrees, table: Table, trees: range) -> PackedByteTrees | None:
    """Return the trees packed for bytes if that is possible and binning the rows costs less than it saves."""
    if table.is_sparse or table.n_rows < MIN_BYTE_ROWS or len(trees) == 0:
        return None
    chosen = packed.forest.trees[trees.start : trees.stop]
    if (chosen[:, packed_forest.KIND] == packed_forest.SYMMETRIC).any():
        return None
    n_splits, n_deep = split_counts(packed, trees)
    saved = SPLIT_NANOSECONDS * n_splits * table.dtype.itemsize / 4 + WALK_NANOSECONDS * n_deep
    return packed.byte_trees if saved > SEARCH_NANOSECONDS * len(packed.forest.features) else None


def block_rows(packed: PackedTrees, dtype: np.dtype) -> int:
    """Return the number of rows per block: the largest power of two that fits in the cache, within limits."""
    row_bytes = len(packed.forest.features) * dtype.itemsize
    rows = MAX_BLOCK_ROWS
    while rows > MIN_BLOCK_ROWS and rows * row_bytes > CACHE_BYTES:
        rows //= 2
    return rows


def _workspaces(packed: PackedTrees, dtype: np.dtype, members: int) -> tuple[np.ndarray, ...]:
    rows = block_rows(packed, dtype)
    blocks = np.empty((members, len(packed.forest.features), rows), dtype=dtype)
    return blocks, np.empty((members, rows), dtype=np.uint32), np.empty((members, rows), dtype=np.uint64)


def _byte_workspaces(packed: PackedByteTrees, members: int) -> tuple[np.ndarray, ...]:
    heights = (packed.n_bin_rows, packed.n_planes + 2)
    return tuple(np.empty((members, height, byte_forest.BLOCK), dtype=np.uint8) for height in heights)


def rows_per_call(packed: PackedTrees, trees: range, members: int) -> int:
    """Return the number of rows that a team should predict in one kernel call."""
    n_splits, n_deep = split_counts(packed, trees)
    cost = COPY_NANOSECONDS * len(packed.forest.features) + SPLIT_NANOSECONDS * n_splits
    cost += WALK_NANOSECONDS * n_deep + ADD_NANOSECONDS * len(trees)
    return _call_rows(cost, members, MAX_BLOCK_ROWS)


def split_counts(packed: PackedTrees, trees: range) -> tuple[int, int]:
    """Return the number of splits in the tops of some trees, and the number of these trees that are deep."""
    chosen = packed.forest.trees[trees.start : trees.stop]
    n_splits = chosen[:, packed_forest.SPLITS_END] - chosen[:, packed_forest.SPLITS_BEGIN]
    return int(n_splits.sum()), int((chosen[:, packed_forest.KIND] == packed_forest.DEEP).sum())


def _call_rows(cost: float, members: int, block: int) -> int:
    """Return the rows of one call, whole blocks for all members, at a cost of so many nanoseconds per row."""
    rows = members * block
    return rows * max(1, int(members * CALL_NANOSECONDS / (rows * cost)))
