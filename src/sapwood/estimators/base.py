"""What the classifier and the regressor share: parameters and training."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.exceptions import DataConversionWarning

from sapwood.boost.eval_sets import eval_samples, watched_samples
from sapwood.boost.evaluation import eval_metrics
from sapwood.boost.leaf_values import check_constraints, check_steps
from sapwood.boost.sample import (
    FitArguments,
    LabeledRows,
    read_features,
    read_groups,
    read_init_score,
    warn_of_index_order,
)
from sapwood.boost.sampling import check_sampling
from sapwood.boost.train import FitResult, LearningTask, fit_sample, task_of
from sapwood.boost.warm_start import InitSpec, WarmStart
from sapwood.data.categories.plan import find_category_columns
from sapwood.data.dataset import Dataset, settings_of
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table
from sapwood.data.tables.targets import check_weight
from sapwood.data.tables.zero_as_missing import zeros_to_missing
from sapwood.distributed.agreement import check_ranks
from sapwood.distributed.workers import Ranks
from sapwood.errors import InputError, ParameterError
from sapwood.estimators.constructor import captures_parameters
from sapwood.estimators.fitted import FittedEstimator
from sapwood.model.model import Model
from sapwood.objectives.base import Objective
from sapwood.objectives.registry import resolve
from sapwood.params.declaration import AUTO, Params
from sapwood.params.resolve import resolve_params, unknown_parameter, widen_vector_trees

Estimator = TypeVar("Estimator", bound="SapwoodEstimator")


class SapwoodEstimator(FittedEstimator):
    """The common part of the estimators; see ``docs/parameters.md`` for the parameters."""

    _task: ClassVar[str]

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
        checkpoint: Any = AUTO,
        checkpoint_every: Any = AUTO,
        verbose: Any = AUTO,
    ) -> None: ...

    def set_params(self, **params: Any) -> SapwoodEstimator:
        """Set parameters by name; an unknown one is refused with the nearest match."""
        known = self._get_param_names()
        for name in params:
            if name.partition("__")[0] not in known:
                raise ParameterError(unknown_parameter(name, known))
        return super().set_params(**params)

    # --- training -----------------------------------------------------------------------------------------------------

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
        """Train on rows ``X`` and a target per row: a label of any kind for classes, a number for regression.

        ``X`` is an array, a data frame (NaN is missing) or a ``Dataset``, whose bins are used. ``eval_set`` is a pair
        (X, y), a list of pairs or a dict from names to pairs, measured after every round with the weights
        ``eval_sample_weight``; class weights do not count there. ``init_score``, (rows,) or (rows, outputs), is an
        offset of the scores in training, which predictions do not add; each set of ``eval_set`` then brings its own as
        a third entry. ``groups`` stay whole when rows are split off for validation. ``init_model``, a model, a fitted
        estimator or a file, is continued: its trees come first.
        """
        self._fit(
            FitArguments(X, y, sample_weight, eval_set, eval_sample_weight, init_score, groups, init_model)
        )  # fmt: skip
        return self

    def _fit(self, request: FitArguments) -> None:
        """Train on what was given to ``fit``."""
        began = time.perf_counter()
        earlier = WarmStart.read(request.init_model)
        X, table, bins = self._read_features(request, earlier)
        ranks, n_rows = request.ranks, table.n_rows if request.ranks is None else request.ranks.n_rows
        y, classes = self._read_target(request.y, table.n_rows, None if earlier is None else earlier.model.classes)
        if ranks is not None and classes is not None:
            y, classes = self._read_target(request.y, table.n_rows, ranks.all_classes(classes))
        weight = check_weight(request.sample_weight, table.n_rows, may_be_zero=ranks is not None and ranks.share_rows)
        weight = self._weigh(y, weight, classes, ranks)
        n_classes = 0 if classes is None else len(classes)
        given = self.get_params(deep=False)
        given |= settings_of(request.X, given["split_search"])
        params = resolve_params(given, n_rows, self._task, n_classes)
        objective = self._objective(params, classes)
        if objective.vector_leaves:
            params = widen_vector_trees(params, given, objective.n_outputs, n_rows)
        objective.check_target(y)
        if params.bins.zero_as_missing:
            table = zeros_to_missing(table)
        schema = Schema.of(table, self._categories(params, table, earlier))
        schema.align(table)
        if earlier is not None:
            earlier.check(schema, objective, params.bins.zero_as_missing)
        check_constraints(params.tree, schema, objective)
        check_steps(objective, params)
        eval_metrics(params.evaluation.eval_metric, objective, task_of(classes))
        origin = InitSpec(params.task.init, earlier, objective, classes)
        problem = LearningTask(objective, params, classes, origin, schema)
        init_score = read_init_score(request.init_score, table.n_rows, objective.n_outputs)
        groups = read_groups(request.groups, table.n_rows)
        sample = LabeledRows(X, table, y, weight, init_score, groups, bins, None, ranks, request.row_numbers)
        if ranks is not None:
            check_ranks(problem, sample, request)
        check_sampling(params.boost, objective.task, groups)
        fitted = fit_sample(problem, sample, eval_samples(request, problem), watched_samples(request, problem), began)
        self._keep(problem, fitted, table)

    def _read_features(self, request: FitArguments, earlier: WarmStart | None) -> tuple[Any, Table, Any]:
        """See X as a table; the shape of y is looked at here, its values by whoever knows the task."""
        y = request.y
        if y is None:
            raise InputError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        if isinstance(request.X, Dataset):
            request.X.check(self.get_params(deep=False))
        X, table, bins = read_features(request.X)
        for name in ("y", "sample_weight", "init_score", "groups"):
            warn_of_index_order(X, getattr(request, name), name)
        if earlier is not None and bins is None:
            table = earlier.model.schema.align(table, "init_model")
        if len(getattr(y, "shape", ())) == 2 and y.shape[1] == 1 and not hasattr(y, "nnz"):
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected; pass y.ravel() instead.",
                DataConversionWarning,
                stacklevel=4,
            )
        return X, table, bins

    def _categories(self, params: Params, table: Table, earlier: WarmStart | None) -> tuple[int, ...]:
        """The category columns; those of a model that is continued unless the user names them."""
        spec = params.categories.categorical_features
        if earlier is not None and isinstance(spec, str):
            return earlier.model.schema.categories
        return find_category_columns(spec, table)

    def _read_target(
        self, y: Any, n_rows: int, known: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray | None]:  # fmt: skip
        """The target as float64 and the classes if it has any; ``known`` are those of an earlier model."""
        raise NotImplementedError

    def _answer(self, X: Any) -> np.ndarray:
        """What cross-validation collects for rows held out: numbers, or the probability of each class."""
        raise NotImplementedError

    def _weigh(
        self, y: np.ndarray, weight: np.ndarray | None, classes: np.ndarray | None, ranks: Ranks | None
    ) -> np.ndarray | None:
        """The weights of rows, with those of their classes, which may be at other ranks too."""
        return weight

    def _keep(self, problem: LearningTask, fitted: FitResult, table: Table) -> None:
        """Set the fitted attributes."""
        outcome, objective = fitted.outcome, problem.objective
        earlier, schema = fitted.init.model, problem.schema
        metadata = {"n_rows": fitted.n_rows, "params": problem.params.described()}
        if schema.categories:
            metadata["categories"] = dict(fitted.decisions)
        self.model_ = Model(
            schema=schema if earlier is None or schema.names is not None else earlier.schema,
            ensemble=outcome.ensemble,
            base_scores=outcome.base_scores,
            link=objective.link.name,
            classes=problem.classes,
            objective={"name": objective.name, "settings": objective.settings()},
            metadata=metadata,
            transformer=fitted.transformer,
        )
        self.init_ = fitted.init.estimator
        self.evals_result_ = {name: dict(metrics) for name, metrics in outcome.evals.items()}
        self.best_iteration_, self.best_score_ = outcome.best_iteration, outcome.best_score
        self.stopped_ = outcome.stopped
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
