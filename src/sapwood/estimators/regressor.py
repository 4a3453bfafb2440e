"""Gradient-boosted trees for regression."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin

from sapwood.boost.fit_arguments import REGRESSION
from sapwood.estimators.constructor import documents_parameters
from sapwood.estimators.regressor_parameters import RegressorParameters
from sapwood.params.aliases.alias import PREDICT
from sapwood.params.unknown_arguments import explains_arguments


@documents_parameters
class SapwoodRegressor(RegressorMixin, RegressorParameters):
    """Gradient-boosted trees for regression.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = X[:, 0] + X[:, 1] ** 2
    >>> model = SapwoodRegressor(n_estimators=50, growth="levelwise").fit(X, y)
    >>> model
    SapwoodRegressor(growth='levelwise', n_estimators=50)
    >>> model.score(X, y) > 0.8
    True
    >>> model.predict(X).shape
    (500,)
    >>> [name for name, _ in model.importance().items()]
    ['f1', 'f0', 'f2']
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

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> model.predict(X[:2], iterations=0)
        array([0.5, 0.5])
        """
        return self._predict(X, iterations)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Predict an interval for the target of each row; the estimator must be fitted with ``intervals``.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        coverage : float, default=0.9
            Fraction of the targets of new rows that the intervals contain.

        Returns
        -------
        ndarray (rows, 2)
            Lower and upper bound of each row.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(200.0)[:, None]
        >>> model = SapwoodRegressor(intervals=True, n_estimators=20).fit(X, X[:, 0] % 7)
        >>> model.predict_interval(X[:5], coverage=0.8).shape
        (5, 2)
        """
        return self.model_.predict_interval(self._align(X), coverage, self._n_jobs())

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predict the target of each row after 1, 2, ... rounds.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Yields
        ------
        ndarray (rows,) or (rows, outputs)
            Predictions after the round.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> [one.shape for one in model.staged_predict(X[:1])][:2]
        [(1,), (1,)]
        """
        return self._staged_predict(X)
