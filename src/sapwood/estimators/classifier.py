"""The classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sapwood.data.target import check_weight, column_of, encode_labels
from sapwood.errors import InputError, ParameterError
from sapwood.estimators.base import SapwoodEstimator
from sapwood.estimators.keeping import keeps_parameters
from sapwood.params import AUTO, check_value, number


class SapwoodClassifier(ClassifierMixin, SapwoodEstimator):
    """Gradient-boosted trees for classes.

    Parameters are keyword-only and ``"auto"`` where unset; ``docs/parameters.md`` lists them with their defaults.
    """

    _task: ClassVar[str] = "classification"
    class_weight: Any

    @keeps_parameters(SapwoodEstimator.__init__)
    def __init__(self, *, class_weight: Any = AUTO, **shared: Any) -> None: ...

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> SapwoodClassifier:
        """Train on rows ``X`` (an array or a data frame, NaN is missing) and one label of any kind per row."""
        table = self._read_training_table(X, y)
        labels = column_of(y, table.n_rows, "y")
        classes, codes = encode_labels(labels, table.n_rows)
        check_classification_targets(labels)
        weight = check_weight(sample_weight, table.n_rows)
        if len(classes) < 2:
            raise InputError(f"y has one class, {classes[0]!r}: a classifier needs rows of at least two")
        by_class = class_weights(check_value("class_weight", self.class_weight), classes, codes, weight)
        if by_class is not None:
            weight = by_class[codes.astype(np.intp)] * (1.0 if weight is None else weight)
        self._train(table, codes, weight, classes)
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


def class_weights(
    spec: Mapping[Any, float] | str | None, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray | None
) -> np.ndarray | None:
    """A factor for each class: as the dict says and 1 for the others, or such that all classes weigh the same."""
    if spec is None:
        return None
    if isinstance(spec, str):
        totals = np.bincount(codes.astype(np.intp), weight, minlength=len(classes))
        return np.divide(totals.sum() / len(classes), totals, out=np.zeros(len(classes)), where=totals > 0)
    factors = np.ones(len(classes))
    names = classes.tolist()
    for name, factor in spec.items():
        if name not in names:
            listed = ", ".join(map(repr, names))
            raise ParameterError(
                f"class_weight names the class {name!r}, which y does not have: its classes are {listed}"
            )
        factors[names.index(name)] = number(0).check(f"class_weight of {name!r}", factor)
    return factors
