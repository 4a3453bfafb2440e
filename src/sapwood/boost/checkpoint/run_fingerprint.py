"""What makes two trainings the same: parameters and data, in a form that can be kept and compared."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import sapwood
from sapwood.boost.evaluation import EvalSet, Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.params.declaration import Params

# These change how the work is done or when it ends, not what a round brings.
WITHOUT_EFFECT = ("n_jobs", "verbose", "callbacks", "time_limit", "checkpoint", "checkpoint_every")


def parameters(params: Params) -> dict[str, str]:
    """What the parameters are, in words, and which version of Sapwood reads them."""
    values = {name: value for group in vars(params).values() for name, value in vars(group).items()}
    told = {name: in_words(value) for name, value in values.items() if name not in WITHOUT_EFFECT}
    return told | {"the version of Sapwood": sapwood.__version__}


def data(dataset: BinnedDataset, target: Target, start: InitialScores, evaluation: Evaluation) -> dict[str, str]:
    """A digest of each part of the data: the rows in bins, targets, weights, first scores, validation sets."""
    told = {
        "X": digest(
            dataset.bin_mapper,
            dataset.transformer,
            dataset.tiles,
            dataset.lists,
            dataset.row_ids,
            _values(dataset, dataset),
        ),
        "y": digest(target.y),
        "sample_weight": digest(target.weight),
        "groups": digest(target.groups),
        "what training starts from (init, init_score or init_model)": digest(start),
    }
    for one in evaluation.sets:
        told[f"eval_set {one.name!r}"] = digest(one.tiles, one.lists, one.target, one.scores, _values(one, dataset))
    return told | {"the order of eval_set": digest([one.name for one in evaluation.sets])}


def _values(rows: EvalSet | BinnedDataset, dataset: BinnedDataset) -> np.ndarray | None:
    """The values behind the bins, where training reads them."""
    return None if rows.values is None else rows.values.matrix(dataset.n_features)


def differences(before: Mapping[str, str], now: Mapping[str, str], with_values: bool) -> list[str]:
    """What is not the same, in words."""
    found = []
    for name in [*before, *(name for name in now if name not in before)]:
        first, second = before.get(name), now.get(name)
        if first == second:
            continue
        if first is None or second is None:
            found.append(f"{name} was {'not there' if first is None else 'there'} and is {'not' if first else 'now'}")
        else:
            found.append(f"{name} was {first} and is {second}" if with_values else f"{name} is not the same")
    return found


def in_words(value: Any) -> str:
    """A value of a parameter as a text that is the same in every process; a function by its name and code."""
    function = getattr(value, "function", None)
    if callable(function):
        return f"{value!r} {_code(function)}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__qualname__} {_code(value)}"
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{in_words(key)}: {in_words(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(in_words(item) for item in value) + "]"
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text


def _code(function: Any) -> str:
    """A short digest of what a function does, as far as its own lines tell."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    plain = [constant for constant in code.co_consts if isinstance(constant, str | int | float | tuple)]
    return "#" + hashlib.sha256(repr((code.co_code, code.co_names, plain)).encode()).hexdigest()[:8]


def digest(*values: Any) -> str:
    """A sha256, in hexadecimal, of arrays, numbers and texts, and of what is made of them."""
    made = hashlib.sha256()
    for value in values:
        _add(made, value)
    return made.hexdigest()


def _add(made: Any, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.dtype != object:
        made.update(f"{value.dtype.str}{value.shape}".encode())
        made.update(np.ascontiguousarray(value).data)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        made.update(f"<{type(value).__name__}".encode())
        for field in dataclasses.fields(value):
            made.update(field.name.encode())
            _add(made, getattr(value, field.name))
    elif isinstance(value, Mapping):
        _add(made, list(value.items()))
    elif isinstance(value, np.ndarray | Sequence) and not isinstance(value, str | bytes):
        made.update(f"[{len(value)}".encode())
        for item in value:
            _add(made, item)
    else:
        made.update(f"{type(value).__name__}:{value!r};".encode())
