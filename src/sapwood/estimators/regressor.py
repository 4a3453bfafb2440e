"""The regressor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from sapwood.data.tables.targets import check_target
from sapwood.estimators.base import SapwoodEstimator


class SapwoodRegressor(RegressorMixin, SapwoodEstimator):
    """Gradient-boosted trees for numbers.

    Parameters are keyword-only and ``"auto"`` where unset; ``docs/parameters.md`` lists them with their defaults.
    """

    _task: ClassVar[str] = "regression"

    def _read_target(self, y: Any, n_rows: int, known: np.ndarray | None) -> tuple[np.ndarray, None]:
        return check_target(y, n_rows), None

    def _answer(self, X: Any) -> np.ndarray:
        return self.predict(X)

    def predict(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Predict a number for each row, after so many rounds (all by default); several where the loss has them."""
        return self._predict(X, iterations)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predictions after 1, 2, ... rounds."""
        return self._staged_predict(X)
