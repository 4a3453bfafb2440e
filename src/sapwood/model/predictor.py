"""Run finished trees on tables: workspaces, threads, and calls short enough for Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sapwood.data.columns import Table
from sapwood.errors import InputError, SapwoodError
from sapwood.kernels import predict, predict_linear
from sapwood.model.packing import Packed
from sapwood.native.kernel import Kernel, new_sync
from sapwood.native.team import current_team
from sapwood.objectives.links import Link

# One kernel call should last no longer than this, so that Ctrl-C is heard.
CALL_NANOSECONDS = 50_000_000
# A block of rows should stay in the first cache, and be long enough for vector code.
MOST_BLOCK_ROWS, LEAST_BLOCK_ROWS, CACHE_BYTES = 256, 64, 32_768
# About what one row costs: copying a value, a split of a tree's top, a walk down from there, and adding the answer.
COPY_NANOSECONDS, SPLIT_NANOSECONDS, WALK_NANOSECONDS, ANSWER_NANOSECONDS = 2.0, 0.2, 30.0, 3.0
# Of how many trees and rows the leaves are noted before what linear leaves answer is added.
MOST_LEAVES = 1 << 20


def add_scores(packed: Packed, table: Table, trees: range, out: np.ndarray, n_jobs: int | None = None) -> None:
    """Add the answers of ``trees`` for every row of ``table`` to ``out`` (outputs, rows)."""
    if packed.linear is not None:
        _add_linear(packed, packed.linear, table, trees, out, n_jobs)
    else:
        _run(predict.add_scores, packed, table, trees, out, n_jobs)


def leaf_indices(packed: Packed, table: Table, trees: range, n_jobs: int | None = None) -> np.ndarray:
    """The node in which each row ends, counted within the tree: int32 (rows, trees)."""
    out = np.empty((table.n_rows, len(trees)), dtype=np.int32)
    _run(predict.leaf_indices, packed, table, trees, out, n_jobs)
    return out


def _narrowed(packed: Packed, table: Table) -> tuple[Packed, Table]:
    """A sparse table with only the columns that trees ask for, so that little of it is made dense at a time."""
    used = packed.forest.features
    if not table.is_sparse or packed.linear is not None or len(used) == 0:
        return packed, table
    forest = packed.forest._replace(features=np.arange(len(used), dtype=np.int64))
    return replace(packed, forest=forest), table.select(used.tolist())


def _run(kernel: Kernel, packed: Packed, table: Table, trees: range, out: np.ndarray, n_jobs: int | None) -> None:
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


def _add_linear(
    packed: Packed, forest: predict_linear.LinearForest, table: Table, trees: range, out: np.ndarray, n_jobs: int | None
) -> None:  # fmt: skip
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


def block_rows(packed: Packed, dtype: np.dtype) -> int:
    """How many rows to answer together: as many as stay in the cache, a power of two."""
    line = len(packed.forest.features) * dtype.itemsize
    rows = MOST_BLOCK_ROWS
    while rows > LEAST_BLOCK_ROWS and rows * line > CACHE_BYTES:
        rows //= 2
    return rows


def _workspaces(packed: Packed, dtype: np.dtype, members: int) -> tuple[np.ndarray, ...]:
    rows = block_rows(packed, dtype)
    blocks = np.empty((members, len(packed.forest.features), rows), dtype=dtype)
    return blocks, np.empty((members, rows), dtype=np.uint32), np.empty((members, rows), dtype=np.uint64)


def rows_per_call(packed: Packed, trees: range, members: int) -> int:
    """How many rows a team should be given at a time."""
    chosen = packed.forest.trees[trees.start : trees.stop]
    splits = (chosen[:, predict.LAST] - chosen[:, predict.FIRST]).sum()
    cost = COPY_NANOSECONDS * len(packed.forest.features) + SPLIT_NANOSECONDS * splits
    cost += WALK_NANOSECONDS * chosen[:, predict.DEEP].sum() + ANSWER_NANOSECONDS * len(trees)
    rows = members * MOST_BLOCK_ROWS
    return rows * max(1, int(members * CALL_NANOSECONDS / (rows * cost)))


class _Prepared(NamedTuple):
    """The arrays of one thread, the call that reads and writes them, and what makes a prediction of the scores."""

    x: np.ndarray
    scores: np.ndarray
    call: Callable[[int, int], None]
    answer: Callable[[], float | np.ndarray]


class Predictor:
    """Answers for one row at a time, with everything prepared; any number of threads may use it at once."""

    def __init__(
        self,
        packed: Packed,
        n_features: int,
        base_scores: np.ndarray,
        link: Link,
        prepare: Callable[[Any], np.ndarray] | None = None,
    ) -> None:
        """``packed`` must be without tops; ``prepare`` makes what trees see out of a row, where that differs."""
        self.n_features = n_features
        self._prepare_row = prepare
        self._packed = packed
        self._base_scores = base_scores
        self._link = link
        self._local = threading.local()

    def predict(self, row: Sequence[float] | np.ndarray) -> float | np.ndarray:
        """The prediction for one row of numbers in the order of training: a number, or one per class."""
        return self._scored(row).answer()

    def predict_raw(self, row: Sequence[float] | np.ndarray) -> float | np.ndarray:
        """The scores before the link: a number, or one per output."""
        scores = self._scored(row).scores
        return float(scores[0]) if len(scores) == 1 else scores.copy()

    def _scored(self, row: Sequence[float] | np.ndarray) -> _Prepared:
        prepared: _Prepared = getattr(self._local, "prepared", None) or self._prepare()
        try:
            if len(row) == self.n_features:
                if self._prepare_row is not None:
                    row = self._prepare_row(row)
                    if len(prepared.x) != len(row):
                        prepared = self._prepare(len(row))
                prepared.x[:] = row
            else:
                raise InputError(f"the row has {len(row)} values, the model was trained on {self.n_features} features")
        except SapwoodError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"the row must be a sequence of {self.n_features} numbers: {error}") from error
        prepared.scores[:] = self._base_scores
        prepared.call(0, 1)
        return prepared

    def _prepare(self, n_columns: int | None = None) -> _Prepared:
        x, scores = np.zeros(n_columns or self.n_features), np.zeros(len(self._base_scores))
        block = np.zeros((len(self._packed.forest.features), 1))
        places = np.zeros(8, dtype=np.uint64)
        call = predict.add_scores_of_row.bind(x, self._packed.forest, block, places, scores)
        if self._packed.linear is not None:
            call = _linear_call(self._packed, self._packed.linear, x, scores)
        self._local.prepared = _Prepared(x, scores, call, self._link.prepared(scores))
        return self._local.prepared


def _linear_call(
    packed: Packed, forest: predict_linear.LinearForest, x: np.ndarray, scores: np.ndarray
) -> Callable[[int, int], None]:
    """Find the leaves of one row, then add what these answer."""
    n_trees = len(packed.forest.trees)
    leaves, sync = np.zeros((1, n_trees), dtype=np.int32), new_sync()
    place = (x, len(x), 1)
    work = (
        np.zeros((1, len(packed.forest.features), 1)),
        np.zeros((1, 1), dtype=np.uint32),
        np.zeros((1, 1), dtype=np.uint64),
    )
    bounds = np.array([0, 1, 0, 0, n_trees], dtype=np.int64)
    find = predict.leaf_indices.bind(sync, *place, packed.forest, packed.thresholds, *work, bounds, leaves)
    add = predict_linear.add_linear.bind(sync, *place, leaves, forest, bounds, scores[:, None])

    def call(member: int, members: int) -> None:
        find(member, members)
        add(member, members)

    return call
