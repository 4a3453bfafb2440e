"""What the classifier and the regressor share: parameters, training, and everything asked of the fitted model."""

from __future__ import annotations

import os
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted

from sapwood.boost.train import Target, train
from sapwood.data.columns import Table, read_table
from sapwood.data.dataset import Dataset
from sapwood.errors import InputError, ParameterError
from sapwood.estimators.keeping import keeps_parameters
from sapwood.explain.importance import feature_importances
from sapwood.model.model import Model
from sapwood.native.team import current_team
from sapwood.objectives.base import Objective
from sapwood.objectives.registry import resolve
from sapwood.params import AUTO, Params, check_value, resolve_params, unknown_parameter


class SapwoodEstimator(BaseEstimator):
    """The common part of the estimators; see ``docs/parameters.md`` for the parameters."""

    _task: ClassVar[str]
    model_: Model
    n_features_in_: int
    feature_names_in_: np.ndarray

    @keeps_parameters()
    def __init__(
        self,
        *,
        preset: Any = AUTO,
        objective: Any = AUTO,
        n_estimators: Any = AUTO,
        learning_rate: Any = AUTO,
        growth: Any = AUTO,
        max_leaves: Any = AUTO,
        max_depth: Any = AUTO,
        max_bins: Any = AUTO,
        precision: Any = AUTO,
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
        random_state: Any = AUTO,
        n_jobs: Any = AUTO,
    ) -> None: ...

    def set_params(self, **params: Any) -> SapwoodEstimator:
        """Set parameters by name; an unknown one is refused with the nearest match."""
        known = self._get_param_names()
        for name in params:
            if name.partition("__")[0] not in known:
                raise ParameterError(unknown_parameter(name, known))
        return super().set_params(**params)

    # --- training -----------------------------------------------------------------------------------------------------

    def _read_training_table(self, X: Any, y: Any) -> Table:
        """See X as a table; the shape of y is looked at here, its values by whoever knows the task."""
        if y is None:
            raise InputError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        table = read_table(X)
        if len(getattr(y, "shape", ())) == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; pass y.ravel() instead.",
                DataConversionWarning,
                stacklevel=3,
            )
        return table

    def _train(self, table: Table, y: np.ndarray, weight: np.ndarray | None, classes: np.ndarray | None = None) -> None:
        """Fit the model to checked targets and weights; ``y`` holds class numbers if there are classes."""
        params = resolve_params(self.get_params(deep=False), table.n_rows, self._task)
        objective = self._objective(params, classes)
        objective.check_target(y)
        team = current_team(params.run.n_jobs, table.n_rows * table.n_features)
        dataset = Dataset.build(table, weight, params.bins.max_bins, params.run.random_state, team.run)
        kept = dataset.row_ids.astype(np.intp)  # rows of zero weight are left out
        target = Target(y[kept], None if weight is None else weight[kept])
        outcome = train(dataset, target, objective, params)
        self.model_ = Model(
            schema=dataset.schema,
            ensemble=outcome.ensemble,
            base_scores=outcome.base_scores,
            link=objective.link.name,
            classes=classes,
            objective={"name": objective.name, "settings": objective.settings()},
            metadata={"n_rows": dataset.n_rows, "params": params.described()},
        )
        self.n_features_in_ = table.n_features
        if table.has_string_names:
            self.feature_names_in_ = np.asarray(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _objective(self, params: Params, classes: np.ndarray | None) -> Objective:
        """The loss that the parameters name, for the classes if there are any."""
        spec: Any = params.task.objective
        objective = resolve(spec)
        if classes is not None:
            return objective.for_classes(len(classes))
        if objective.task != "regression":
            raise ParameterError(f"objective {objective.name!r} is for classes, not for numbers: use SapwoodClassifier")
        return objective

    # --- the fitted model ---------------------------------------------------------------------------------------------

    @property
    def n_iter_(self) -> int:
        """Boosting rounds of the fitted model."""
        check_is_fitted(self)
        return self.model_.n_iterations

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the total gain; they sum to 1."""
        check_is_fitted(self)
        return feature_importances(self.model_)

    def importance(self, kind: str = "gain", *, percent: bool = False) -> np.ndarray:
        """The importance of each feature in a sense that ``kind`` names, such as gain, total_gain, weight or cover."""
        check_is_fitted(self)
        return self.model_.importance(kind, percent)

    def predict_raw(self, X: Any) -> np.ndarray:
        """The scores before the link: (rows,), or (rows, outputs) where there are several."""
        return self._fitted_model(X).predict_raw(X, n_jobs=self._threads())

    def apply(self, X: Any) -> np.ndarray:
        """The node in which each row ends, counted within the tree: int32 (rows, trees)."""
        return self._fitted_model(X).leaf_indices(X, n_jobs=self._threads())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that ``sapwood.load`` reads."""
        check_is_fitted(self)
        self.model_.save(path)

    def _fitted_model(self, X: Any) -> Model:
        """The model, after a look at the columns of X: their number, and whether they have names as in training."""
        check_is_fitted(self)
        table = read_table(X)
        self.model_.schema.align(table, type(self).__name__)
        was_named = hasattr(self, "feature_names_in_")
        if was_named and not table.has_string_names:
            _warn(f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names")
        elif table.has_string_names and not was_named:
            _warn(f"X has feature names, but {type(self).__name__} was fitted without feature names")
        return self.model_

    def _threads(self) -> int | None:
        """How many threads may predict, by the parameter as it is now."""
        return check_value("n_jobs", self.get_params(deep=False)["n_jobs"])

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=4)
