"""Run finished trees on tables: workspaces, threads, and calls short enough for Ctrl-C."""

from __future__ import annotations

import numpy as np

from sapwood.data.columns import Table
from sapwood.kernels import predict
from sapwood.model.packing import Packed
from sapwood.native.kernel import Kernel
from sapwood.native.team import Team, current_team

# One kernel call should last no longer than this, so that Ctrl-C is heard.
CALL_NANOSECONDS = 50_000_000
# About what one row costs: a split of a small tree, a step in a deep one, and adding the answer of any.
SPLIT_NANOSECONDS, STEP_NANOSECONDS, ANSWER_NANOSECONDS = 0.2, 2.0, 3.0


def add_scores(packed: Packed, table: Table, trees: range, out: np.ndarray, n_jobs: int | None = None) -> None:
    """Add the answers of ``trees`` for every row of ``table`` to ``out`` (outputs, rows)."""
    _run(predict.add_scores, packed, table, trees, out, n_jobs)


def leaf_indices(packed: Packed, table: Table, trees: range, n_jobs: int | None = None) -> np.ndarray:
    """The node in which each row ends, counted within the tree: int32 (rows, trees)."""
    out = np.empty((table.n_rows, len(trees)), dtype=np.int32)
    _run(predict.leaf_indices, packed, table, trees, out, n_jobs)
    return out


def _run(kernel: Kernel, packed: Packed, table: Table, trees: range, out: np.ndarray, n_jobs: int | None) -> None:
    team = current_team(n_jobs, table.n_rows * len(trees))
    thresholds = packed.thresholds_for(table.dtype)
    work = _workspaces(packed, table.dtype, team)
    n_rows = rows_per_call(packed, trees, team.size)
    for block in table.blocks():
        for begin in range(0, block.n_rows, n_rows):
            end = min(begin + n_rows, block.n_rows)
            bounds = np.array([begin, end, block.start, trees.start, trees.stop], dtype=np.int64)
            place = (block.values, block.row_stride, block.column_stride)
            team.run(kernel, *place, packed.forest, thresholds, *work, bounds, out)


def _workspaces(packed: Packed, dtype: np.dtype, team: Team) -> tuple[np.ndarray, ...]:
    lines = (team.size, predict.BLOCK)
    blocks = np.zeros((team.size, len(packed.forest.features), predict.BLOCK), dtype=dtype)
    return blocks, np.empty(lines, dtype=np.uint32), np.empty(lines, dtype=np.uint64)


def rows_per_call(packed: Packed, trees: range, members: int) -> int:
    """How many rows a team should be given at a time: whole blocks for every member."""
    kinds, first, last, _, _, depth = packed.forest.trees[trees.start : trees.stop].T
    splits = np.where(kinds == predict.DEEP, 0, last - first).sum()
    steps = np.where(kinds == predict.DEEP, depth, 0).sum()
    cost = SPLIT_NANOSECONDS * splits + STEP_NANOSECONDS * steps + ANSWER_NANOSECONDS * (len(trees) + 1)
    return predict.BLOCK * members * max(1, int(CALL_NANOSECONDS / (predict.BLOCK * cost)))
