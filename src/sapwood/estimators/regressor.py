"""Gradient-boosted trees for regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from sapwood.boost.fit_arguments import REGRESSION
from sapwood.estimators.base import SapwoodEstimator
from sapwood.params.aliases.alias import PREDICT
from sapwood.params.unknown_arguments import explains_arguments


class SapwoodRegressor(RegressorMixin, SapwoodEstimator):
    """Gradient-boosted trees for regression.

    Parameters are keyword-only and ``"auto"`` where unset; ``docs/parameters.md`` lists them with their defaults.
    """

    task: ClassVar[str] = REGRESSION

    @explains_arguments(PREDICT)
    def predict(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Predict the target of each row.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.

        Returns
        -------
        ndarray (rows,) or (rows, outputs)
            Predictions; two-dimensional for losses with several outputs.
        """
        return self._predict(X, iterations)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predictions after 1, 2, ... rounds."""
        return self._staged_predict(X)
