"""Gradient-boosted trees for classification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sapwood.boost.fit_arguments import CLASSIFICATION
from sapwood.estimators.base import SapwoodEstimator
from sapwood.estimators.constructor import captures_parameters
from sapwood.params.aliases.alias import PREDICT
from sapwood.params.declaration import AUTO
from sapwood.params.unknown_arguments import explains_arguments


class SapwoodClassifier(ClassifierMixin, SapwoodEstimator):
    """Gradient-boosted trees for classification.

    Parameters are keyword-only and ``"auto"`` where unset; ``docs/parameters.md`` lists them with their defaults.
    """

    task: ClassVar[str] = CLASSIFICATION
    class_weight: Any

    @captures_parameters(SapwoodEstimator.__init__)
    def __init__(self, *, class_weight: Any = AUTO, **shared: Any) -> None: ...

    @property
    def classes_(self) -> np.ndarray:
        """Class labels, sorted, in the order of the columns of ``predict_proba``."""
        check_is_fitted(self)
        assert self.model_.classes is not None
        return self.model_.classes

    @explains_arguments(PREDICT)
    def predict_proba(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.

        Returns
        -------
        ndarray (rows, classes)
            Probabilities in the order of ``classes_``.
        """
        return _probabilities_of_both(self._predict(X, iterations))

    @explains_arguments(PREDICT)
    def predict(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Predict the most probable label of each row.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.

        Returns
        -------
        ndarray (rows,)
            Labels out of ``classes_``.
        """
        return self.classes_[np.argmax(self.predict_proba(X, iterations), axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the probabilities (rows, classes) after 1, 2, ... rounds."""
        return map(_probabilities_of_both, self._staged_predict(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the most probable labels (rows,) after 1, 2, ... rounds."""
        return (self.classes_[np.argmax(probability, axis=1)] for probability in self.staged_predict_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores before the link function: (rows,) for two classes, else (rows, classes)."""
        scores = self.predict_raw(X)
        return scores[:, 1] - scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 2 else scores


def _probabilities_of_both(probability: np.ndarray) -> np.ndarray:
    """Return (rows, 2) from the probabilities (rows,) of the second class; (rows, classes) as they are."""
    if probability.ndim > 1:
        return probability
    both = np.empty((len(probability), 2))
    np.subtract(1.0, probability, out=both[:, 0])
    both[:, 1] = probability
    return both
