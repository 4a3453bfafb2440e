"""Run finished trees on one row at a time, with everything prepared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sapwood.errors import InputError, SapwoodError
from sapwood.kernels.predict import linear_leaves as predict_linear
from sapwood.kernels.predict import trees as predict
from sapwood.model.predict.tree_packing import PackedTrees
from sapwood.native.runtime.kernel import new_sync
from sapwood.objectives.links import Link


class _Prepared(NamedTuple):
    """The arrays of one thread, the call that reads and writes them, and what makes a prediction of the scores."""

    x: np.ndarray
    scores: np.ndarray
    call: Callable[[int, int], None]
    answer: Callable[[], float | np.ndarray]


class RowPredictor:
    """Answers for one row at a time, with everything prepared; any number of threads may use it at once."""

    def __init__(
        self,
        packed: PackedTrees,
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
    packed: PackedTrees, forest: predict_linear.LinearForest, x: np.ndarray, scores: np.ndarray
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
