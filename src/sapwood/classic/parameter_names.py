"""Unknown names of parameters of trees and forests: errors that say what to use instead."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, TypeVar

from sklearn.base import BaseEstimator

from sapwood.errors import InputTypeError, ParameterError

OTHER_NAMES = {
    "min_child_samples": "use min_samples_leaf",
    "min_data_in_leaf": "use min_samples_leaf",
    "categorical_feature": "use categorical_features",
    "cat_features": "use categorical_features",
}
TREE_HINTS = OTHER_NAMES | {
    "splitter": "splits are the best ones (splitter='best'); random thresholds are in SapwoodForestClassifier and "
    "SapwoodForestRegressor(extra=True)",
    "monotonic_cst": "use SapwoodClassifier or SapwoodRegressor(monotone_constraints=...)",
    "monotone_constraints": "use SapwoodClassifier or SapwoodRegressor(monotone_constraints=...)",
    "max_leaves": "use max_leaf_nodes",
    "num_leaves": "use max_leaf_nodes",
    "n_estimators": "this is a single tree: use SapwoodForestClassifier or SapwoodForestRegressor",
    "learning_rate": "this is a single tree: use SapwoodClassifier or SapwoodRegressor",
    "presort": "columns are always sorted once",
    "n_jobs": "a tree is grown by one thread",
}
ENGINE = "use SapwoodClassifier or SapwoodRegressor(boosting='forest', {}=...)"
FOREST_HINTS = OTHER_NAMES | {
    "max_leaf_nodes": ENGINE.format("max_leaves"),
    "max_leaves": ENGINE.format("max_leaves"),
    "num_leaves": ENGINE.format("max_leaves"),
    "min_impurity_decrease": ENGINE.format("min_split_gain"),
    "monotonic_cst": ENGINE.format("monotone_constraints"),
    "monotone_constraints": ENGINE.format("monotone_constraints"),
    "objective": ENGINE.format("objective"),
    "ccp_alpha": "trees of a forest are not pruned; use min_samples_leaf or max_depth",
    "class_weight": "weights of classes are for SapwoodForestClassifier; weights of rows are sample_weight of fit",
    "learning_rate": "trees of a forest are averaged; use SapwoodClassifier or SapwoodRegressor for boosting",
    "splitter": "use extra=True for random thresholds",
    "subsample": "use max_samples",
    "colsample_bynode": "use max_features",
    "num_trees": "use n_estimators",
    "iterations": "use n_estimators",
    "verbose": "a forest prints nothing",
}
Estimator = TypeVar("Estimator", bound="ExplainedParameters")
Init = TypeVar("Init", bound=Callable[..., None])


def explains_parameters(init: Init) -> Init:
    """Make a constructor refuse unknown parameters by a TypeError that says what to use instead.

    The class has the hints, as ``parameter_hints``.
    """
    names = init.__code__.co_varnames[1 : init.__code__.co_argcount + init.__code__.co_kwonlyargcount]

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **values: Any) -> None:
        message = unknown_name(self, values, names)
        if message is not None:
            raise InputTypeError(message)
        init(self, *args, **values)

    return checked  # type: ignore[return-value]


class ExplainedParameters(BaseEstimator):
    """An estimator whose error for an unknown parameter says what to use, by ``parameter_hints``."""

    parameter_hints: ClassVar[dict[str, str]]

    def set_params(self: Estimator, **params: Any) -> Estimator:
        """Set parameters by name; the error for an unknown one says what to use.

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
        >>> from sapwood.classic import SapwoodTreeRegressor
        >>> SapwoodTreeRegressor().set_params(max_depth=3)
        SapwoodTreeRegressor(max_depth=3)
        """
        message = unknown_name(self, params, self._get_param_names())
        if message is not None:
            raise ParameterError(message)
        super().set_params(**params)
        return self


def unknown_name(estimator: Any, values: Iterable[str], names: Sequence[str]) -> str | None:
    """Return what to use instead of the first name that is not a parameter; None if all are."""
    for name in values:
        if name not in names:
            hint = estimator.parameter_hints.get(name, f"the parameters are {', '.join(names)}")
            return f"{type(estimator).__name__} has no parameter {name!r}: {hint}"
    return None
