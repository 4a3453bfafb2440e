"""From what the user set to all parameters: checked, and the rest filled in from preset, data and defaults."""

from __future__ import annotations

import dataclasses
import difflib
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.params.aliases import alias_of
from sapwood.params.declaration import AUTO, FIELDS, GROUPS, Params
from sapwood.params.options import Bayesian, Goss, Mvs, Uniform, linear_of, sampling_of, symmetric_of
from sapwood.params.presets import FOR_TWO_CLASSES, PRESETS, rate_of

SYMMETRIC_DEPTH, DEEPEST_SYMMETRIC = 6, 16
MOST_VECTOR_LEAVES = 127
MVS_SHARE = 0.8
DEFAULT_OBJECTIVES = {"regression": "squared", "classification": "logistic"}


def resolve_params(user: Mapping[str, Any], n_rows: int, task: str, n_classes: int = 0) -> Params:
    """Check what the user set, fill the rest from the preset and the declared defaults.

    ``task`` is "regression" or "classification"; it and ``n_rows`` settle what depends on the data.
    """
    given = {name: value for name, value in user.items() if not _is_unset(value)}
    for name in given:
        if name not in FIELDS:
            raise ParameterError(unknown_parameter(name))
    preset = check_value("preset", given.get("preset", AUTO))
    values: dict[str, Any] = {name: field.default for name, field in FIELDS.items()} | PRESETS[preset] | given
    values = {name: check_value(name, value) for name, value in values.items()}
    if _is_unset(values["objective"]):
        values["objective"] = DEFAULT_OBJECTIVES[task]
    if values["split_search"] == "exact":
        _check_exact(values, given)
    if symmetric_of(values["growth"]) is not None:
        _settle_symmetric(values, given)
    else:
        most_leaves = max(2, n_rows // values["min_child_samples"])
        values["max_leaves"] = _leaf_limit(values["max_leaves"], values["max_depth"], most_leaves)
    # Beyond these the values mean the same, and kernels count in 64 bits.
    values["min_child_samples"] = min(values["min_child_samples"], n_rows + 1)
    if values["max_depth"] is not None:
        values["max_depth"] = min(values["max_depth"], max(n_rows, 1))
    if values["boosting"] == "forest":
        _settle_forest(values, given)
    _settle_sampling(values, given)
    if values["boosting"] == "forest":
        _check_forest(values)
    if preset == "catboost":
        kind = task if task == "regression" else "multiclass" if n_classes > 2 else "binary"
        _settle_catboost(values, given, n_rows, kind)
    values["random_state"] = seed_of(values["random_state"])
    groups = {
        name: group(**{f.name: values[f.name] for f in dataclasses.fields(group)}) for name, group in GROUPS.items()
    }
    return Params(**groups)


def widen_vector_trees(params: Params, user: Mapping[str, Any], n_outputs: int, n_rows: int) -> Params:
    """Give trees that answer several outputs the leaves of several trees, unless the user or a preset sets how many."""
    tree = params.tree
    is_set = not _is_unset(user.get("max_leaves", AUTO)) or "max_leaves" in PRESETS[params.task.preset]
    if is_set or symmetric_of(tree.growth) is not None:
        return params
    most = min(int(FIELDS["max_leaves"].default) * n_outputs, MOST_VECTOR_LEAVES)  # type: ignore[arg-type]
    widened = dataclasses.replace(tree, max_leaves=_leaf_limit(most, tree.max_depth, n_rows))
    return dataclasses.replace(params, tree=widened)


def check_value(name: str, value: Any) -> Any:
    """Return one parameter's value as a plain Python value, its declared default if it is unset."""
    field = FIELDS[name]
    return field.default if _is_unset(value) else field.metadata["validator"].check(name, value)


def unknown_parameter(name: str, known: Iterable[str] = ()) -> str:
    """Say that there is no such parameter, and which one was probably meant."""
    names = list(known) or list(FIELDS)
    if name in FIELDS:
        return f"unknown parameter {name}: it is for classes, SapwoodClassifier has it"
    foreign = alias_of(name)
    if foreign is not None and foreign.ours in names:
        return f"unknown parameter {name}: did you mean {foreign.ours}? {foreign.note}".rstrip()
    if foreign is not None:
        note = foreign.note if foreign.ours is None else ""
        return f"unknown parameter {name}: {foreign.library} has it, Sapwood has nothing like it. {note}".rstrip()
    nearest = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.6)
    if nearest:
        return f"unknown parameter {name}: did you mean {nearest[0]}?"
    return f"unknown parameter {name}: the parameters are {', '.join(sorted(names))}"


def _is_unset(value: Any) -> bool:
    return isinstance(value, str) and value == AUTO


