"""Read the validation sets of a fit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from sapwood.boost.fit_arguments import FitArguments
from sapwood.boost.initial_scores import read_init_score
from sapwood.boost.labeled_rows import LabeledRows, eval_set_in_errors, has_same_rows, read_features
from sapwood.boost.learning_task import LearningTask
from sapwood.data.tables.targets import check_target, check_weight, encode_known_labels
from sapwood.errors import InputError, InputTypeError
from sapwood.params.compatibility import check_compatibility
from sapwood.params.fit_context import Context
from sapwood.params.options import early_stopping_of

RawEvalSet = tuple[Any, Any, Any, Any]  # X, y, weights and init_score as the user passed them


def read_eval_rows(arguments: FitArguments, task: LearningTask) -> dict[str, LabeledRows]:
    """Read the validation sets of ``eval_set`` by name."""
    named = read_eval_sets(arguments.eval_set, arguments.eval_sample_weight)
    has_init_score, may_be_empty = arguments.init_score is not None, arguments.workers.splits_rows
    return {name: _read_rows(name, raw, task, has_init_score, may_be_empty) for name, raw in named.items()}


def read_held_out_rows(arguments: FitArguments, task: LearningTask) -> dict[str, LabeledRows]:
    """Read the sets of ``held_out``, which are evaluated but never stop training."""
    held_out = arguments.held_out or {}
    return {name: _read_rows(name, (*raw, None), task, False) for name, raw in held_out.items()}


def _read_rows(
    name: str, raw: RawEvalSet, task: LearningTask, needs_init_score: bool, may_be_empty: bool = False
) -> LabeledRows:  # fmt: skip
    raw_X, target, weights, raw_init_score = raw
    with eval_set_in_errors(name):
        X, table, bins = read_features(raw_X, may_be_empty)
        table = task.schema.align(table)
        if may_be_empty and table.n_rows == 0:
            y = np.empty(0)
        elif task.classes is not None:
            y = encode_known_labels(target, table.n_rows, task.classes)
        else:
            y = check_target(target, table.n_rows)
        task.objective.check_target(y)
        init_score = read_init_score(raw_init_score, table.n_rows, task.objective.n_outputs)
        if needs_init_score and init_score is None:
            raise InputError("init_score was passed for the training rows but not here: pass (X, y, init_score)")
        weight = check_weight(weights, table.n_rows, "eval_sample_weight", may_be_zero=may_be_empty)
        return LabeledRows(X, table, y, weight, init_score, None, bins)


def monitored_set(task: LearningTask, rows: LabeledRows, sets: Mapping[str, LabeledRows]) -> str | None:
    """Return the name of the validation set that decides which round is best.

    That is the set that ``EarlyStopping`` names, or the last one that does not hold the training rows; None if all do.
    """
    stopping = early_stopping_of(task.params.evaluation.early_stopping_rounds)
    if stopping is not None and stopping.eval_set is not None:
        if stopping.eval_set not in sets:
            known = ", ".join(map(repr, sets))
            raise InputError(f"EarlyStopping(eval_set={stopping.eval_set!r}): the sets of eval_set are {known}")
        return stopping.eval_set
    for name in reversed(list(sets)):
        if not _are_training_rows(sets[name], rows, task.schema.categorical_columns):
            return name
    if stopping is not None:
        raise InputError(
            "early stopping needs rows that the model is not trained on, but every set of eval_set holds the training "
            "rows: pass other rows, or leave eval_set out to have some rows split off"
        )
    return None


def _are_training_rows(rows: LabeledRows, training: LabeledRows, categorical_columns: Collection[int]) -> bool:
    """Return whether rows are the training rows, on all workers."""
    differs = 0 if has_same_rows(rows, training, categorical_columns) else 1
    return not training.workers.max(np.array([differs], dtype=np.int64))[0]


def read_eval_sets(eval_set: Any, weights: Any) -> dict[str, RawEvalSet]:
    """Return (X, y, weight, init_score) of each validation set by name.

    A single pair (X, y) is named "validation", sets of a list "validation_0", ...; a dict has names. A third entry is
    the ``init_score`` of the set.
    """
    if eval_set is None:
        if weights is not None:
            check_compatibility(Context(has_eval_weights=True))
        return {}
    if isinstance(eval_set, Mapping):
        named = {str(name): pair for name, pair in eval_set.items()}
        if len(named) < len(eval_set):
            raise InputError(
                f"the names of eval_set, {list(eval_set)!r}, are not distinct as strings: use distinct strings"
            )
        weight_of = _weights_by_name(weights, named)
    elif _is_single_set(eval_set):
        named, weight_of = {"validation": eval_set}, {"validation": weights}
    elif isinstance(eval_set, list | tuple):
        named = {f"validation_{k}": pair for k, pair in enumerate(eval_set)}
        weight_of = _weights_in_order(weights, list(named))
    else:
        raise InputTypeError(
            f"eval_set must be a pair (X, y), a list of such pairs or a dict from names to pairs, got "
            f"{type(eval_set).__name__}"
        )
    sets = {}
    for name, pair in named.items():
        if not isinstance(pair, list | tuple) or len(pair) not in (2, 3):
            raise InputTypeError(
                f"eval_set {name!r} must be a pair (X, y), or (X, y, init_score), got {type(pair).__name__}: pass one "
                "set as the tuple (X, y), several sets as a list of tuples"
            )
        sets[name] = (pair[0], pair[1], weight_of.get(name), pair[2] if len(pair) == 3 else None)
    return sets


def _is_single_set(eval_set: Any) -> bool:
    """Return whether this is a pair (X, y) rather than a tuple of such pairs."""
    if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
        return False
    return not all(isinstance(entry, tuple) for entry in eval_set)


def _weights_by_name(weights: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    if weights is None:
        return {}
    if not isinstance(weights, Mapping):
        raise InputTypeError("eval_sample_weight must be a dict with the names of eval_set, as eval_set is a dict")
    unknown = sorted({str(name) for name in weights} - set(named))
    if unknown:
        raise InputError(f"eval_sample_weight names {unknown[0]!r}, but eval_set has only {', '.join(named)}")
    return {str(name): weight for name, weight in weights.items()}


def _weights_in_order(weights: Any, names: list[str]) -> dict[str, Any]:
    if weights is None:
        return {}
    if not isinstance(weights, list | tuple) or len(weights) != len(names):
        raise InputError(
            f"eval_sample_weight must be a list of length {len(names)}: weights or None for each set of eval_set"
        )
    return dict(zip(names, weights, strict=True))
