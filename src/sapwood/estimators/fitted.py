"""What can be asked of a fitted estimator."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sapwood.boost.initial_scores import estimator_scores
from sapwood.data.dataset import plain_rows
from sapwood.data.tables.table import read_table
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
        """The scores before the link, after so many rounds (all by default): (rows,), or (rows, outputs)."""
        scores = self._fitted_model(X).predict_raw(plain_rows(X), iterations, self._threads())
        if self.init_ is None:
            return scores
        first = estimator_scores(self.init_, X, self.model_.link, self.model_.n_outputs)
        return scores + (first[0] if scores.ndim == 1 else first.T)

    def _predict(self, X: Any, iterations: int | None) -> np.ndarray:
        """What the link makes of the scores."""
        if iterations is None and (answer := self._predict_plain_row(X)) is not None:
            return answer
        model = self._fitted_model(X)
        if self.init_ is None:
            return model.predict(plain_rows(X), iterations, self._threads())
        return self._linked(self.predict_raw(X, iterations))

    def _predict_plain_row(self, X: Any) -> np.ndarray | None:
        """The prediction for an array of one row about which there is nothing to say, else None."""
        fitted = self.__dict__
        if "feature_names_in_" in fitted or fitted.get("init_", self) is not None:
            return None
        self._threads()
        return self.model_.predict_plain_row(X)

    def _staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        model = self._fitted_model(X)
        if self.init_ is None:
            return model.staged_predict(plain_rows(X), self._threads())
        return self._staged_from_estimator(model, plain_rows(X))

    def _staged_from_estimator(self, model: Model, X: Any) -> Iterator[np.ndarray]:
        first = estimator_scores(self.init_, X, model.link, model.n_outputs)
        first = first[0] if model.n_outputs == 1 else first.T
        if model.ensemble.rescalings:
            for done in range(1, model.n_iterations + 1):
                yield self._linked(model.predict_raw(X, done, self._threads()) + first)
            return
        scores = model.predict_raw(X, 0, self._threads())
        for done in range(model.n_iterations):
            one = replace(model[done : done + 1], base_scores=np.zeros(model.n_outputs))
            scores = scores + one.predict_raw(X, None, self._threads())
            yield self._linked(scores + first)

    def _linked(self, scores: np.ndarray) -> np.ndarray:
        by_output = scores[None, :] if scores.ndim == 1 else np.ascontiguousarray(scores.T)
        return link_from_name(self.model_.link).predict(by_output)

    def apply(self, X: Any) -> np.ndarray:
        """The node in which each row ends, counted within the tree: int32 (rows, trees)."""
        return self._fitted_model(X).leaf_indices(plain_rows(X), n_jobs=self._threads())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that ``sapwood.load`` reads."""
        check_is_fitted(self)
        if self.init_ is not None:
            raise ParameterError(
                f"the model starts from {type(self.init_).__name__}, which a model file cannot hold: pickle the "
                "estimator, or train with a constant init"
            )
        self.model_.save(path)

    def _fitted_model(self, X: Any) -> Model:
        """The model, after a look at the columns of X: their number, and whether they have names as in training."""
        check_is_fitted(self)
        table = read_table(plain_rows(X))
        self.model_.schema.align(table, type(self).__name__)
        was_named = hasattr(self, "feature_names_in_")
        if was_named and not table.has_string_names:
            _warn(f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names")
        elif table.has_string_names and not was_named:
            _warn(f"X has feature names, but {type(self).__name__} was fitted without feature names")
        return self.model_

    def _threads(self) -> int | None:
        """How many threads may predict, by the parameter as it is now."""
        return check_value("n_jobs", self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=4)
