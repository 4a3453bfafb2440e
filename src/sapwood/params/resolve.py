"""Resolve the parameters that the user set into the complete, checked set: preset, data and defaults fill the rest."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.params.aliases.values import value_here
from sapwood.params.compatibility import check_compatibility
from sapwood.params.declaration import AUTO, FIELDS, GROUPS, Params
from sapwood.params.effort import MAX_ROUNDS, effort_values, resolve_effort
from sapwood.params.encodings import crossing_of
from sapwood.params.fit_context import Context
from sapwood.params.learning_rates import resolve_rates
from sapwood.params.options import Mvs, Uniform, linear_of, sampling_of, symmetric_of
from sapwood.params.presets import (
    CATBOOST_BINARY,
    CATBOOST_BINARY_FEW_ROUNDS,
    CATBOOST_BINARY_FRACTION,
    CATBOOST_FEW_ROUNDS,
    CATBOOST_MANY_ROWS,
    PRESETS,
    catboost_learning_rate,
)
from sapwood.params.unknown_names import unknown_parameter
from sapwood.params.validators import is_integer

DEFAULT_SYMMETRIC_DEPTH = 6
MAX_VECTOR_LEAVES = 127
DEFAULT_MVS_FRACTION = 0.8
MIN_PATIENCE, MAX_PATIENCE = 20, 100
DEFAULT_OBJECTIVES = {"regression": "squared", "classification": "logistic"}
FOREST_OBJECTIVE = "brier"  # of classes, so that the mean over trees is one of probabilities


def resolve_params(user: Mapping[str, Any], n_rows: int, task: str, n_classes: int = 0) -> Params:
    """Return all parameters: those of the user checked, the others from the preset and the declared defaults.

    ``task`` is "regression" or "classification"; some defaults depend on it, on ``n_rows`` and on ``n_classes``.
    """
    check_names(user)
    given = set_params(user)
    preset = check_value("preset", given.get("preset", AUTO))
    effort = resolve_effort(given)
    check_value("effort", effort)
    values: dict[str, Any] = {name: field.default for name, field in FIELDS.items()} | PRESETS[preset]
    values |= effort_values(effort, n_rows, n_classes) | given | {"effort": effort}
    values = {name: check_value(name, value) for name, value in values.items()}
    if _is_unset(values["objective"]):
        is_class_forest = values["boosting"] == "forest" and task == "classification"
        values["objective"] = FOREST_OBJECTIVE if is_class_forest else DEFAULT_OBJECTIVES[task]
    if symmetric_of(values["growth"]) is not None and values["max_depth"] is None:
        values["max_depth"] = _symmetric_depth(values["max_leaves"] if "max_leaves" in given else None)
    if "tree_combinations" not in given and crossing_of(values["max_combination"]).columns == 1:
        values["tree_combinations"] = False
    if values["ordered_scoring"] == AUTO:
        values["ordered_scoring"] = values["boosting"] == "ordered"
    _fill_sampling(values, given)
    _fill_stopping(values, given, n_rows)
    check_compatibility(Context(values, frozenset(given)))
    _limit_tree_size(values, n_rows)
    if preset == "catboost":
        kind = task if task == "regression" else "multiclass" if n_classes > 2 else "binary"
        _fill_catboost(values, given, n_rows, kind)
    values["learning_rate"] = resolve_rates(values["learning_rate"], values["n_estimators"])
    if values["boosting"] == "forest":
        values["learning_rate"] = 1.0
        values["reg_lambda"] = values["reg_lambda"] if "reg_lambda" in given else 0.0
    values["random_state"] = resolve_seed(values["random_state"])
    groups = {
        name: group(**{f.name: values[f.name] for f in dataclasses.fields(group)}) for name, group in GROUPS.items()
    }
    return Params(**groups)


def widen_vector_trees(params: Params, user: Mapping[str, Any], n_outputs: int, n_rows: int) -> Params:
    """Raise the default ``max_leaves`` of trees with vector leaves, which replace one tree per output."""
    tree = params.tree
    is_set = not _is_unset(user.get("max_leaves", AUTO)) or "max_leaves" in PRESETS[params.task.preset]
    if is_set or symmetric_of(tree.growth) is not None:
        return params
    max_leaves = min(int(FIELDS["max_leaves"].default) * n_outputs, MAX_VECTOR_LEAVES)  # type: ignore[arg-type]
    widened = dataclasses.replace(tree, max_leaves=_leaf_limit(max_leaves, tree.max_depth, n_rows))
    return dataclasses.replace(params, tree=widened)


def set_params(user: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are set, that is other than "auto"."""
    return {name: value for name, value in user.items() if not _is_unset(value)}


