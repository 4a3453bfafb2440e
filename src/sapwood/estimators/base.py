"""Base class of the classifier and the regressor: parameters and ``fit``."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.exceptions import DataConversionWarning

from sapwood.boost import train as engine
from sapwood.boost.fit_arguments import FitArguments
from sapwood.errors import ParameterError
from sapwood.estimators.constructor import captures_parameters
from sapwood.estimators.fitted_estimator import FittedEstimator
from sapwood.params.aliases.alias import FIT
from sapwood.params.declaration import AUTO
from sapwood.params.unknown_arguments import explains_arguments
from sapwood.params.unknown_names import unknown_parameter

Estimator = TypeVar("Estimator", bound="SapwoodEstimator")


class SapwoodEstimator(FittedEstimator):
    """Base class of the estimators; ``docs/parameters.md`` lists the parameters."""

    task: ClassVar[str]

    @captures_parameters()
    def __init__(
        self,
        *,
        preset: Any = AUTO,
        objective: Any = AUTO,
        init: Any = AUTO,
        n_estimators: Any = AUTO,
        learning_rate: Any = AUTO,
        boosting: Any = AUTO,
        leaf_steps: Any = AUTO,
        sampling: Any = AUTO,
        subsample: Any = AUTO,
        growth: Any = AUTO,
        split_search: Any = AUTO,
        leaf_model: Any = AUTO,
        max_leaves: Any = AUTO,
        max_depth: Any = AUTO,
        max_bins: Any = AUTO,
        zero_as_missing: Any = AUTO,
        categorical_features: Any = AUTO,
        category_encoding: Any = AUTO,
        one_hot_max: Any = AUTO,
        max_combination: Any = AUTO,
        has_time: Any = AUTO,
        precision: Any = AUTO,
        bundle: Any = AUTO,
        random_strength: Any = AUTO,
        reg_lambda: Any = AUTO,
        reg_alpha: Any = AUTO,
        max_delta_step: Any = AUTO,
        colsample_bytree: Any = AUTO,
        colsample_bylevel: Any = AUTO,
        colsample_bynode: Any = AUTO,
        monotone_constraints: Any = AUTO,
        interaction_constraints: Any = AUTO,
        min_split_gain: Any = AUTO,
        min_child_samples: Any = AUTO,
        min_child_weight: Any = AUTO,
        eval_metric: Any = AUTO,
        early_stopping_rounds: Any = AUTO,
        validation_fraction: Any = AUTO,
        refit: Any = AUTO,
        time_limit: Any = AUTO,
        callbacks: Any = AUTO,
        random_state: Any = AUTO,
        n_jobs: Any = AUTO,
        on_interrupt: Any = AUTO,
        checkpoint: Any = AUTO,
        checkpoint_every: Any = AUTO,
        verbose: Any = AUTO,
    ) -> None: ...

    def set_params(self, **params: Any) -> SapwoodEstimator:
        """Set parameters by name; the error for an unknown one names the one to use.

        Returns
        -------
        self
        """
        known = self._get_param_names()
        for name in params:
            if name.partition("__")[0] not in known:
                raise ParameterError(unknown_parameter(name, known, {**vars(self), **params}))
        return super().set_params(**params)

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
        """
        _warn_of_column_vector(y)
        arguments = make_fit_arguments(
            self, X, y, sample_weight=sample_weight, eval_set=eval_set, eval_sample_weight=eval_sample_weight,
            init_score=init_score, groups=groups, init_model=init_model,
        )  # fmt: skip
        result = engine.fit(arguments)
        set_fitted_attributes(self, result)
        result.raise_if_interrupted()
        return self

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


def _warn_of_column_vector(y: Any) -> None:
    if len(getattr(y, "shape", ())) == 2 and y.shape[1] == 1 and not hasattr(y, "nnz"):
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; pass y.ravel() instead.",
            DataConversionWarning,
            stacklevel=4,
        )
