"""Base class of the classifier and the regressor: parameters and ``fit``."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from sklearn.exceptions import DataConversionWarning

from sapwood.boost import train as engine
from sapwood.boost.fit_arguments import REGRESSION, FitArguments
from sapwood.data.tables.table import frame_library
from sapwood.errors import ParameterError, warn_user
from sapwood.estimators.evals_frame import LIBRARIES
from sapwood.estimators.fitted_estimator import FittedEstimator
from sapwood.params.aliases.alias import FIT
from sapwood.params.resolve import check_value, resolve_params
from sapwood.params.unknown_arguments import explains_arguments
from sapwood.params.unknown_names import unknown_parameter

if TYPE_CHECKING:
    from sapwood.boost.out_of_bag import OutOfBagReport

Estimator = TypeVar("Estimator", bound="SapwoodEstimator")
OUT_OF_BAG_ATTRIBUTES = (
    "oob_score_", "oob_prediction_", "oob_decision_function_", "oob_scores_", "oob_improvement_"
)  # fmt: skip


class SapwoodEstimator(FittedEstimator):
    """Base class of the estimators, without the constructor, which is generated for each of them."""

    task: ClassVar[str]
    warm_start: Any

    def set_params(self: Estimator, **params: Any) -> Estimator:
        """Set parameters by name; the error for an unknown one names the one to use.

        Parameters
        ----------
        **params : dict
            Parameters of the constructor.

        Returns
        -------
        self
            The estimator itself.

        Examples
        --------
        >>> from sapwood import SapwoodRegressor
        >>> SapwoodRegressor().set_params(max_leaves=7)
        SapwoodRegressor(max_leaves=7)
        """
        known = self._get_param_names()
        for name in params:
            if name.partition("__")[0] not in known:
                raise ParameterError(unknown_parameter(name, known, {**vars(self), **params}))
        super().set_params(**params)
        return self

    # --- training -----------------------------------------------------------------------------------------------------

    @explains_arguments(FIT)
    def fit(
        self: Estimator,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        eval_set: Any = None,
        eval_sample_weight: Any = None,
        init_score: Any = None,
        groups: Any = None,
        init_model: Any = None,
    ) -> Estimator:
        """Train a model.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows to train on; NaN is missing. The bins of a ``Dataset`` are used as they are.
        y : array-like
            Target of each row: labels of any kind for classification, numbers for regression.
        sample_weight : array-like, optional
            Weight of each row; rows of weight 0 are left out.
        eval_set : pair (X, y), list of pairs or dict of pairs, optional
            Validation sets, evaluated after every round.
        eval_sample_weight : array-like, list or dict, optional
            Weights of the rows of ``eval_set``, in the same form; class weights do not apply to validation sets.
        init_score : array-like (rows,) or (rows, outputs), optional
            Offset of the scores in training, which predictions do not contain. Each validation set then has its own as
            a third entry: (X, y, init_score).
        groups : array-like, optional
            Group of each row; a group is never divided when rows are split off for validation.
        init_model : Model, fitted estimator or path of a model file, optional
            Model to continue: its trees come first.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        A validation set decides when training stops:

        >>> import numpy as np
        >>> from sapwood import SapwoodRegressor
        >>> X = np.random.default_rng(0).normal(size=(1000, 3))
        >>> y = np.sin(X[:, 0]) + X[:, 1] ** 2
        >>> model = SapwoodRegressor(n_estimators=1000, early_stopping_rounds=10)
        >>> model = model.fit(X[:800], y[:800], eval_set=(X[800:], y[800:]))
        >>> model.stopped_, model.best_iteration_ == model.n_iter_
        ('early_stopping', True)
        """
        warn_of_column_vector(y)
        arguments = make_fit_arguments(
            self, X, y, sample_weight=sample_weight, eval_set=eval_set, eval_sample_weight=eval_sample_weight,
            init_score=init_score, groups=groups, init_model=init_model,
        )  # fmt: skip
        earlier: dict[str, dict[str, list[float]]] = {}
        if init_model is None and self._continues_last_fit():
            if self._n_rounds() == self.n_iter_:
                return self
            earlier = self.evals_result_
            arguments = dataclasses.replace(arguments, init_model=self, counts_earlier_rounds=True)
        result = engine.fit(arguments)
        set_fitted_attributes(self, result)
        self._frame_library = frame_library(X, LIBRARIES)
        self.evals_result_ = join_histories(earlier, self.evals_result_)
        result.raise_if_interrupted()
        return self

    def _continues_last_fit(self) -> bool:
        """Return whether ``warm_start`` is set and there is a model with rounds to continue."""
        is_warm = check_value("warm_start", self.warm_start)
        return is_warm and self.__sklearn_is_fitted__() and self.n_iter_ > 0

    def _n_rounds(self) -> int:
        """Return the number of rounds that the parameters ask for, which does not depend on the rows."""
        return resolve_params(self.get_params(deep=False), 1, self.task).boost.n_estimators

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def make_fit_arguments(estimator: SapwoodEstimator, X: Any, y: Any, **more: Any) -> FitArguments:
    """Return the arguments of a fit with an estimator's parameters; ``more`` are further fields of FitArguments."""
    name = type(estimator).__name__
    return FitArguments(estimator.get_params(deep=False), X, y, task=estimator.task, caller=name, **more)


def set_fitted_attributes(estimator: SapwoodEstimator, result: engine.FitResult) -> None:
    """Set the fitted attributes of an estimator."""
    estimator.model_ = result.model
    estimator.init_ = result.init_estimator
    estimator.evals_result_ = result.evals_result
    estimator.best_iteration_, estimator.best_score_ = result.best_iteration, result.best_score
    estimator.params_ = result.params
    estimator.stopped_ = result.stopped
    estimator.n_features_in_ = result.n_features
    if result.feature_names is not None:
        estimator.feature_names_in_ = np.asarray(result.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
    set_out_of_bag_attributes(estimator, result.out_of_bag)


def set_out_of_bag_attributes(estimator: SapwoodEstimator, report: OutOfBagReport | None) -> None:
    """Set the attributes of ``oob_score``, named as scikit-learn does; those of an earlier fit are removed."""
    for name in OUT_OF_BAG_ATTRIBUTES:
        if name in vars(estimator):
            delattr(estimator, name)
    if report is None:
        return
    estimator.oob_score_ = report.score
    if report.prediction is None:
        estimator.oob_scores_, estimator.oob_improvement_ = np.array(report.losses), np.array(report.improvements)
    elif estimator.task == REGRESSION:
        estimator.oob_prediction_ = report.prediction
    else:
        estimator.oob_decision_function_ = report.prediction


def join_histories(
    earlier: dict[str, dict[str, list[float]]], later: dict[str, dict[str, list[float]]]
) -> dict[str, dict[str, list[float]]]:
    """Return the metrics of later rounds after those of earlier ones, where these were evaluated too."""
    return {
        name: {metric: earlier.get(name, {}).get(metric, []) + values for metric, values in metrics.items()}
        for name, metrics in later.items()
    }


def warn_of_column_vector(y: Any) -> None:
    """Warn, as scikit-learn does, if y is a matrix of one column."""
    if len(getattr(y, "shape", ())) == 2 and y.shape[1] == 1 and not hasattr(y, "nnz"):
        warn_user(
            "A column-vector y was passed when a 1d array was expected; pass y.ravel() instead.",
            DataConversionWarning,
        )
