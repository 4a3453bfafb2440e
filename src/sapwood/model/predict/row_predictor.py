"""Predict one row at a time, with arrays and kernel calls prepared in advance."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sapwood.data.tables.rows import RowReader
from sapwood.errors import InputError, ParameterError, SapwoodError
from sapwood.kernels.predict import linear_leaves, packed_forest
from sapwood.model.class_predictions import NO_CLASSES, class_probabilities
from sapwood.model.predict.row_transformer import RowTransformer
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
    """Predicts one row per call; any number of threads may use it at the same time.

    A row is a dict of column names and values, a named tuple or a Series, in any order, or a sequence of values in the
    order of training. A value may be missing (None or NaN).

    Attributes
    ----------
    n_features : int
        Number of columns of training.
    classes : ndarray or None
        Labels in the order of the probabilities; None for regression.

    Examples
    --------
    >>> import sapwood
    >>> X = [[float(i)] for i in range(100)]
    >>> labels = ["no"] * 50 + ["yes"] * 50
    >>> predictor = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, labels).predictor()
    >>> str(predictor.predict([99.0])), str(predictor.predict({"f0": 1.0}))
    ('yes', 'no')
    """

    n_features: int
    classes: np.ndarray | None

    def __init__(
        self,
        packed: PackedTrees,
        reader: RowReader,
        transformer: RowTransformer,
        base_scores: np.ndarray,
        link: Link,
        classes: np.ndarray | None = None,
    ) -> None:
        """``packed`` must be without tops; ``transformer`` computes the features of the trees."""
        self.n_features = reader.n_features
        self.classes = classes
        self._labels = [] if classes is None else classes.tolist()  # plain objects, which JSON can represent
        self._reader, self._transformer = reader, transformer
        self._packed = packed
        self._base_scores = base_scores
        self._link = link
        self._local = threading.local()

    def predict(self, row: Any) -> Any:
        """Predict one row.

        Parameters
        ----------
        row : dict, named tuple, Series or sequence
            Values by name, or in the order of training.

        Returns
        -------
        label, float or ndarray (outputs,)
            The most probable label, or the predicted value.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> labels = ["no"] * 50 + ["yes"] * 50
        >>> predictor = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, labels).predictor()
        >>> str(predictor.predict([99.0]))
        'yes'
        """
        response = self.predict_response(row)
        if self.classes is None:
            return response
        number = int(response > 0.5) if isinstance(response, float) else int(response.argmax())
        return self._labels[min(number, len(self._labels) - 1)]

    def predict_proba(self, row: Any) -> np.ndarray:
        """Predict the probability of each class for one row.

        Parameters
        ----------
        row : dict, named tuple, Series or sequence
            Values by name, or in the order of training.

        Returns
        -------
        ndarray (classes,)
            Probabilities in the order of ``classes``.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> labels = ["no"] * 50 + ["yes"] * 50
        >>> predictor = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, labels).predictor()
        >>> bool(predictor.predict_proba([99.0])[1] > 0.5)
        True
        """
        if self.classes is None:
            raise ParameterError(NO_CLASSES)
        return class_probabilities(np.array([self.predict_response(row)]), self.classes)[0]

    def predict_response(self, row: Any) -> float | np.ndarray:
        """Return the value of the link function for one row.

        Parameters
        ----------
        row : dict, named tuple, Series or sequence
            Values by name, or in the order of training.

        Returns
        -------
        float or ndarray (outputs,)
            A predicted value, the probability of the second of two classes, or one per class.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> labels = ["no"] * 50 + ["yes"] * 50
        >>> predictor = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, labels).predictor()
        >>> predictor.predict_response([99.0]) > 0.5
        True
        """
        return self.respond(self._reader.read(row))

    def predict_raw(self, row: Any) -> float | np.ndarray:
        """Return the score of one row before the link function.

        Parameters
        ----------
        row : dict, named tuple, Series or sequence
            Values by name, or in the order of training.

        Returns
        -------
        float or ndarray (outputs,)
            The score, or one per output.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> labels = ["no"] * 50 + ["yes"] * 50
        >>> predictor = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, labels).predictor()
        >>> predictor.predict_raw([99.0]) > 0
        True
        """
        scores = self._compute_scores(self._reader.read(row)).scores
        return float(scores[0]) if len(scores) == 1 else scores.copy()

    def respond(self, values: Sequence[Any] | np.ndarray) -> float | np.ndarray:
        """Return the value of the link for the values of a row in the order of training."""
        return self._compute_scores(values).apply_link()

    def _compute_scores(self, values: Sequence[Any] | np.ndarray) -> _PreparedCall:
        prepared: _PreparedCall = getattr(self._local, "prepared", None) or self._prepare()
        try:
            self._transformer.write(values, prepared.x)
        except SapwoodError:
            raise
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"the row must be {self.n_features} numbers: {error}") from error
        prepared.scores[:] = self._base_scores
        prepared.add_scores(0, 1)
        return prepared

    def _prepare(self) -> _PreparedCall:
        x, scores = np.zeros(self._transformer.n_columns), np.zeros(len(self._base_scores))
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
