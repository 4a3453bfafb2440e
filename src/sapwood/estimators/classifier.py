"""The classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sapwood.data.tables.class_weights import class_weights
from sapwood.data.tables.conversion import shown
from sapwood.data.tables.targets import check_range, encode_known_labels, encode_labels, read_column
from sapwood.distributed.workers import Ranks
from sapwood.errors import InputError
from sapwood.estimators.base import SapwoodEstimator
from sapwood.estimators.constructor import captures_parameters
from sapwood.params.declaration import AUTO
from sapwood.params.resolve import check_value


class SapwoodClassifier(ClassifierMixin, SapwoodEstimator):
    """Gradient-boosted trees for classes.

    Parameters are keyword-only and ``"auto"`` where unset; ``docs/parameters.md`` lists them with their defaults.
    """

    _task: ClassVar[str] = "classification"
    class_weight: Any

    @captures_parameters(SapwoodEstimator.__init__)
    def __init__(self, *, class_weight: Any = AUTO, **shared: Any) -> None: ...

    def _read_target(self, y: Any, n_rows: int, known: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        labels = read_column(y, n_rows, "y")
        if known is not None:
            return encode_known_labels(labels, n_rows, known), known
        classes, codes = encode_labels(labels, n_rows)
        return codes, classes

    def _weigh(
        self, y: np.ndarray, weight: np.ndarray | None, classes: np.ndarray | None, ranks: Ranks | None
    ) -> np.ndarray | None:
        assert classes is not None
        if len(classes) < 2:
            raise InputError(f"y has one class, {shown(classes[0])}: a classifier needs rows of at least two")
        codes, given = y, weight
        if ranks is not None:
            codes, given = ranks.whole(np.stack([y, np.ones(len(y)) if weight is None else weight]))
        by_class = class_weights(check_value("class_weight", self.class_weight), classes, codes, given)
        if by_class is None:
            return weight
        combined = by_class[y.astype(np.intp)] * (1.0 if weight is None else weight)
        if (ranks is None or not ranks.share_rows) and not combined.any():
            raise InputError(
                f"class_weight={self.class_weight!r} leaves no row with a positive weight: give at least one class "
                "that has rows a weight above 0"
            )
        check_range(combined, "class_weight times sample_weight")
        return combined

    def _answer(self, X: Any) -> np.ndarray:
        return self.predict_proba(X)

    @property
    def classes_(self) -> np.ndarray:
        """The labels, sorted; the order of the columns of ``predict_proba``."""
        check_is_fitted(self)
        assert self.model_.classes is not None
        return self.model_.classes

    def predict_proba(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """The probability of each class after so many rounds (all by default): (rows, classes)."""
        return _of_every_class(self._predict(X, iterations))

    def predict(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """The most probable label of each row after so many rounds (all by default)."""
        return self.classes_[np.argmax(self.predict_proba(X, iterations), axis=1)]

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the probabilities after 1, 2, ... rounds."""
        return map(_of_every_class, self._staged_predict(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the most probable labels after 1, 2, ... rounds."""
        return (self.classes_[np.argmax(probability, axis=1)] for probability in self.staged_predict_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores before they become probabilities: (rows,) for two classes, else (rows, classes)."""
        scores = self.predict_raw(X)
        return scores[:, 1] - scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 2 else scores


def _of_every_class(probability: np.ndarray) -> np.ndarray:
    if probability.ndim > 1:
        return probability
    both = np.empty((len(probability), 2))
    np.subtract(1.0, probability, out=both[:, 0])
    both[:, 1] = probability
    return both
