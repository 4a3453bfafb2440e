"""Run finished trees on tables: workspaces, threads, and calls short enough for Ctrl-C."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sapwood.data.tables.table import Table
from sapwood.kernels.predict import byte_forest as predict_bytes
from sapwood.kernels.predict import linear_leaves as predict_linear
from sapwood.kernels.predict import trees as predict
from sapwood.model.predict.byte_packing import PackedByteTrees
from sapwood.model.predict.tree_packing import PackedTrees
from sapwood.native.runtime.kernel import Kernel
from sapwood.native.threads.team import current_team

# One kernel call should last no longer than this, so that Ctrl-C is heard.
CALL_NANOSECONDS = 50_000_000
# A block of rows should stay in the first cache, and be long enough for vector code.
MOST_BLOCK_ROWS, LEAST_BLOCK_ROWS, CACHE_BYTES = 256, 64, 32_768
# About what one row costs: copying a value, a split of a tree's top, a walk down from there, and adding the answer.
COPY_NANOSECONDS, SPLIT_NANOSECONDS, WALK_NANOSECONDS, ANSWER_NANOSECONDS = 2.0, 0.2, 30.0, 3.0
# The same with bytes: finding a value's bin, and a split in one plane. Fewer rows than this do not fill a block.
SEARCH_NANOSECONDS, BYTE_NANOSECONDS, LEAST_BYTE_ROWS = 4.0, 0.03, 128
# Of how many trees and rows the leaves are noted before what linear leaves answer is added.
MOST_LEAVES = 1 << 20


def add_scores(packed: PackedTrees, table: Table, trees: range, out: np.ndarray, n_jobs: int | None = None) -> None:
    """Add the answers of ``trees`` for every row of ``table`` to ``out`` (outputs, rows)."""
    if packed.linear is not None:
        _add_linear(packed, packed.linear, table, trees, out, n_jobs)
    elif (by_bytes := _for_bytes(packed, table, trees)) is not None:
        _add_by_bytes(by_bytes, table, trees, out, n_jobs)
    else:
        _run(predict.add_scores, packed, table, trees, out, n_jobs)


def leaf_indices(packed: PackedTrees, table: Table, trees: range, n_jobs: int | None = None) -> np.ndarray:
    """The node in which each row ends, counted within the tree: int32 (rows, trees)."""
    out = np.empty((table.n_rows, len(trees)), dtype=np.int32)
    _run(predict.leaf_indices, packed, table, trees, out, n_jobs)
    return out


def _narrowed(packed: PackedTrees, table: Table) -> tuple[PackedTrees, Table]:
    """A sparse table with only the columns that trees ask for, so that little of it is made dense at a time."""
    used = packed.forest.features
    if not table.is_sparse or packed.linear is not None or len(used) == 0:
        return packed, table
    forest = packed.forest._replace(features=np.arange(len(used), dtype=np.int64))
    return replace(packed, forest=forest), table.select(used.tolist())


def _run(kernel: Kernel, packed: PackedTrees, table: Table, trees: range, out: np.ndarray, n_jobs: int | None) -> None:
    packed, table = _narrowed(packed, table)
    team = current_team(n_jobs, table.n_rows * len(trees))
    thresholds = packed.thresholds_for(table.dtype)
    work = _workspaces(packed, table.dtype, team.size)
    n_rows = rows_per_call(packed, trees, team.size)
    for block in table.blocks():
        for begin in range(0, block.n_rows, n_rows):
            end = min(begin + n_rows, block.n_rows)
            bounds = np.array([begin, end, block.start, trees.start, trees.stop], dtype=np.int64)
            place = (block.values, block.row_stride, block.column_stride)
            team.run(kernel, *place, packed.forest, thresholds, *work, bounds, out)


def _for_bytes(packed: PackedTrees, table: Table, trees: range) -> PackedByteTrees | None:
    """The trees for bytes, if they can be had and cutting rows into bins costs less than it saves."""
    if table.is_sparse or table.n_rows < LEAST_BYTE_ROWS or len(trees) == 0:
        return None
    chosen = packed.forest.trees[trees.start : trees.stop]
    if (chosen[:, predict.KIND] == predict.SYMMETRIC).any():
        return None
    splits, n_deep = split_counts(packed, trees)
    saved = SPLIT_NANOSECONDS * splits * table.dtype.itemsize / 4 + WALK_NANOSECONDS * n_deep
    return packed.by_bytes if saved > SEARCH_NANOSECONDS * len(packed.forest.features) else None


def _add_by_bytes(packed: PackedByteTrees, table: Table, trees: range, out: np.ndarray, n_jobs: int | None) -> None:
    team = current_team(n_jobs, table.n_rows * len(trees))
    cuts = packed.cuts_for(table.dtype)
    work = _byte_workspaces(packed, team.size)
    cost = SEARCH_NANOSECONDS * len(packed.forest.features) + BYTE_NANOSECONDS * packed.n_entries(trees)
    n_rows = _rows_of_call(cost + ANSWER_NANOSECONDS * len(trees), team.size, predict_bytes.ROWS)
    for block in table.blocks():
        place = (block.values, block.row_stride, block.column_stride)
        for begin in range(0, block.n_rows, n_rows):
            end = min(begin + n_rows, block.n_rows)
            bounds = np.array([begin, end, block.start, trees.start, trees.stop], dtype=np.int64)
            team.run(predict_bytes.add_scores_by_bytes, *place, packed.forest, *cuts, *work, bounds, out)


def _byte_workspaces(packed: PackedByteTrees, members: int) -> tuple[np.ndarray, np.ndarray]:
    lengths = (packed.n_lines, packed.n_planes + 2)
    lines, planes = (np.empty((members, length, predict_bytes.ROWS), dtype=np.uint8) for length in lengths)
    return lines, planes


def _add_linear(
    packed: PackedTrees,
    forest: predict_linear.LinearForest,
    table: Table,
    trees: range,
    out: np.ndarray,
    n_jobs: int | None,
) -> None:
    """Find the leaves of some rows at a time, then add what these answer."""
    team = current_team(n_jobs, table.n_rows * len(trees))
    thresholds = packed.thresholds_for(table.dtype)
    work = _workspaces(packed, table.dtype, team.size)
    n_rows = min(rows_per_call(packed, trees, team.size), max(1, MOST_LEAVES // max(1, len(trees))))
    leaves = np.empty((min(n_rows, table.n_rows), len(trees)), dtype=np.int32)
    for block in table.blocks():
        place = (block.values, block.row_stride, block.column_stride)
        for begin in range(0, block.n_rows, n_rows):
            end = min(begin + n_rows, block.n_rows)
            bounds = np.array([begin, end, -begin, trees.start, trees.stop], dtype=np.int64)
            team.run(predict.leaf_indices, *place, packed.forest, thresholds, *work, bounds, leaves)
            bounds = np.array([begin, end, block.start, trees.start], dtype=np.int64)
            team.run(predict_linear.add_linear, *place, leaves, forest, bounds, out)


def block_rows(packed: PackedTrees, dtype: np.dtype) -> int:
    """How many rows to answer together: as many as stay in the cache, a power of two."""
    line = len(packed.forest.features) * dtype.itemsize
    rows = MOST_BLOCK_ROWS
    while rows > LEAST_BLOCK_ROWS and rows * line > CACHE_BYTES:
        rows //= 2
    return rows


def _workspaces(packed: PackedTrees, dtype: np.dtype, members: int) -> tuple[np.ndarray, ...]:
    rows = block_rows(packed, dtype)
    blocks = np.empty((members, len(packed.forest.features), rows), dtype=dtype)
    return blocks, np.empty((members, rows), dtype=np.uint32), np.empty((members, rows), dtype=np.uint64)


def rows_per_call(packed: PackedTrees, trees: range, members: int) -> int:
    """How many rows a team should be given at a time."""
    splits, n_deep = split_counts(packed, trees)
    cost = COPY_NANOSECONDS * len(packed.forest.features) + SPLIT_NANOSECONDS * splits
    cost += WALK_NANOSECONDS * n_deep + ANSWER_NANOSECONDS * len(trees)
    return _rows_of_call(cost, members, MOST_BLOCK_ROWS)


def split_counts(packed: PackedTrees, trees: range) -> tuple[int, int]:
    """How many splits the tops of some trees have, and how many of the trees are deep."""
    chosen = packed.forest.trees[trees.start : trees.stop]
    splits = chosen[:, predict.LAST] - chosen[:, predict.FIRST]
    return int(splits.sum()), int((chosen[:, predict.KIND] == predict.DEEP).sum())


def _rows_of_call(cost: float, members: int, block: int) -> int:
    """Whole blocks for all members, as many as one call should take at so many nanoseconds per row."""
    rows = members * block
    return rows * max(1, int(members * CALL_NANOSECONDS / (rows * cost)))
