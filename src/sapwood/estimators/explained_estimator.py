"""Importances and explanations of fitted estimators."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.table import Table, frame_library
from sapwood.errors import ParameterError
from sapwood.explain.explanation import Explanation
from sapwood.explain.importance import FeatureImportance, importance
from sapwood.explain.partial_dependence import FeatureEffect, accumulated_local_effects, partial_dependence
from sapwood.explain.row_paths import leaf_similarity, nearest_rows, row_paths
from sapwood.explain.shapley import explain, shap_interaction_values, shap_values
from sapwood.model.model import Model


class ExplainedEstimator(BaseEstimator):
    """The methods of an estimator that explain its model and its predictions."""

    model_: Model
    init_: Any

    @abstractmethod
    def _align(self, X: Any) -> Table: ...

    @abstractmethod
    def _n_jobs(self) -> int | None: ...

    @abstractmethod
    def _init_scores(self, X: Any) -> np.ndarray: ...

    def importance(
        self,
        kind: str = "total_gain",
        X: Any = None,
        y: Any = None,
        *,
        percent: bool = False,
        sample_weight: Any = None,
        n_repeats: int = 5,
        random_state: int = 0,
    ) -> FeatureImportance:
        """Return the importance of each feature.

        Parameters
        ----------
        kind : str, default='total_gain'
            Definition of importance: "total_gain" (of which ``feature_importances_`` are the fractions), "gain" (mean
            per split), "weight" (number of splits), "cover", "prediction_values_change", "internal", "interaction",
            and with X "mean_abs_shap" and "prediction_diff", with X and y "permutation" and "loss_function_change";
            ``docs/explanations.md`` has the formulas.
        X : array, data frame, sparse matrix or Dataset, optional
            Rows on which the importance is measured, two rows for "prediction_diff".
        y : array-like, optional
            Target of each row.
        percent : bool, default=False
            Whether to scale the importances to a sum of 100.
        sample_weight : array-like, optional
            Weight of each row of X.
        n_repeats : int, default=5
            Number of permutations per feature.
        random_state : int, default=0
            Seed of the permutations.

        Returns
        -------
        FeatureImportance
            An array in the order of the columns of X; it prints as a table with names, and ``to_dict()`` and
            ``to_frame()`` sort it.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> model.importance(percent=True)
        importance (total_gain)
        f0  100
        """
        check_is_fitted(self)
        if X is not None and y is not None:
            self._without_init("importance")
        table = None if X is None else self._align(X)
        found = importance(
            self.model_, kind, table, y, percent=percent, sample_weight=sample_weight, n_repeats=n_repeats,
            random_state=random_state, n_jobs=self._n_jobs(),
        )  # fmt: skip
        found.library = frame_library(unwrap_dataset(X)) or "pandas"
        return found

    def explain(self, X: Any, iterations: int | None = None, *, background: Any = None) -> Explanation:
        """Explain the scores of all rows by Shapley values.

        For every row, the base value and the values of all features add up to ``predict_raw``.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        background : array, data frame, sparse matrix or Dataset, optional
            Rows over which expectations are taken (interventional values); by default the training rows, by the cover
            of the trees. The time is proportional to their number: 100 are usually enough.

        Returns
        -------
        Explanation
            Shapley values with base values, data and names; plots of ``shap`` accept it.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] - X[:, 2])
        >>> explanation = model.explain(X)
        >>> explanation
        <sapwood Explanation: 200 rows, 3 features>
        >>> np.allclose(explanation.base_values + explanation.values.sum(axis=1), model.predict_raw(X))
        True
        """
        table = self._align(X)
        others = None if background is None else self._align(background)
        explanation = explain(
            self.model_,
            table,
            iterations,
            self._n_jobs(),
            background=others,
            library=frame_library(unwrap_dataset(X)) or "pandas",
        )
        if self.init_ is None:
            return explanation
        return explanation.changed(base_values=explanation.base_values + self._init_scores(X))

    def shap_values(self, X: Any, iterations: int | None = None, *, background: Any = None) -> np.ndarray:
        """Return the Shapley values of the scores of all rows.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        background : array, data frame, sparse matrix or Dataset, optional
            Rows over which expectations are taken (interventional values); by default the training rows, by the cover
            of the trees. The time is proportional to their number: 100 are usually enough.

        Returns
        -------
        ndarray (rows, features) or (rows, features, outputs)
            Contributions to the score, which is on the scale of ``predict_raw``.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] - X[:, 2])
        >>> model.shap_values(X).shape
        (200, 3)
        """
        others = None if background is None else self._align(background)
        return shap_values(self.model_, self._align(X), iterations, self._n_jobs(), background=others)

    def shap_interaction_values(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Return the interaction values of the scores of all rows.

        The interaction of two features stands half in each of their two entries; main effects are on the diagonal. The
        sum over an axis of features gives ``shap_values``.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.

        Returns
        -------
        ndarray (rows, features, features) or (rows, features, features, outputs)

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] * X[:, 2])
        >>> pairs = model.shap_interaction_values(X)
        >>> np.allclose(pairs.sum(axis=2), model.shap_values(X))
        True
        """
        return shap_interaction_values(self.model_, self._align(X), iterations, self._n_jobs())

    def partial_dependence(
        self, X: Any, feature: int | str, *, grid: Any = 100, method: str = "brute", response: str = "raw"
    ) -> FeatureEffect:
        """Return the mean score as a function of one feature, and the curve of each row.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows over which the other features are averaged.
        feature : int or str
            Number or name of the column.
        grid : int, 'exact' or array-like, default=100
            Number of quantiles of X; "exact" for one value of every interval between thresholds of the trees; or
            values. A categorical column has all its categories by default.
        method : {'brute', 'recursion'}, default='brute'
            "recursion" averages by the cover of the trees instead, without the rows of X: much faster, without curves
            of rows.
        response : {'raw', 'prediction'}, default='raw'
            Scores before the link function, or values and probabilities.

        Returns
        -------
        FeatureEffect
            ``grid``, ``average`` and ``individual``.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0])
        >>> effect = model.partial_dependence(X, 0, grid=10)
        >>> effect.average.shape, effect.individual.shape
        ((10,), (200, 10))
        """
        options = {"grid": grid, "method": method, "response": response, "n_jobs": self._n_jobs()}
        return partial_dependence(self._without_init("partial_dependence"), self._align(X), feature, **options)

    def accumulated_local_effects(
        self, X: Any, feature: int | str, *, n_intervals: int = 50, response: str = "raw"
    ) -> FeatureEffect:
        """Return accumulated local effects of a numeric feature, which correlated features do not distort.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows whose quantiles divide the feature, and over which changes are averaged.
        feature : int or str
            Number or name of the column.
        n_intervals : int, default=50
            Number of intervals between quantiles.
        response : {'raw', 'prediction'}, default='raw'
            Scores before the link function, or values and probabilities.

        Returns
        -------
        FeatureEffect
            ``grid``, the ends of the intervals, and ``average``, the effect there.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0])
        >>> model.accumulated_local_effects(X, 0, n_intervals=9).average.shape
        (10,)
        """
        options: dict[str, Any] = {"n_intervals": n_intervals, "response": response, "n_jobs": self._n_jobs()}
        model = self._without_init("accumulated_local_effects")
        return accumulated_local_effects(model, self._align(X), feature, **options)

    def row_paths(self, X: Any, tree: int = 0) -> list[str]:
        """Return the path of each row in one tree in words.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        tree : int, default=0
            Number of the tree.

        Returns
        -------
        list of str
            The conditions that the row meets, and the value of its leaf.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=1, learning_rate=1.0, reg_lambda=0.0, max_leaves=2)
        >>> model = model.fit(X, X[:, 0] > 49)
        >>> model.row_paths(X[:1])
        ['f0 ≤ 49.5 → -0.5']
        """
        return row_paths(self.model_, self._align(X), tree, self._n_jobs())

    def leaf_similarity(self, X: Any, Z: Any = None) -> np.ndarray:
        """Return the fraction of trees in which two rows are in the same leaf.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        Z : array, data frame, sparse matrix or Dataset, optional
            Rows to compare with; those of X by default.

        Returns
        -------
        ndarray (rows of X, rows of Z)

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=1, max_leaves=2).fit(X, X[:, 0] > 49)
        >>> model.leaf_similarity(X[[0, 99]], X[[1, 98]]).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        others = None if Z is None else self._align(Z)
        return leaf_similarity(self.model_, self._align(X), others, self._n_jobs())

    def nearest_rows(self, X: Any, training_rows: Any, n_rows: int = 5) -> tuple[np.ndarray, np.ndarray]:
        """Return the training rows that share most leaves with each row: those that its prediction comes from.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        training_rows : array, data frame, sparse matrix or Dataset
            The rows to search.
        n_rows : int, default=5
            How many to return.

        Returns
        -------
        numbers : ndarray (rows, n_rows)
            Row numbers in ``training_rows``, the most similar first.
        similarity : ndarray (rows, n_rows)
            Fraction of trees in which they share the leaf.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=1, max_leaves=2).fit(X, X[:, 0] > 49)
        >>> model.nearest_rows(X[[99]], X, 3)[0].tolist()
        [[50, 51, 52]]
        """
        return nearest_rows(self.model_, self._align(X), self._align(training_rows), n_rows, self._n_jobs())

    def _without_init(self, caller: str) -> Model:
        """Return the model; raise an error if predictions also contain those of an estimator ``init``."""
        check_is_fitted(self)
        if self.init_ is not None:
            raise ParameterError(
                f"{caller}: predictions contain those of init, a {type(self.init_).__name__}: use sklearn.inspection, "
                "which calls predict"
            )
        return self.model_
