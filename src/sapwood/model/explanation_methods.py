"""The methods of a model that explain it.

The package ``sapwood.explain`` lies above this one, so its modules are imported by name when they are used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


class ExplanationMethods:
    """The methods of a model that explain it and its predictions."""

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
        n_jobs: int | None = None,
    ) -> np.ndarray:
        """Return the importance of each feature.

        Parameters
        ----------
        kind : str, default='total_gain'
            Definition of importance: "total_gain", "gain" (mean per split), "weight" (number of splits), "cover" and
            others (see ``docs/explanations.md``), some of which are measured on X and y.
        X : array, data frame, sparse matrix or rows, optional
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
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        FeatureImportance
            An array in the order of the columns of X that prints as a table with names.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> model.importance(percent=True).to_dict()
        {'f0': 100.0}
        """
        options = {
            "sample_weight": sample_weight, "n_repeats": n_repeats, "random_state": random_state, "n_jobs": n_jobs
        }  # fmt: skip
        return _call("importance", "importance", self, kind, X, y, percent=percent, **options)

    def explain(
        self, X: Any, iterations: int | None = None, n_jobs: int | None = None, *, background: Any = None
    ) -> Any:
        """Explain the scores of all rows by Shapley values.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.
        background : array, data frame, sparse matrix or rows, optional
            Rows over which expectations are taken; by default the training rows, by the cover of the trees.

        Returns
        -------
        Explanation
            Shapley values with the features and the base values.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> model.explain(X).values.shape
        (100, 1)
        """
        return _call("shapley", "explain", self, X, iterations, n_jobs, background=background)

    def shap_values(
        self, X: Any, iterations: int | None = None, n_jobs: int | None = None, *, background: Any = None
    ) -> np.ndarray:
        """Return the Shapley values of the scores of all rows.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.
        background : array, data frame, sparse matrix or rows, optional
            Rows over which expectations are taken; by default the training rows, by the cover of the trees.

        Returns
        -------
        ndarray (rows, features) or (rows, features, outputs)

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> model.shap_values(X).shape
        (100, 1)
        """
        return _call("shapley", "shap_values", self, X, iterations, n_jobs, background=background)

    def shap_interaction_values(self, X: Any, iterations: int | None = None, n_jobs: int | None = None) -> np.ndarray:
        """Return the interaction values of the scores of all rows; their sums over features are the Shapley values.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        ndarray (rows, features, features) or (rows, features, features, outputs)
            Half the interaction of two features in each of their entries, main effects on the diagonal.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> model.shap_interaction_values(X).shape
        (100, 1, 1)
        """
        return _call("shapley", "shap_interaction_values", self, X, iterations, n_jobs)

    def partial_dependence(
        self,
        X: Any,
        feature: int | str,
        *,
        grid: Any = 100,
        method: str = "brute",
        response: str = "raw",
        n_jobs: int | None = None,
    ) -> Any:
        """Return the mean score as a function of one feature, and the curve of each row.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        feature : int or str
            Number or name of the column.
        grid : int, 'exact' or array-like, default=100
            Number of quantiles of X; "exact" for one value of every interval between thresholds of the trees; or
            values.
        method : {'brute', 'recursion'}, default='brute'
            "recursion" averages by the cover of the trees instead of over the rows of X.
        response : {'raw', 'prediction'}, default='raw'
            Scores before the link function, or values and probabilities.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        FeatureEffect
            ``grid``, ``average`` and ``individual``.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> model.partial_dependence(X, "f0", grid=5).average.shape
        (5,)
        """
        options = {"grid": grid, "method": method, "response": response, "n_jobs": n_jobs}
        return _call("partial_dependence", "partial_dependence", self, X, feature, **options)

    def accumulated_local_effects(
        self, X: Any, feature: int | str, *, n_intervals: int = 50, response: str = "raw", n_jobs: int | None = None
    ) -> Any:
        """Return accumulated local effects of a numeric feature, which correlated features do not distort.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        feature : int or str
            Number or name of the column.
        n_intervals : int, default=50
            Number of intervals between quantiles of X.
        response : {'raw', 'prediction'}, default='raw'
            Scores before the link function, or values and probabilities.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        FeatureEffect
            ``grid``, the ends of the intervals, and ``average``, the effect there.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 10}, X, list(range(100)))
        >>> model.accumulated_local_effects(X, "f0", n_intervals=4).average.shape
        (5,)
        """
        options = {"n_intervals": n_intervals, "response": response, "n_jobs": n_jobs}
        return _call("partial_dependence", "accumulated_local_effects", self, X, feature, **options)

    def row_paths(self, X: Any, tree: int = 0, n_jobs: int | None = None) -> list[str]:
        """Return the path of each row in one tree in words.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        tree : int, default=0
            Number of the tree.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        list of str
            The conditions that the row meets, and the value of its leaf.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 1, "max_leaves": 2}, X, [i > 49 for i in range(100)])
        >>> model.row_paths(X[:1])[0].split(" → ")[0]
        'f0 ≤ 49.5'
        """
        return _call("row_paths", "row_paths", self, X, tree, n_jobs)

    def leaf_similarity(self, X: Any, Z: Any = None, n_jobs: int | None = None) -> np.ndarray:
        """Return the fraction of trees in which two rows are in the same leaf.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        Z : array, data frame, sparse matrix or rows, optional
            Rows to compare with; those of X by default.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        ndarray (rows of X, rows of Z)

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 1, "max_leaves": 2}, X, [i > 49 for i in range(100)])
        >>> model.leaf_similarity([[0.0], [99.0]], [[1.0]]).tolist()
        [[1.0], [0.0]]
        """
        return _call("row_paths", "leaf_similarity", self, X, Z, n_jobs)

    def nearest_rows(
        self, X: Any, training_rows: Any, n_rows: int = 5, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the training rows that share most leaves with each row: those that its prediction comes from.

        Parameters
        ----------
        X : array, data frame, sparse matrix or rows
            Rows with the columns of training.
        training_rows : array, data frame, sparse matrix or rows
            The rows to search.
        n_rows : int, default=5
            How many to return.
        n_jobs : int, optional
            Number of threads; as many as allowed by default.

        Returns
        -------
        numbers : ndarray (rows, n_rows)
            Row numbers in ``training_rows``, the most similar first.
        similarity : ndarray (rows, n_rows)
            Fraction of trees in which they share the leaf.

        Examples
        --------
        >>> import sapwood
        >>> X = [[float(i)] for i in range(100)]
        >>> model = sapwood.train({"n_estimators": 1, "max_leaves": 2}, X, [i > 49 for i in range(100)])
        >>> model.nearest_rows([[99.0]], X, 3)[0].tolist()
        [[50, 51, 52]]
        """
        return _call("row_paths", "nearest_rows", self, X, training_rows, n_rows, n_jobs)


def _call(module: str, function: str, *arguments: Any, **options: Any) -> Any:
    """Call a function of a module of ``sapwood.explain``."""
    return getattr(importlib.import_module(f"sapwood.explain.{module}"), function)(*arguments, **options)
