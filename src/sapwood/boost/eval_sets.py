"""Validation sets as the user gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.initial_scores import read_init_score
from sapwood.boost.labeled_rows import LabeledRows, eval_set_in_errors, read_features
from sapwood.boost.learning_task import LearningTask
from sapwood.data.tables.targets import check_target, check_weight, encode_known_labels
from sapwood.errors import InputError, InputTypeError
from sapwood.params.compatibility import check_compatibility
from sapwood.params.fit_context import Context

Given = tuple[Any, Any, Any, Any]


def read_eval_rows(arguments: FitArguments, task: LearningTask) -> dict[str, LabeledRows]:
    """Read the validation sets of ``eval_set`` by name."""
    named = read_eval_sets(arguments.eval_set, arguments.eval_sample_weight)
    has_offset = arguments.init_score is not None
    return {name: _read_rows(name, given, task, has_offset) for name, given in named.items()}


def held_out_rows(arguments: FitArguments, task: LearningTask) -> dict[str, LabeledRows]:
    """Read the sets that are evaluated but never stop training."""
    held_out = arguments.held_out or {}
    return {name: _read_rows(name, (*given, None), task, False) for name, given in held_out.items()}


def _read_rows(name: str, given: Given, task: LearningTask, needs_offset: bool) -> LabeledRows:
    features, target, weights, offset = given
    with eval_set_in_errors(name):
        X, table, bins = read_features(features)
        table = task.schema.align(table)
        values, has_categories = task.params.values(), bool(task.schema.categorical_columns)
        check_compatibility(Context(values, has_categories=has_categories, is_eval_set_sparse=table.is_sparse))
        if task.classes is not None:
            y = encode_known_labels(target, table.n_rows, task.classes)
        else:
            y = check_target(target, table.n_rows)
        task.objective.check_target(y)
        init_score = read_init_score(offset, table.n_rows, task.objective.n_outputs)
        if needs_offset and init_score is None:
            raise InputError("init_score is given for training and must be given here too, as (X, y, init_score)")
        weight = check_weight(weights, table.n_rows, "eval_sample_weight")
        return LabeledRows(X, table, y, weight, init_score, None, bins)


def read_eval_sets(given: Any, weights: Any) -> dict[str, Given]:
    """The validation sets by name: (X, y, weight, offset).

    One pair (X, y) is called "validation", those of a list "validation_0", ...; a dict names them. A third entry of a
    set is its ``init_score``.
    """
    if given is None:
        if weights is not None:
            check_compatibility(Context(has_eval_weights=True))
        return {}
    if isinstance(given, Mapping):
        named = {str(name): one for name, one in given.items()}
        if len(named) < len(given):
            raise InputError(
                f"eval_set names two sets alike, its names are {list(given)!r}: give each a text of its own"
            )
        weight_of = _weights_by_name(weights, named)
    elif _is_one_set(given):
        named, weight_of = {"validation": given}, {"validation": weights}
    elif isinstance(given, list | tuple):
        named = {f"validation_{k}": one for k, one in enumerate(given)}
        weight_of = _weights_in_order(weights, list(named))
    else:
        raise InputTypeError(
            f"eval_set must be a pair (X, y), a list of such pairs or a dict from names to pairs, got "
            f"{type(given).__name__}"
        )
    sets = {}
    for name, one in named.items():
        if not isinstance(one, list | tuple) or len(one) not in (2, 3):
            raise InputTypeError(
                f"eval_set {name!r} must be a pair (X, y), or (X, y, init_score), got {type(one).__name__}: write one "
                "set as the tuple (X, y), several as a list of tuples"
            )
        sets[name] = (one[0], one[1], weight_of.get(name), one[2] if len(one) == 3 else None)
    return sets


def _is_one_set(given: Any) -> bool:
    """Tell a pair (X, y) from a tuple of such pairs."""
    return isinstance(given, tuple) and len(given) in (2, 3) and not all(isinstance(one, tuple) for one in given)


def _weights_by_name(weights: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise InputTypeError("eval_sample_weight must be a dict with the names of eval_set, which is one")
    unknown = sorted({str(name) for name in weights} - set(named))
    if unknown:
        raise InputError(f"eval_sample_weight names {unknown[0]!r}, which eval_set does not: {', '.join(named)}")
    return {str(name): weight for name, weight in weights.items()}


def _weights_in_order(weights: Any, names: list[str]) -> dict[str, Any]:
    if weights is None:
        return {}
    if not isinstance(weights, list | tuple) or len(weights) != len(names):
        raise InputError(f"eval_sample_weight must be a list of {len(names)}, one (or None) for each set of eval_set")
    return dict(zip(names, weights, strict=True))
