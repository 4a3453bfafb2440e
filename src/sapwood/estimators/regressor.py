"""The regressor."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from sapwood.data.target import check_target, check_weight
from sapwood.estimators.base import SapwoodEstimator


class SapwoodRegressor(RegressorMixin, SapwoodEstimator):
    """Gradient-boosted trees for numbers.

    Parameters are keyword-only and ``"auto"`` where unset; ``docs/parameters.md`` lists them with their defaults.
    """

    _task: ClassVar[str] = "regression"

    def fit(self, X: Any, y: Any, *, sample_weight: Any = None) -> SapwoodRegressor:
        """Train on rows ``X`` (an array or a data frame, NaN is missing) and one number per row."""
        table = self._read_training_table(X, y)
        self._train(table, check_target(y, table.n_rows), check_weight(sample_weight, table.n_rows))
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predict a number for each row; several where the loss has several outputs."""
        return self._fitted_model(X).predict(X, n_jobs=self._threads())
