"""Predict one row at a time, with arrays and kernel calls prepared in advance."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sapwood.errors import InputError, SapwoodError
from sapwood.kernels.predict import linear_leaves, packed_forest
from sapwood.model.predict.tree_packing import PackedTrees
from sapwood.native.runtime.kernel import new_sync
from sapwood.objectives.links import Link


class _PreparedCall(NamedTuple):
    """The arrays of one thread, the kernel call that reads and writes them, and the link applied to the scores."""

    x: np.ndarray
    scores: np.ndarray
    add_scores: Callable[[int, int], None]
    apply_link: Callable[[], float | np.ndarray]


class RowPredictor:
    """Predicts one row per call; any number of threads may use it at the same time."""

    def __init__(
        self,
        packed: PackedTrees,
        n_features: int,
        base_scores: np.ndarray,
        link: Link,
        transform_row: Callable[[Any], np.ndarray] | None = None,
    ) -> None:
        """``packed`` must be without tops; ``transform_row`` computes the features of the trees, if they differ."""
        self.n_features = n_features
        self._transform_row = transform_row
        self._packed = packed
        self._base_scores = base_scores
        self._link = link
        self._local = threading.local()

    def predict(self, row: Sequence[float] | np.ndarray) -> float | np.ndarray:
        """Return the prediction for one row of numbers in the order of training: a number, or one per class."""
        return self._compute_scores(row).apply_link()

    def predict_raw(self, row: Sequence[float] | np.ndarray) -> float | np.ndarray:
        """Return the scores before the link: a number, or one per output."""
        scores = self._compute_scores(row).scores
        return float(scores[0]) if len(scores) == 1 else scores.copy()

    def _compute_scores(self, row: Sequence[float] | np.ndarray) -> _PreparedCall:
        prepared: _PreparedCall = getattr(self._local, "prepared", None) or self._prepare()
        try:
            if len(row) == self.n_features:
                if self._transform_row is not None:
                    row = self._transform_row(row)
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
        prepared.add_scores(0, 1)
        return prepared

    def _prepare(self, n_columns: int | None = None) -> _PreparedCall:
        x, scores = np.zeros(n_columns or self.n_features), np.zeros(len(self._base_scores))
        if self._packed.linear is not None:
            add_scores = _bind_linear(self._packed, self._packed.linear, x, scores)
        else:
            block = np.zeros((len(self._packed.forest.features), 1))
            places = np.zeros(8, dtype=np.uint64)
            add_scores = packed_forest.add_scores_of_row.bind(x, self._packed.forest, block, places, scores)
        self._local.prepared = _PreparedCall(x, scores, add_scores, self._link.bind(scores))
        return self._local.prepared


def _bind_linear(
    packed: PackedTrees, forest: linear_leaves.LinearForest, x: np.ndarray, scores: np.ndarray
) -> Callable[[int, int], None]:
    """Return a call that finds the leaves of one row and adds the predictions of their linear models."""
    n_trees = len(packed.forest.trees)
    leaves, sync = np.zeros((1, n_trees), dtype=np.int32), new_sync()
    memory = (x, len(x), 1)
    work = (
        np.zeros((1, len(packed.forest.features), 1)),
        np.zeros((1, 1), dtype=np.uint32),
        np.zeros((1, 1), dtype=np.uint64),
    )
    bounds = np.array([0, 1, 0, 0, n_trees], dtype=np.int64)
    thresholds = packed.thresholds.float64
    find_leaves = packed_forest.leaf_indices.bind(sync, *memory, packed.forest, thresholds, *work, bounds, leaves)
    add_linear = linear_leaves.add_linear_leaves.bind(sync, *memory, leaves, forest, bounds, scores[:, None])

    def call(member: int, members: int) -> None:
        find_leaves(member, members)
        add_linear(member, members)

    return call