def check_names(user: Mapping[str, Any]) -> None:
    """Raise a ParameterError for the first name that is not a parameter."""
    for name in user:
        if name not in FIELDS:
            raise ParameterError(unknown_parameter(name, given=user))


def check_value(name: str, value: Any) -> Any:
    """Return the value of a parameter as a plain Python value, its declared default if it is unset."""
    field = FIELDS[name]
    if _is_unset(value):
        return field.default
    validator = field.metadata["validator"]
    ours = None if validator.accepts(value) else value_here(name, value, validator.accepts)
    if ours is not None:
        raise ParameterError(f"{name} must be {validator.allowed}, got {value!r}; did you mean {ours}?")
    return validator.check(name, value)


def resolve_seed(random_state: Any) -> int:
    """Return the integer seed that a ``random_state`` stands for; None is a fresh one."""
    if is_integer(random_state):
        return int(random_state)
    if random_state is None:
        return int.from_bytes(os.urandom(8), "little") >> 1
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    return int(random_state.randint(2**63 - 1, dtype=np.int64))


def _is_unset(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def _symmetric_depth(max_leaves: int | None) -> int:
    """Return the depth of symmetric trees whose ``max_depth`` is unset; a full tree has 2**depth leaves."""
    return DEFAULT_SYMMETRIC_DEPTH if max_leaves is None else max(1, max_leaves.bit_length() - 1)


def _limit_tree_size(values: dict[str, Any], n_rows: int) -> None:
    """Set the limits of a tree to values that it can reach; beyond these, kernels could not count in 64 bits."""
    if symmetric_of(values["growth"]) is not None:
        values["min_child_samples"] = 1
        values["max_leaves"] = 2 ** values["max_depth"]
    else:
        limit = max(2, n_rows // values["min_child_samples"])
        values["max_leaves"] = _leaf_limit(values["max_leaves"], values["max_depth"], limit)
    values["min_child_samples"] = min(values["min_child_samples"], n_rows + 1)
    if values["max_depth"] is not None:
        values["max_depth"] = min(values["max_depth"], max(n_rows, 1))


def _leaf_limit(max_leaves: int | None, max_depth: int | None, limit: int) -> int:
    """Return the largest number of leaves within ``max_leaves``, ``max_depth`` and a third limit."""
    limits = [limit]
    if max_leaves is not None:
        limits.append(max_leaves)
    if max_depth is not None and max_depth < 63:
        limits.append(2**max_depth)
    return min(limits)


def automatic_patience(n_rows: int) -> int:
    """Return the number of rounds without improvement after which training stops: fewer rows measure less exactly."""
    n_digits = math.log10(max(n_rows, 1))
    return min(MAX_PATIENCE, max(MIN_PATIENCE, round(160.0 - 25.0 * n_digits)))


def _fill_stopping(values: dict[str, Any], given: Mapping[str, Any], n_rows: int) -> None:
    """Choose the patience of ``early_stopping_rounds=True``, and enough rounds for training to end by itself."""
    if values["early_stopping_rounds"] is not True:
        return
    values["early_stopping_rounds"] = automatic_patience(n_rows)
    if "n_estimators" not in given:
        values["n_estimators"] = MAX_ROUNDS


def _fill_sampling(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Choose the sampling if it is unset, and the fraction of minimum-variance sampling."""
    if values["sampling"] == AUTO:
        is_bootstrap = values["boosting"] == "forest" and values["subsample"] >= 1.0
        by_fraction = "uniform" if values["subsample"] < 1.0 else "none"
        values["sampling"] = Uniform(replacement=True) if is_bootstrap else by_fraction
    if isinstance(sampling_of(values["sampling"]), Mvs) and "subsample" not in given:
        values["subsample"] = DEFAULT_MVS_FRACTION


def _fill_catboost(values: dict[str, Any], given: Mapping[str, Any], n_rows: int, kind: str) -> None:
    """Set the defaults that CatBoost derives from the rows, the rounds and the kind of target."""
    if "learning_rate" not in given:
        values["learning_rate"] = catboost_learning_rate(kind, n_rows, values["n_estimators"])
    if kind == "binary":
        is_quick = values["n_estimators"] <= CATBOOST_FEW_ROUNDS and n_rows >= CATBOOST_MANY_ROWS
        defaults = CATBOOST_BINARY | (CATBOOST_BINARY_FEW_ROUNDS if is_quick else {})
        values |= {name: value for name, value in defaults.items() if name not in given}
        if "subsample" not in given and isinstance(sampling_of(values["sampling"]), Mvs):
            values["subsample"] = CATBOOST_BINARY_FRACTION
        if "leaf_steps" not in given and linear_of(values["leaf_model"]) is not None:
            values["leaf_steps"] = 1
