"""Prediction with a trained model: labels or values, probabilities, scores, stages, leaves and single rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.cached_property import WithCaches, cached_property
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.tables.records import PLAIN_TYPES, is_record
from sapwood.data.tables.rows import RowReader
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table, materialize, read_table
from sapwood.errors import ParameterError
from sapwood.model.class_predictions import NO_CLASSES, class_probabilities, most_probable_classes
from sapwood.model.ensemble import Ensemble
from sapwood.model.intervals import Intervals, no_intervals
from sapwood.model.predict import batch_predictor
from sapwood.model.predict.bitsets import BitsetTransformer
from sapwood.model.predict.row_predictor import RowPredictor
from sapwood.model.predict.row_transformer import RowTransformer
from sapwood.model.predict.tree_packing import PackedTrees, pack_trees
from sapwood.native.threads.team import current_team
from sapwood.objectives.links import Link, link_from_name
from sapwood.params.aliases.alias import PREDICT
from sapwood.params.unknown_arguments import explains_arguments
from sapwood.params.validators import is_integer

if TYPE_CHECKING:
    from sapwood.model.model import Model


class PredictionMethods(WithCaches):
    """The methods of a model that predict."""

    schema: Schema
    ensemble: Ensemble
    base_scores: np.ndarray
    link: str
    classes: np.ndarray | None
    transformer: FeatureTransformer | None
    intervals: Intervals | None

    if TYPE_CHECKING:

        def __getitem__(self, rounds: slice) -> Model: ...

    @property
    def n_features(self) -> int:
        """Number of columns of the training table."""
        return self.schema.n_features

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""
        return self.ensemble.n_outputs

    @property
    def n_iterations(self) -> int:
        """Number of boosting rounds."""
        return self.ensemble.n_rounds

    @explains_arguments(PREDICT)
    def predict(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Predict labels (classification) or values (regression), like the estimator that was fitted.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        ndarray (rows,) or (rows, outputs)
            Labels or values; two-dimensional for losses with several outputs.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, ["no"] * 50 + ["yes"] * 50)
        >>> model.predict([[1.0], [99.0]]).tolist()
        ['no', 'yes']
        """
        response = self.predict_response(X, iterations, n_jobs)
        return response if self.classes is None else self._labels(response)

    @explains_arguments(PREDICT)
    def predict_proba(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        ndarray (rows, classes)
            Probabilities in the order of ``classes``.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, ["no"] * 50 + ["yes"] * 50)
        >>> model.predict_proba([[1.0], [99.0]]).argmax(axis=1)
        array([0, 1])
        """
        return class_probabilities(self.predict_response(X, iterations, n_jobs), self._require_classes())

    @explains_arguments(PREDICT)
    def predict_response(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Return the values of the link, from which ``predict`` and ``predict_proba`` are computed.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        ndarray (rows,) or (rows, outputs)
            The predictions of a regression, the probabilities of the second of two classes (rows,), or the
            probabilities of several classes (rows, classes).

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, ["no"] * 50 + ["yes"] * 50)
        >>> model.predict_response([[1.0], [99.0]]) > 0.5
        array([False,  True])
        """
        _check_jobs(n_jobs)
        if iterations is None and (response := self.row_response(X)) is not None:
            return response
        table = self.align(X)
        if table.n_rows == 1 and iterations is None and self.transformer is None and not table.is_sparse:
            _, matrix = next(table.matrices(1))
            return np.array([self._row_predictor.respond(matrix[0])])
        scores = self._scores(self.transform(table), iterations, n_jobs)
        return self._link.predict(scores, current_team(n_jobs, scores.size).run)

    def row_response(self, X: Any, is_named: bool | None = None) -> np.ndarray | None:
        """Return the value of the link if X is one row that need not be read as a table, else None.

        These are arrays of floats, data frames of one row with the names of training, dicts, named tuples and Series.
        With ``is_named``, only rows that have names, or only those that have none, are predicted.
        """
        if type(X) is np.ndarray:
            if is_named or X.shape != self._plain_row_shape or X.dtype.char not in "fd":
                return None
            return np.array([self._row_predictor.respond(X[0])])
        if is_named is False or isinstance(X, list | Table):
            return None
        row = self._row_reader.read(X) if is_record(X) else self._row_reader.read_single(X)
        if row is None or self._needs_table(row):
            return None
        return np.array([self._row_predictor.respond(row)])

    def _needs_table(self, row: Any) -> bool:
        """Return whether a value can only be interpreted, or reported, by reading its column."""
        if isinstance(row, np.ndarray):
            return False
        return not PLAIN_TYPES.issuperset(map(type, row)) or any(type(row[f]) is str for f in self._numeric_columns)

    @explains_arguments(PREDICT)
    def predict_raw(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Return the scores before the link function.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        ndarray (rows,) or (rows, outputs)
            Scores.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, ["no"] * 50 + ["yes"] * 50)
        >>> model.predict_raw([[1.0], [99.0]]) > 0
        array([False,  True])
        """
        return _by_row(self._scores(self.transform(self.align(X)), iterations, n_jobs))

    def predict_interval(self, X: Any, coverage: float = 0.9, n_jobs: int | None = None) -> np.ndarray:
        """Predict an interval for the target of each row; the model must be trained with ``intervals``.

        Parameters
        ----------
        X : array, data frame, sparse matrix or list of rows
            Rows with the columns of training.
        coverage : float, default=0.9
            Fraction of the targets of new rows that the intervals contain.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        ndarray (rows, 2)
            Lower and upper bound of each row.

        Examples
        --------
        >>> import numpy as np
        >>> import sapwood
        >>> X = np.arange(200.0)[:, None]
        >>> model = sapwood.train({"intervals": True, "n_estimators": 20}, X, X[:, 0] % 7)
        >>> model.predict_interval(X[:5], coverage=0.8).shape
        (5, 2)
        """
        if self.intervals is None:
            raise no_intervals()
        _check_jobs(n_jobs)
        return self.intervals.predict(self.align(X), coverage, n_jobs)

    def staged_predict(self, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
        """Predict labels or values after 1, 2, ... rounds.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Yields
        ------
        ndarray (rows,) or (rows, outputs)
            Predictions after the round.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, ["no"] * 50 + ["yes"] * 50)
        >>> [stage.tolist() for stage in model.staged_predict([[1.0], [99.0]])][-1]
        ['no', 'yes']
        """
        stages = self.staged_response(X, n_jobs)
        return stages if self.classes is None else map(self._labels, stages)

    def staged_predict_proba(self, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
        """Predict the probability of each class after 1, 2, ... rounds.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Yields
        ------
        ndarray (rows, classes)
            Probabilities after the round.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, ["no"] * 50 + ["yes"] * 50)
        >>> len(list(model.staged_predict_proba([[1.0]])))
        10
        """
        classes = self._require_classes()
        return (class_probabilities(response, classes) for response in self.staged_response(X, n_jobs))

    def staged_response(self, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
        """Yield the values of the link after 1, 2, ... rounds (see ``predict_response``)."""
        return (self._link.predict(scores) for scores in self._staged_scores(X, n_jobs))

    def staged_predict_raw(self, X: Any, n_jobs: int | None = None) -> Iterator[np.ndarray]:
        """Return the scores before the link function after 1, 2, ... rounds.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Yields
        ------
        ndarray (rows,) or (rows, outputs)
            Scores after the round.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, ["no"] * 50 + ["yes"] * 50)
        >>> len(list(model.staged_predict_raw([[1.0]])))
        10
        """
        return (_by_row(scores) for scores in self._staged_scores(X, n_jobs))

    def predictor(self) -> RowPredictor:
        """Return a predictor of single rows, much faster than ``predict`` on tables of one row.

        Returns
        -------
        RowPredictor
            The predictor; threads can share it.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, ["no"] * 50 + ["yes"] * 50)
        >>> predictor = model.predictor()
        >>> str(predictor.predict([99.0])), str(predictor.predict({"f0": 1.0}))
        ('yes', 'no')
        """
        packed = pack_trees(self.ensemble, with_tops=False, bitsets=self.bitsets)
        transformer = RowTransformer(None if self.bitsets is None else self.bitsets.transformer, self.schema)
        return RowPredictor(packed, self._row_reader, transformer, self.base_scores, self._link, self.classes)

    def leaf_indices(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        ndarray of int32 (rows, trees)
            Number of the leaf among the nodes of the tree.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"objective": "logistic", "n_estimators": 10}, X, ["no"] * 50 + ["yes"] * 50)
        >>> model.leaf_indices(X).shape
        (100, 10)
        """
        _check_jobs(n_jobs)
        trees = self._trees_of(0, self.checked_rounds(iterations))
        return batch_predictor.leaf_indices(self._packed_trees, self.transform(self.align(X)), trees, n_jobs)

    def _labels(self, response: np.ndarray) -> np.ndarray:
        """Return the most probable class of each row."""
        classes = self._require_classes()
        return most_probable_classes(class_probabilities(response, classes), classes)

    def _require_classes(self) -> np.ndarray:
        if self.classes is None:
            raise ParameterError(NO_CLASSES)
        return self.classes

    @cached_property
    def _plain_row_shape(self) -> tuple[int, ...]:
        """Shape of an array of one row, empty if rows must be transformed before they reach the trees."""
        return (1, self.n_features) if self.transformer is None and not self.schema.zero_as_missing else ()

    @cached_property
    def _row_predictor(self) -> RowPredictor:
        return self.predictor()

    @cached_property
    def _row_reader(self) -> RowReader:
        return RowReader(self.schema)

    @cached_property
    def _numeric_columns(self) -> tuple[int, ...]:
        return tuple(f for f in range(self.n_features) if f not in self.schema.categorical_columns)

    @cached_property
    def _packed_trees(self) -> PackedTrees:
        return pack_trees(self.ensemble, bitsets=self.bitsets)

    @cached_property
    def bitsets(self) -> BitsetTransformer | None:
        """Feature transformer for prediction, which packs category sets into bitsets; None without categories."""
        return None if self.transformer is None else BitsetTransformer.of(self.transformer)

    @cached_property
    def _link(self) -> Link:
        return link_from_name(self.link)

    def align(self, X: Any) -> Table:
        """Return X as a table with the columns of training; a Table is returned unchanged."""
        return X if isinstance(X, Table) else self.schema.align(read_table(X, to_predict=True))

    def transform(self, table: Table) -> Table:
        """Return the features of the trees for an aligned table."""
        return table if self.bitsets is None else self.bitsets.transformer.transform(table)

    def _initial_scores(self, table: Table) -> np.ndarray:
        return np.repeat(self.base_scores[:, None], table.n_rows, axis=1)

    def _scores(self, features: Table, iterations: int | None, n_jobs: int | None) -> np.ndarray:
        """Return the scores (outputs, rows) after ``iterations`` rounds."""
        _check_jobs(n_jobs)
        rounds = self.checked_rounds(iterations)
        if rounds < self.n_iterations and self.ensemble.rescalings:
            return self[:rounds]._scores(features, None, n_jobs)
        scores = self._initial_scores(features)
        batch_predictor.add_scores(self._packed_trees, features, self._trees_of(0, rounds), scores, n_jobs)
        return scores

    def _staged_scores(self, X: Any, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Check the arguments and return an iterator over the scores (outputs, rows) after each round."""
        _check_jobs(n_jobs)
        return self._score_stages(materialize(self.transform(self.align(X))), n_jobs)

    def _score_stages(self, features: Table, n_jobs: int | None) -> Iterator[np.ndarray]:
        if self.ensemble.rescalings:
            for n_rounds in range(1, self.n_iterations + 1):
                yield self._scores(features, n_rounds, n_jobs)
            return
        scores = self._initial_scores(features)
        for round in range(self.n_iterations):
            batch_predictor.add_scores(self._packed_trees, features, self._trees_of(round, round + 1), scores, n_jobs)
            yield scores.copy()

    def checked_rounds(self, iterations: int | None) -> int:
        """Return the number of rounds to use: all for None; raise a ParameterError if there are fewer."""
        if iterations is None:
            return self.n_iterations
        if not is_integer(iterations) or not 0 <= iterations <= self.n_iterations:
            raise ParameterError(
                f"iterations must be between 0 and {self.n_iterations}, the number of rounds of the model, got "
                f"{iterations!r}"
            )
        return int(iterations)

    def _trees_of(self, start: int, stop: int) -> range:
        first, last = np.searchsorted(self.ensemble.tree_round, [start, stop])
        return range(int(first), int(last))


def _check_jobs(n_jobs: Any) -> None:
    if n_jobs is not None and not (is_integer(n_jobs) and n_jobs != 0):
        raise ParameterError(f"n_jobs must be an integer other than 0, or None (as many as allowed), got {n_jobs!r}")


def _by_row(scores: np.ndarray) -> np.ndarray:
    """Transpose scores (outputs, rows) to (rows, outputs), or (rows,) if there is one output."""
    return scores[0] if len(scores) == 1 else np.ascontiguousarray(scores.T)
