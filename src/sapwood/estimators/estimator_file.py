"""Estimators in model files: their parameters and the history of training, kept in the metadata of the model."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from sapwood.boost.fit_arguments import CLASSIFICATION
from sapwood.errors import ModelFileError, ParameterError, warn_user
from sapwood.estimators import parameter_values
from sapwood.model.info import PARAMS, TRAINING
from sapwood.model.io import serialize
from sapwood.model.model import Model

if TYPE_CHECKING:
    from sapwood.estimators.fitted_estimator import FittedEstimator

    Estimator = TypeVar("Estimator", bound=FittedEstimator)

ESTIMATOR = "estimator"  # key of the metadata
HISTORY = {"evals_result": dict, "best_iteration": int, "best_score": float | int | None, "stopped": str}


def save(estimator: FittedEstimator, path: str | os.PathLike[str]) -> None:
    """Write the model of a fitted estimator with the estimator's parameters and history."""
    if estimator.init_ is not None:
        raise ParameterError(
            f"init is a {type(estimator.init_).__name__}, which a model file cannot contain: pickle the estimator, or "
            "train with a constant init"
        )
    values, functions = _saved_values(estimator.get_params(deep=False))
    described = {
        "params": {name: value for name, value in values.items() if value != "auto"},
        "functions": functions,
        "params_in_force": _saved_values(getattr(estimator, "params_", {}))[0],
        "has_feature_names": hasattr(estimator, "feature_names_in_"),
        **{name: getattr(estimator, f"{name}_") for name in HISTORY},
    }
    model = estimator.model_
    serialize.save(replace(model, metadata={**model.metadata, ESTIMATOR: described}), path)


def load(kind: type[Estimator], path: str | os.PathLike[str]) -> Estimator:
    """Return the fitted estimator whose model is in a file."""
    model = serialize.load(path)
    is_classifier = model.classes is not None
    if is_classifier != (kind.task == CLASSIFICATION):
        other = "SapwoodClassifier" if is_classifier else "SapwoodRegressor"
        raise ModelFileError(
            f"{os.fspath(path)}: the file is the model of a {'classifier' if is_classifier else 'regressor'}: load it "
            f"with {other}.load(path), or with sapwood.load(path)"
        )
    described = model.metadata.get(ESTIMATOR, {})
    try:
        estimator = _restore(kind, model, described)
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{os.fspath(path)}: the parameters in the file cannot be read ({error}): upgrade Sapwood, or use the "
            "model alone, with sapwood.load(path)"
        ) from error
    if functions := described.get("functions"):
        warn_user(
            f"{os.fspath(path)}: {', '.join(map(str, functions))} of the estimator cannot be kept in a file; "
            "predictions do not need them, but set them with set_params before you fit again",
        )
    return estimator


def _saved_values(params: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the values that a file can keep, and the names of those that it cannot."""
    values, others = {}, []
    for name, value in params.items():
        try:
            values[name] = parameter_values.to_json(value)
        except TypeError:
            others.append(name)
    return values, others


def _restore(kind: type[Estimator], model: Model, described: dict[str, Any]) -> Estimator:
    params = {name: parameter_values.from_json(value) for name, value in described.get("params", {}).items()}
    estimator = kind(**params)
    metadata = {name: value for name, value in model.metadata.items() if name != ESTIMATOR}
    estimator.model_ = replace(model, metadata=metadata)
    estimator.init_ = None
    in_force = described.get("params_in_force", {})
    estimator.params_ = {name: parameter_values.from_json(value) for name, value in in_force.items()}
    estimator.params_ = estimator.params_ or dict(metadata.get(PARAMS, {}))
    unknown = {"evals_result": {}, "best_iteration": model.n_iterations, "best_score": None, "stopped": "unknown"}
    known = {**unknown, **metadata.get(TRAINING, {}), **described}
    for name, allowed in HISTORY.items():
        value = known[name]
        if not isinstance(value, allowed):
            raise TypeError(f"{name} is {value!r}")
        setattr(estimator, f"{name}_", value)
    estimator.n_features_in_ = model.n_features
    if model.schema.names is not None and described.get("has_feature_names", True):
        estimator.feature_names_in_ = np.asarray(model.schema.names, dtype=object)
    return estimator