def _settle_symmetric(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Symmetric trees are full: their depth is their size, and a level is split whatever rows its leaves have."""
    if given.get("min_child_samples", 1) > 1:
        raise ParameterError(
            "min_child_samples cannot be kept by symmetric trees, whose levels are split as a whole: "
            "leave it unset, or use min_child_weight, below which a side adds no gain"
        )
    if values["max_depth"] is None:
        by_leaves = values["max_leaves"].bit_length() - 1 if given.get("max_leaves") is not None else SYMMETRIC_DEPTH
        values["max_depth"] = max(1, by_leaves)
    if values["max_depth"] > DEEPEST_SYMMETRIC:
        depth = values["max_depth"]
        raise ParameterError(f"max_depth of symmetric trees must be at most {DEEPEST_SYMMETRIC}, got {depth}")
    values["min_child_samples"] = 1
    values["max_leaves"] = 2 ** values["max_depth"]


def _check_exact(values: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Exact search looks at one leaf at a time and rounds nothing."""
    if "max_bins" in given:
        raise ParameterError(
            "max_bins is for histograms; split_search='exact' keeps every value of a column apart: leave max_bins unset"
        )
    if symmetric_of(values["growth"]) is not None:
        raise ParameterError(
            "split_search='exact' tries the values of one leaf at a time, but a symmetric tree is cut by all leaves of "
            "a level together: use split_search='histogram', or another growth"
        )
    if given.get("bundle", False) is not False:
        raise ParameterError(
            "bundle is for histograms; split_search='exact' has none: leave bundle unset, or use "
            "split_search='histogram'"
        )
    if values["precision"] == "packed":
        raise ParameterError(
            "precision='packed' is for histograms; split_search='exact' adds up in wide integers: leave precision unset"
        )


def _leaf_limit(max_leaves: int | None, max_depth: int | None, most_leaves: int) -> int:
    """Leaves a tree can have at most, given its limits and how many the rows allow."""
    limits = [most_leaves]
    if max_leaves is not None:
        limits.append(max_leaves)
    if max_depth is not None and max_depth < 63:
        limits.append(2**max_depth)
    return min(limits)


def _settle_catboost(values: dict[str, Any], given: Mapping[str, Any], n_rows: int, kind: str) -> None:
    """What CatBoost chooses by the rows, the rounds and the kind of target."""
    if "learning_rate" not in given:
        values["learning_rate"] = rate_of(kind, n_rows, values["n_estimators"])
    if kind == "binary":
        values |= {name: value for name, value in FOR_TWO_CLASSES.items() if name not in given}
        if "leaf_steps" not in given and linear_of(values["leaf_model"]) is not None:
            values["leaf_steps"] = 1


def _settle_forest(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """A forest averages trees of the same target: none is shrunk, and each needs rows or columns of its own."""
    if given.get("learning_rate", 1.0) != 1.0:
        raise ParameterError(
            f"learning_rate={given['learning_rate']:g} has no meaning for boosting='forest', which averages whole "
            "trees: leave it unset"
        )
    values["learning_rate"] = 1.0
    if values["sampling"] == AUTO and values["subsample"] >= 1.0:
        values["sampling"] = Uniform(replacement=True)


def _check_forest(values: Mapping[str, Any]) -> None:
    """Refuse a forest in which nothing makes trees differ."""
    draws_columns = any(values[f"colsample_by{what}"] < 1.0 for what in ("tree", "level", "node"))
    if not draws_columns and values["random_strength"] == 0.0 and not _draws_rows(values):
        raise ParameterError(
            f"boosting='forest' with sampling={values['sampling']!r}, which takes all rows as they are, and with all "
            "columns would grow the same tree again and again: leave sampling unset, or set colsample_bynode"
        )


def _draws_rows(values: Mapping[str, Any]) -> bool:
    """Tell whether rounds have rows or weights of their own."""
    sampling, takes_part = sampling_of(values["sampling"]), values["subsample"] < 1.0
    match sampling:
        case Uniform():
            return sampling.replacement or takes_part
        case Mvs():
            return takes_part
        case Bayesian():
            return sampling.temperature > 0.0
        case Goss():
            return sampling.top + sampling.other < 1.0 and (sampling.full_rounds or 0) < values["n_estimators"]
    return sampling is not None


def _settle_sampling(values: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Decide which rows are drawn, and whether ``subsample`` says how many."""
    subsample = values["subsample"]
    if values["sampling"] == AUTO:
        values["sampling"] = "uniform" if subsample < 1.0 else "none"
    sampling = sampling_of(values["sampling"])
    if isinstance(sampling, Mvs) and "subsample" not in given:
        values["subsample"] = MVS_SHARE
    elif sampling is None and subsample < 1.0:
        raise ParameterError(f"subsample={subsample:g} needs sampling='uniform': sampling='none' uses all rows")
    elif isinstance(sampling, Goss | Bayesian) and subsample < 1.0:
        remedy = "give Goss(top, other)" if isinstance(sampling, Goss) else "it weighs all rows"
        name = type(sampling).__name__
        raise ParameterError(f"subsample={subsample:g} has no meaning for sampling by {name}: leave it unset, {remedy}")


def seed_of(random_state: Any) -> int:
    """The seed that a value of ``random_state`` means; None is a fresh one."""
    if random_state is None:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**63 - 1, dtype=np.int64))
    return int(random_state)
