"""What can be asked of a fitted estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sapwood.boost.initial_scores import estimator_scores
from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.table import Table, read_table
from sapwood.errors import ParameterError
from sapwood.explain.importance import feature_importances
from sapwood.model.model import Model
from sapwood.objectives.links import link_from_name
from sapwood.params.resolve import check_value


class FittedEstimator(BaseEstimator):
    """The part of an estimator that needs ``fit`` to have been called.

    ``init_`` is the estimator that the trees start from, or None; ``model_`` does not contain it. ``best_iteration_``
    counts rounds: where the first metric of the first validation set was best, or all without one (``best_score_`` is
    then None). ``evals_result_`` is ``{set: {metric: [one per round]}}``, ``stopped_`` tells why training ended:
    "n_estimators", "early_stopping", "time_limit", "callback" or "interrupted".
    """

    n_jobs: Any
    model_: Model
    init_: Any
    n_features_in_: int
    feature_names_in_: np.ndarray
    best_iteration_: int
    best_score_: float | None
    evals_result_: dict[str, dict[str, list[float]]]
    stopped_: str

    @property
    def n_iter_(self) -> int:
        """Boosting rounds of the fitted model."""
        check_is_fitted(self)
        return self.model_.n_iterations

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the total gain; they sum to 1."""
        check_is_fitted(self)
        return feature_importances(self.model_)

    def importance(self, kind: str = "gain", *, percent: bool = False) -> np.ndarray:
        """The importance of each feature in a sense that ``kind`` names, such as gain, total_gain, weight or cover."""
        check_is_fitted(self)
        return self.model_.importance(kind, percent)

    def predict_raw(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Return the scores before the link after ``iterations`` rounds (default: all): (rows,) or (rows, outputs)."""
        return self._raw_scores(X, self._align(X), iterations)

    def _raw_scores(self, X: Any, table: Table, iterations: int | None) -> np.ndarray:
        scores = self.model_.predict_raw(table, iterations, self._threads())
        return scores if self.init_ is None else scores + self._init_scores(X)

    def _predict(self, X: Any, iterations: int | None) -> np.ndarray:
        """Return the predictions of the model's link."""
        if iterations is None and (prediction := self._predict_plain_row(X)) is not None:
            return prediction
        table = self._align(X)
        if self.init_ is None:
            return self.model_.predict(table, iterations, self._threads())
        return self._linked(self._raw_scores(X, table, iterations))

    def _predict_plain_row(self, X: Any) -> np.ndarray | None:
        """Return the prediction for an array of one row that needs neither checks of names nor ``init_``, else None."""
        fitted = self.__dict__
        if "feature_names_in_" in fitted or fitted.get("init_", self) is not None:
            return None
        self._threads()
        return self.model_.predict_plain_row(X)

    def _staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predictions of the model's link after 1, 2, ... rounds."""
        table = self._align(X)
        if self.init_ is None:
            return self.model_.staged_predict(table, self._threads())
        init_scores = self._init_scores(X)
        return (self._linked(s + init_scores) for s in self.model_.staged_predict_raw(table, self._threads()))

    def _init_scores(self, X: Any) -> np.ndarray:
        """Return the scores of ``init_``: (rows,) or (rows, outputs)."""
        scores = estimator_scores(self.init_, X, self.model_.link, self.model_.n_outputs)
        return scores[0] if len(scores) == 1 else scores.T

    def _linked(self, scores: np.ndarray) -> np.ndarray:
        by_output = scores[None, :] if scores.ndim == 1 else np.ascontiguousarray(scores.T)
        return link_from_name(self.model_.link).predict(by_output)

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf of each row in each tree as its node number within the tree: int32 (rows, trees)."""
        table = self._align(X)
        return self.model_.leaf_indices(table, n_jobs=self._threads())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that ``sapwood.load`` reads."""
        check_is_fitted(self)
        if self.init_ is not None:
            raise ParameterError(
                f"the model starts from {type(self.init_).__name__}, which a model file cannot hold: pickle the "
                "estimator, or train with a constant init"
            )
        self.model_.save(path)

    def _align(self, X: Any) -> Table:
        """Read X, once, as a table with the columns of training; warn if only one of the two has feature names."""
        check_is_fitted(self)
        table = read_table(unwrap_dataset(X))
        aligned = self.model_.schema.align(table, type(self).__name__)
        was_named = hasattr(self, "feature_names_in_")
        if was_named and not table.has_string_names:
            _warn(f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names")
        elif table.has_string_names and not was_named:
            _warn(f"X has feature names, but {type(self).__name__} was fitted without feature names")
        return aligned

    def _threads(self) -> int | None:
        """How many threads may predict, by the parameter as it is now."""
        return check_value("n_jobs", self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=4)
