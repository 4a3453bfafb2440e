"""The classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sapwood.boost.fit_arguments import CLASSIFICATION
from sapwood.estimators.base import SapwoodEstimator
from sapwood.estimators.constructor import captures_parameters
from sapwood.params.declaration import AUTO


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
        """Class labels, sorted: the order of the columns of ``predict_proba``."""
        check_is_fitted(self)
        assert self.model_.classes is not None
        return self.model_.classes

    def predict_proba(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Predict the probability of each class, (rows, classes), with the first ``iterations`` rounds (or all)."""
        return _both_columns(self._predict(X, iterations))

    def predict(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Predict the most probable label of each row with the first ``iterations`` rounds (all by default)."""
        return self.classes_[np.argmax(self.predict_proba(X, iterations), axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the probabilities after 1, 2, ... rounds."""
        return map(_both_columns, self._staged_predict(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the most probable labels after 1, 2, ... rounds."""
        return (self.classes_[np.argmax(probability, axis=1)] for probability in self.staged_predict_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores before the link: (rows,) for two classes, else (rows, classes)."""
        scores = self.predict_raw(X)
        return scores[:, 1] - scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 2 else scores


def _both_columns(probability: np.ndarray) -> np.ndarray:
    if probability.ndim > 1:
        return probability
    both = np.empty((len(probability), 2))
    np.subtract(1.0, probability, out=both[:, 0])
    both[:, 1] = probability
    return both
