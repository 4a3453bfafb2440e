"""Predictions, importances and persistence of fitted estimators."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sapwood.boost.initial_scores import estimator_scores
from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table, read_table
from sapwood.errors import warn_user
from sapwood.estimators import estimator_file
from sapwood.estimators.evals_frame import make_evals_frame
from sapwood.estimators.explained_estimator import ExplainedEstimator
from sapwood.estimators.notebook_display import NotebookDisplay
from sapwood.explain.importance import feature_importances
from sapwood.model.model import Model
from sapwood.objectives.links import link_from_name
from sapwood.params.aliases.alias import PREDICT
from sapwood.params.resolve import check_value
from sapwood.params.unknown_arguments import explains_arguments
from sapwood.params.unknown_attributes import unknown_attribute

FUNCTION_NAMES = ("custom", "gradient")  # of losses that a model does not contain
Fitted = TypeVar("Fitted", bound="FittedEstimator")


class FittedEstimator(NotebookDisplay, ExplainedEstimator):
    """The methods and attributes of an estimator that require a call of ``fit``.

    Attributes
    ----------
    model_ : Model
        The trained model; it does not contain ``init_``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X; only if all of them are strings.
    feature_importances_ : ndarray (features,)
        Fraction of the total gain that each feature contributes; the sum is 1.
    n_iter_ : int
        Number of boosting rounds of the fitted model.
    init_ : estimator or None
        The fitted estimator whose predictions the trees start from.
    best_iteration_ : int
        Number of rounds after which the metric that early stopping watches was best; all rounds without one.
    best_score_ : float or None
        Value of that metric; None without a validation set.
    evals_result_ : dict
        Metrics as ``{set: {metric: [one value per round]}}``.
    params_ : dict
        All parameters in force: what was set, and for the rest the values from preset, data and defaults.
    stopped_ : str
        Reason for which training ended: "n_estimators", "early_stopping", "time_limit", "callback", "interrupted" or
        "one_class" (y has one class; the model has no trees).
    oob_score_ : float
        With ``oob_score``: accuracy or R² of the out-of-bag predictions of a forest, or the value of the function; the
        out-of-bag loss after the last round of boosting.
    oob_prediction_ : ndarray (rows,) or (rows, outputs)
        With ``oob_score``, of a forest for regression: predictions of the training rows by the trees that were grown
        without them; NaN where there are none.
    oob_decision_function_ : ndarray (rows, classes)
        With ``oob_score``, of a forest for classification: probabilities of the training rows by such trees.
    oob_scores_, oob_improvement_ : ndarray (rounds,)
        With ``oob_score``, of boosting: the loss after each round of the rows that it left out, and its decrease.
    """

    task: ClassVar[str]
    n_jobs: Any
    model_: Model
    init_: Any
    n_features_in_: int
    feature_names_in_: np.ndarray
    best_iteration_: int
    best_score_: float | None
    evals_result_: dict[str, dict[str, list[float]]]
    params_: dict[str, Any]
    stopped_: str
    oob_score_: float
    oob_prediction_: np.ndarray
    oob_decision_function_: np.ndarray
    oob_scores_: np.ndarray
    oob_improvement_: np.ndarray

    @property
    def n_iter_(self) -> int:
        """Number of boosting rounds of the fitted model."""
        check_is_fitted(self)
        return self.model_.n_iterations

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of the total gain that each feature contributes; the sum is 1."""
        check_is_fitted(self)
        return feature_importances(self.model_)

    def evals_frame(self, library: str | None = None) -> Any:
        """Return the metrics of all rounds, ``evals_result_``, as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"} or None, default=None
            Library of the data frame; by default that of the X of ``fit``, or else one that is there.

        Returns
        -------
        DataFrame
            Columns ``round`` (from 1), ``set``, ``metric`` and ``value``.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=2, eval_metric=["rmse", "mae"])
        >>> model.fit(X, X[:, 0], eval_set=(X[::2], X[::2, 0])).evals_frame("pandas")[["round", "set", "metric"]]
           round         set metric
        0      1  validation   rmse
        1      2  validation   rmse
        2      1  validation    mae
        3      2  validation    mae
        """
        check_is_fitted(self)
        return make_evals_frame(self.evals_result_, library or getattr(self, "_frame_library", None))

    @explains_arguments(PREDICT)
    def predict_raw(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Return the scores before the link function.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.

        Returns
        -------
        ndarray (rows,) or (rows, outputs)
            Scores; two-dimensional for losses with several outputs.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> model.predict_raw(X[:2], iterations=0)
        array([0.5, 0.5])
        """
        return self._raw_scores(X, self._align(X), iterations)

    def _raw_scores(self, X: Any, table: Table, iterations: int | None) -> np.ndarray:
        scores = self.model_.predict_raw(table, iterations, self._n_jobs())
        return scores if self.init_ is None or len(scores) == 0 else scores + self._init_scores(X)

    def _predict(self, X: Any, iterations: int | None) -> np.ndarray:
        """Return the predictions of the model's link."""
        if iterations is None and (response := self._row_response(X)) is not None:
            return response
        table = self._align(X)
        if self.init_ is None:
            return self.model_.predict_response(table, iterations, self._n_jobs())
        return self._apply_link(self._raw_scores(X, table, iterations))

    def _row_response(self, X: Any) -> np.ndarray | None:
        """Return the value of the link for one row that has feature names if training had them, else None."""
        fitted = self.__dict__
        if fitted.get("init_", self) is not None:
            return None
        self._n_jobs()
        return self.model_.row_response(X, "feature_names_in_" in fitted)

    def _staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predictions of the model's link after 1, 2, ... rounds."""
        if self.init_ is None:
            return self.model_.staged_response(self._align(X), self._n_jobs())
        return map(self._apply_link, self._staged_predict_raw(X))

    def _staged_predict_raw(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores before the link after 1, 2, ... rounds."""
        table = self._align(X)
        stages = self.model_.staged_predict_raw(table, self._n_jobs())
        if self.init_ is None or table.n_rows == 0:
            return stages
        init_scores = self._init_scores(X)
        return (scores + init_scores for scores in stages)

    def _init_scores(self, X: Any) -> np.ndarray:
        """Return the scores of ``init_``: (rows,) or (rows, outputs)."""
        scores = estimator_scores(self.init_, X, self.model_.link, self.model_.n_outputs)
        return scores[0] if len(scores) == 1 else scores.T

    def _apply_link(self, scores: np.ndarray) -> np.ndarray:
        by_output = scores[None, :] if scores.ndim == 1 else np.ascontiguousarray(scores.T)
        return link_from_name(self.model_.link).predict(by_output)

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Returns
        -------
        ndarray of int32 (rows, trees)
            Number of the leaf among the nodes of the tree.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> model.apply(X).shape
        (100, 20)
        """
        table = self._align(X)
        return self.model_.leaf_indices(table, n_jobs=self._n_jobs())

    def refit_leaves(self: Fitted, X: Any, y: Any, *, sample_weight: Any = None, decay_rate: float = 0.9) -> Fitted:
        """Return a copy of the estimator with leaf values refitted to other rows; splits stay as they are.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        y : array-like
            Target of each row; classes must be among those of the model.
        sample_weight : array-like, optional
            Weight of each row.
        decay_rate : float, default=0.9
            Fraction of the old value that a leaf keeps: 0 forgets the rows of training.

        Returns
        -------
        estimator
            A copy with another ``model_``.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0])
        >>> later = model.refit_leaves(X, X[:, 0] + 10.0, decay_rate=0.5)
        >>> bool(later.predict(X).mean() > model.predict(X).mean() + 4.0)
        True
        """
        check_is_fitted(self)
        refitted = copy.copy(self)
        refitted.model_ = self.model_.refit_leaves(
            self._align(X), y, sample_weight=sample_weight, decay_rate=decay_rate, n_jobs=self._n_jobs(),
            init_score=None if self.init_ is None else self._init_scores(X),
            objective=self.params_["objective"] if self.model_.objective["name"] in FUNCTION_NAMES else None,
        )  # fmt: skip
        return refitted

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file that ``load`` and ``sapwood.load`` read.

        Parameters
        ----------
        path : str or path
            File to write; an existing one is replaced atomically.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> model.save("model.sapwood")
        >>> import sapwood
        >>> sapwood.load("model.sapwood")
        <sapwood.Model: 1 features, 1 outputs, 20 rounds, 20 trees, link identity>
        """
        check_is_fitted(self)
        estimator_file.save(self, path)

    @classmethod
    def load(cls: type[Fitted], path: str | os.PathLike[str]) -> Fitted:
        """Return the fitted estimator that ``save`` wrote, with its parameters and the history of training.

        A file of ``Model.save`` or of version 0.1 has the model alone: the parameters are then "auto", and ``params_``
        has those that were in force as far as they are known.

        Parameters
        ----------
        path : str or path
            File that ``save`` wrote.

        Returns
        -------
        estimator
            A fitted estimator of this class; a file of another kind of estimator is an error.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.arange(100.0)[:, None]
        >>> SapwoodRegressor(n_estimators=20).fit(X, X[:, 0] > 49).save("model.sapwood")
        >>> SapwoodRegressor.load("model.sapwood")
        SapwoodRegressor(n_estimators=20)
        """
        return estimator_file.load(cls, path)

    if not TYPE_CHECKING:  # for type checkers an unknown attribute is an error

        def __getattr__(self, name):
            is_fitted_attribute = name in FittedEstimator.__annotations__ or hasattr(type(self), name)
            if is_fitted_attribute and name.endswith("_") and "model_" not in vars(self):
                raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit before reading {name}.")
            if hasattr(type(self), name):  # a property raised an AttributeError, which is raised again
                return object.__getattribute__(self, name)
            raise unknown_attribute(type(self).__name__, name)

    def _align(self, X: Any) -> Table:
        """Read X, once, as a table with the columns of training; warn if only one of the two has feature names."""
        check_is_fitted(self)
        return align_table(self, X, self.model_.schema)

    def _n_jobs(self) -> int | None:
        """Return the number of threads for predictions, by the current value of ``n_jobs``."""
        return check_value("n_jobs", self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def align_table(estimator: Any, X: Any, schema: Schema) -> Table:
    """Read X, once, as a table with the columns of training; warn if only one of the two has feature names."""
    table = read_table(unwrap_dataset(X), to_predict=True)
    aligned = schema.align(table, type(estimator).__name__)
    was_named = hasattr(estimator, "feature_names_in_")
    if was_named and not table.has_string_names and table.n_features > 0:
        message = f"X does not have valid feature names, but {type(estimator).__name__} was fitted with feature names"
        warn_user(message, UserWarning)
    elif table.has_string_names and not was_named:
        message = f"X has feature names, but {type(estimator).__name__} was fitted without feature names"
        warn_user(message, UserWarning)
    return aligned
