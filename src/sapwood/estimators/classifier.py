"""The classifier."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sapwood.data.target import column_of, encode_labels
from sapwood.errors import InputError
from sapwood.estimators.base import SapwoodEstimator


class SapwoodClassifier(ClassifierMixin, SapwoodEstimator):
    """Gradient-boosted trees for classes.

    Parameters are keyword-only and ``"auto"`` where unset; ``docs/parameters.md`` lists them with their defaults.
    """

    _task: ClassVar[str] = "classification"

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> SapwoodClassifier:
        """Train on rows ``X`` (an array or a data frame, NaN is missing) and one label of any kind per row."""
        table = self._read_training_table(X, y)
        labels = column_of(y, table.n_rows, "y")
        check_classification_targets(labels)
        classes, codes = encode_labels(labels, table.n_rows)
        if len(classes) < 2:
            raise InputError(f"y has one class, {classes[0]!r}: a classifier needs rows of at least two")
        self._train(table, codes, sample_weight, classes)
        return self

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted; the order of the columns of ``predict_proba``."""
        check_is_fitted(self)
        assert self.model_.classes is not None
        return self.model_.classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class: (rows, classes)."""
        probability = self._fitted_model(X).predict(X, n_jobs=self._threads())
        return np.column_stack([1.0 - probability, probability]) if probability.ndim == 1 else probability

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row."""
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores before they become probabilities: (rows,) for two classes, else (rows, classes)."""
        scores = self.predict_raw(X)
        return scores[:, 1] - scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 2 else scores
