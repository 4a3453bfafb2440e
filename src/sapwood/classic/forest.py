"""Bagging, random forests and extremely randomised trees, with the names and defaults of scikit-learn's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from sapwood.boost.fit_arguments import CLASSIFICATION, REGRESSION, FitArguments
from sapwood.classic.forest_training import ForestSettings, train_forest
from sapwood.classic.node_limits import feature_count, row_count
from sapwood.classic.parameter_names import FOREST_HINTS, ExplainedParameters, explains_parameters
from sapwood.data.tables.table import count_rows
from sapwood.errors import ParameterError, warn_user
from sapwood.estimators.base import set_fitted_attributes, warn_of_column_vector
from sapwood.estimators.fitted_estimator import FittedEstimator
from sapwood.explain.importance import tree_importances
from sapwood.kernels.numeric.elementwise import apply_elementwise, log_values
from sapwood.model.class_predictions import class_probabilities, most_probable_classes
from sapwood.params.declaration import MAX_BINS
from sapwood.params.encodings import Auto
from sapwood.params.options import Uniform
from sapwood.params.validators import Validator, boolean, integer, is_bool, is_integer, is_number, number, or_none

Forest = TypeVar("Forest", bound="SapwoodForest")
NO_PARTITION = Auto(max_partition=2)  # columns of two categories are one-hot, others have statistics of the target


VALIDATORS = {
    "n_estimators": integer(1),
    "max_depth": or_none(integer(1), "unlimited"),
    "min_weight_fraction_leaf": number(0.0, 0.5),
    "max_samples": Validator(
        "an integer of at least 1, a fraction up to 1.0, or None (as many as there are rows)",
        lambda v: v is None or (is_integer(v) and v >= 1) or (is_number(v) and not is_bool(v) and 0.0 < v <= 1.0),
    ),
    "bootstrap": Validator("True, False or 'auto'", lambda v: is_bool(v) or (isinstance(v, str) and v == "auto")),
    "extra": boolean(),
    "warm_start": boolean(),
}


class SapwoodForest(ExplainedParameters, FittedEstimator):
    """Base class of the forests for classification and regression."""

    task: ClassVar[str]
    criteria: ClassVar[tuple[str, ...]]
    other_losses: ClassVar[str]
    default_max_features: ClassVar[Any]
    parameter_hints: ClassVar[dict[str, str]] = FOREST_HINTS

    @explains_parameters
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "auto",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "auto",
        bootstrap: Any = "auto",
        max_samples: float | None = None,
        extra: bool = False,
        oob_score: Any = False,
        max_bins: Any = "auto",
        categorical_features: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.extra = extra
        self.oob_score = oob_score
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start

    def fit(self: Forest, X: Any, y: Any, sample_weight: Any = None) -> Forest:
        """Grow the trees.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows to train on; NaN is missing. Sparse tables become dense bins of one or two bytes.
        y : array-like
            Target of each row: labels of any kind for classification, numbers for regression.
        sample_weight : array-like, optional
            Weight of each row, times the number of times that it is drawn.

        Returns
        -------
        self
            The fitted forest.

        Examples
        --------
        >>> from sapwood import SapwoodForestRegressor
        >>> X = [[float(i)] for i in range(100)]
        >>> forest = SapwoodForestRegressor(10, random_state=0).fit(X, list(range(100)))
        >>> len(forest.model_)
        10
        """
        warn_of_column_vector(y)
        settings = self._check_parameters()
        params = self._engine_params(X)
        is_continued = self.warm_start and self.__sklearn_is_fitted__() and self.model_.n_iterations > 0
        if is_continued and self.model_.n_iterations == self.n_estimators:
            warn_user(
                f"warm_start=True and the forest has {self.n_estimators} trees already: nothing was fitted; raise "
                "n_estimators, or set warm_start=False to train anew",
            )
            return self
        arguments = FitArguments(
            params, X, y, sample_weight, task=self.task, caller=type(self).__name__,
            init_model=self.model_ if is_continued else None, counts_earlier_rounds=is_continued,
        )  # fmt: skip
        set_fitted_attributes(self, train_forest(arguments, settings))
        return self

    def _check_parameters(self) -> ForestSettings:
        """Return the limits of the trees; raise a ParameterError if a parameter is out of range."""
        for name, validator in VALIDATORS.items():
            validator.check(name, getattr(self, name))
        row_count("min_samples_split", self.min_samples_split, 1, 2)
        row_count("min_samples_leaf", self.min_samples_leaf, 1, 1)
        feature_count(self._max_features(), 1)
        if self.criterion not in ("auto", *self.criteria):
            raise ParameterError(
                f"criterion must be {' or '.join(map(repr, self.criteria))}, got {self.criterion!r}: for other losses "
                f"use {self.other_losses} for example"
            )
        if self.max_samples is not None and not self._is_bootstrapped():
            raise ParameterError("max_samples is not supported without bootstrap: all rows are used; unset one of them")
        if self._scores_out_of_bag() and not self._is_bootstrapped():
            raise ParameterError(
                "oob_score is not supported without bootstrap: no rows are left out; use bootstrap=True"
            )
        max_features = self._max_features()
        uses_all = max_features is None or (isinstance(max_features, float) and max_features == 1.0)
        if not (self._is_bootstrapped() or self.extra or not uses_all or self.n_estimators == 1):
            raise ParameterError(
                "all trees would be the same without bootstrap and with all features: use bootstrap=True, max_features "
                "below 1.0 or extra=True"
            )
        return ForestSettings(
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            max_features=max_features,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            random_thresholds=bool(self.extra),
        )

    def _max_features(self) -> Any:
        """Return the number or fraction of features that a node draws."""
        is_auto = isinstance(self.max_features, str) and self.max_features == "auto"
        return self.default_max_features if is_auto else self.max_features

    def _scores_out_of_bag(self) -> bool:
        """Return whether ``oob_score`` is True or a function."""
        return not is_bool(self.oob_score) or bool(self.oob_score)

    def _is_bootstrapped(self) -> bool:
        """Return whether rows are drawn with replacement: by default, but for extremely randomised trees."""
        is_auto = isinstance(self.bootstrap, str)
        return not self.extra if is_auto else bool(self.bootstrap)

    def _engine_params(self, X: Any) -> dict[str, Any]:
        """Return the parameters of the engine that a forest uses."""
        is_auto = isinstance(self.max_bins, str) and self.max_bins == "auto"
        is_exact = self.extra and is_auto  # drawn thresholds need no histograms
        is_bootstrapped, fraction = self._is_bootstrapped(), 1.0 if self.max_samples is None else self.max_samples
        if is_integer(fraction):
            fraction = min(1.0, fraction / max(1, count_rows(X)))
        return {
            "boosting": "forest",
            "n_estimators": self.n_estimators,
            "max_leaves": None,
            "max_depth": self.max_depth,
            "min_child_samples": 1,
            "sampling": Uniform(replacement=True) if is_bootstrapped else "none",
            "subsample": fraction if is_bootstrapped else 1.0,
            "split_search": "random" if self.extra else "histogram",
            "colsample_bynode": 0.5,  # ForestSettings has the number of features: train_forest writes the true fraction
            "category_encoding": NO_PARTITION,
            "oob_score": self.oob_score,
            "max_bins": MAX_BINS if is_exact else self.max_bins,
            "categorical_features": self.categorical_features,
            "random_state": self.random_state,
            "n_jobs": self.n_jobs,
        }

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of the decrease of impurity that each feature contributes, the mean over the trees with a split."""
        importances = self._tree_importances()
        total = importances.mean(axis=0) if len(importances) else np.zeros(self.n_features_in_)
        return total / total.sum() if total.sum() > 0.0 else total

    @property
    def feature_importances_std_(self) -> np.ndarray:
        """Standard deviation of the importances over the trees with a split: their error bars."""
        importances = self._tree_importances()
        return importances.std(axis=0) if len(importances) else np.zeros(self.n_features_in_)

    def _tree_importances(self) -> np.ndarray:
        """Return the importances of the features in each tree that has a split."""
        check_is_fitted(self)
        importances = tree_importances(self.model_)
        return importances[(importances > 0.0).any(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


class SapwoodForestClassifier(ClassifierMixin, SapwoodForest):
    """Random forest for classification: trees on bootstrapped rows, whose class frequencies are averaged.

    Trees split by the Gini impurity until leaves are pure. They grow in parallel, and the forest does not depend on the
    number of threads. Numbers are binned first.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {'auto', 'gini'}, default='auto'
        Impurity that splits decrease; "auto" is "gini".
    max_depth : int or None, default=None
        Maximum depth of a tree; unlimited by default.
    min_samples_split : int or float, default=2
        Minimum number of rows, or fraction of all, of a node that is split.
    min_samples_leaf : int or float, default=1
        Minimum number of rows, or fraction of all, of a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the weight of all rows.
    max_features : 'auto', 'sqrt', 'log2', int, float or None, default='auto'
        Number of features, or fraction of all, that a node draws; further ones until one of them can be split. "auto"
        is "sqrt"; None is bagging.
    bootstrap : bool or 'auto', default='auto'
        Whether each tree has rows of its own, drawn with replacement: each a Poisson number of times. "auto" is True,
        and False with ``extra``.
    max_samples : int, float or None, default=None
        Mean number of rows, or fraction of all, that a tree draws; all by default.
    extra : bool, default=False
        Extremely randomised trees: one threshold per drawn feature, uniform between its extremes in the node.
    oob_score : bool or callable, default=False
        Whether to predict each training row by the trees that were grown without it, and score the predictions: by
        accuracy, or by a function of (y, prediction).
    max_bins : int, list, dict or 'auto', default='auto'
        Maximum number of bins per column; "auto" is 255, and 65535 with ``extra``.
    categorical_features : list, dict or None, default='auto'
        Columns whose values are categories, as in SapwoodClassifier.
    class_weight : 'balanced', 'effective', dict or None, default=None
        Weights of the classes.
    random_state : int, Generator, RandomState or None, default=None
        Seed; None is a fresh one.
    n_jobs : int or None, default=None
        Number of threads; None is as many as allowed.
    warm_start : bool, default=False
        Whether fit adds trees to those of the last fit until there are n_estimators.

    Attributes
    ----------
    model_ : Model
        The trees, for files, explanations and plots.
    classes_ : ndarray (classes,)
        Class labels, sorted.
    feature_importances_, feature_importances_std_ : ndarray (features,)
        Mean over the trees of the fraction of the decrease of impurity by each feature, and the standard deviation.
    oob_score_, oob_decision_function_ : float, ndarray (rows, classes)
        With ``oob_score``.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood.classic import SapwoodForestClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> forest = SapwoodForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> forest.predict([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    >>> bool(forest.oob_score_ > 0.9)
    True
    """

    task: ClassVar[str] = CLASSIFICATION
    criteria = ("gini",)
    other_losses = "SapwoodClassifier(boosting='forest', objective='logistic')"
    default_max_features = "sqrt"

    @explains_parameters
    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "auto",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "auto",
        bootstrap: Any = "auto",
        max_samples: float | None = None,
        extra: bool = False,
        oob_score: Any = False,
        max_bins: Any = "auto",
        categorical_features: Any = "auto",
        class_weight: str | Mapping[Any, float] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
    ) -> None:
        super().__init__(
            n_estimators, criterion=criterion, max_depth=max_depth, min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf, min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features, bootstrap=bootstrap, max_samples=max_samples, extra=extra,
            oob_score=oob_score, max_bins=max_bins,
            categorical_features=categorical_features, random_state=random_state, n_jobs=n_jobs,
            warm_start=warm_start,
        )  # fmt: skip
        self.class_weight = class_weight

    def _engine_params(self, X: Any) -> dict[str, Any]:
        return super()._engine_params(X) | {"class_weight": self.class_weight}

    @property
    def classes_(self) -> np.ndarray:
        """Class labels, sorted, in the order of the columns of ``predict_proba``."""
        check_is_fitted(self)
        assert self.model_.classes is not None
        return self.model_.classes

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probability of each class: the mean of the class frequencies of the leaves.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows, classes)
            Probabilities in the order of ``classes_``.

        Examples
        --------
        >>> from sapwood import SapwoodForestClassifier
        >>> X = [[float(i)] for i in range(100)]
        >>> forest = SapwoodForestClassifier(10, random_state=0).fit(X, ["low"] * 50 + ["up"] * 50)
        >>> forest.predict_proba([[0.0], [99.0]]).round(6)
        array([[1., 0.],
               [0., 1.]])
        """
        return class_probabilities(self._predict(X, None), self.classes_)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows, classes)
            Logarithms; -inf for a probability of 0, and below -30 where rounding makes it almost 0.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodForestClassifier
        >>> X = [[float(i)] for i in range(100)]
        >>> forest = SapwoodForestClassifier(10, random_state=0).fit(X, ["low"] * 50 + ["up"] * 50)
        >>> np.exp(forest.predict_log_proba([[0.0], [99.0]])).round(6)
        array([[1., 0.],
               [0., 1.]])
        """
        return apply_elementwise(log_values, self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable label of each row.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows,)
            Labels out of ``classes_``.

        Examples
        --------
        >>> from sapwood import SapwoodForestClassifier
        >>> X = [[float(i)] for i in range(100)]
        >>> forest = SapwoodForestClassifier(10, random_state=0).fit(X, ["low"] * 50 + ["up"] * 50)
        >>> forest.predict([[0.0], [99.0]]).tolist()
        ['low', 'up']
        """
        return most_probable_classes(self.predict_proba(X), self.classes_)


class SapwoodForestRegressor(RegressorMixin, SapwoodForest):
    """Random forest for regression: trees on bootstrapped rows, whose leaf means are averaged.

    Trees split by squared error until leaves are pure. They grow in parallel, and the forest does not depend on the
    number of threads. Numbers are binned first.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    criterion : {'auto', 'squared_error'}, default='auto'
        Impurity that splits decrease; "auto" is "squared_error".
    max_depth : int or None, default=None
        Maximum depth of a tree; unlimited by default.
    min_samples_split : int or float, default=2
        Minimum number of rows, or fraction of all, of a node that is split.
    min_samples_leaf : int or float, default=1
        Minimum number of rows, or fraction of all, of a leaf.
    min_weight_fraction_leaf : float, default=0.0
        Minimum weight of a leaf, as a fraction of the weight of all rows.
    max_features : 'auto', 'sqrt', 'log2', int, float or None, default='auto'
        Number of features, or fraction of all, that a node draws; further ones until one of them can be split. "auto"
        and None are all features: bagging.
    bootstrap : bool or 'auto', default='auto'
        Whether each tree has rows of its own, drawn with replacement: each a Poisson number of times. "auto" is True,
        and False with ``extra``.
    max_samples : int, float or None, default=None
        Mean number of rows, or fraction of all, that a tree draws; all by default.
    extra : bool, default=False
        Extremely randomised trees: one threshold per drawn feature, uniform between its extremes in the node.
    oob_score : bool or callable, default=False
        Whether to predict each training row by the trees that were grown without it, and score the predictions: by R²,
        or by a function of (y, prediction).
    max_bins : int, list, dict or 'auto', default='auto'
        Maximum number of bins per column; "auto" is 255, and 65535 with ``extra``.
    categorical_features : list, dict or None, default='auto'
        Columns whose values are categories, as in SapwoodRegressor.
    random_state : int, Generator, RandomState or None, default=None
        Seed; None is a fresh one.
    n_jobs : int or None, default=None
        Number of threads; None is as many as allowed.
    warm_start : bool, default=False
        Whether fit adds trees to those of the last fit until there are n_estimators.

    Attributes
    ----------
    model_ : Model
        The trees, for files, explanations and plots.
    feature_importances_, feature_importances_std_ : ndarray (features,)
        Mean over the trees of the fraction of the decrease of impurity by each feature, and the standard deviation.
    oob_score_, oob_prediction_ : float, ndarray (rows,)
        With ``oob_score``.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood.classic import SapwoodForestRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> forest = SapwoodForestRegressor(random_state=0, oob_score=True).fit(X, X[:, 0] + X[:, 1] ** 2)
    >>> forest.predict(X[:2]).shape, bool(forest.oob_score_ > 0.8)
    ((2,), True)
    """

    task: ClassVar[str] = REGRESSION
    criteria = ("squared_error",)
    other_losses = "SapwoodRegressor(boosting='forest', objective='absolute')"
    default_max_features = 1.0

    def predict(self, X: Any) -> np.ndarray:
        """Predict the target of each row: the mean of the means of its leaves.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows,)
            Predictions.

        Examples
        --------
        >>> from sapwood import SapwoodForestRegressor
        >>> X = [[float(i)] for i in range(100)]
        >>> forest = SapwoodForestRegressor(10, random_state=0).fit(X, [1.0] * 50 + [3.0] * 50)
        >>> forest.predict([[0.0], [99.0]])
        array([1., 3.])
        """
        return self._predict(X, None)
