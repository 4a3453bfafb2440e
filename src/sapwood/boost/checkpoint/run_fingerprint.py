"""Fingerprint of a training run: its parameters as text and digests of its data, to be stored and compared."""

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

# Parameters that change how training runs or when it ends, but not the result of a round.
WITHOUT_EFFECT = (
    "n_jobs",
    "verbose",
    "callbacks",
    "time_limit",
    "on_interrupt",
    "warm_start",
    "checkpoint",
    "checkpoint_every",
)


def describe_params(params: Params) -> dict[str, str]:
    """Return the parameters as text, and the version of Sapwood."""
    values = {name: value for group in vars(params).values() for name, value in vars(group).items()}
    described = {name: describe(value) for name, value in values.items() if name not in WITHOUT_EFFECT}
    return described | {"the version of Sapwood": sapwood.__version__}


def digest_data(
    dataset: BinnedDataset, target: Target, initial: InitialScores, evaluation: Evaluation
) -> dict[str, str]:
    """Return a digest of each part of the data: rows in bins, targets, weights, initial scores, validation sets."""
    digests = {
        "X": digest(
            dataset.bin_mapper,
            dataset.transformer,
            dataset.tiles,
            dataset.sparse_bins,
            dataset.row_ids,
            _raw_values(dataset, dataset),
        ),
        "y": digest(target.y),
        "sample_weight": digest(target.weight),
        "groups": digest(target.groups),
        "the initial scores (init, init_score or init_model)": digest(initial),
    }
    for rows in evaluation.sets:
        digests[f"eval_set {rows.name!r}"] = digest(
            rows.tiles, rows.sparse_bins, rows.target, rows.scores, _raw_values(rows, dataset)
        )
    return digests | {"the order of eval_set": digest([rows.name for rows in evaluation.sets])}


def _raw_values(rows: EvalSet | BinnedDataset, dataset: BinnedDataset) -> np.ndarray | None:
    """Return the raw values of binned rows, None where training does not read them."""
    return None if rows.raw_values is None else rows.raw_values.matrix(dataset.n_features)


def differences(before: Mapping[str, str], now: Mapping[str, str], with_values: bool) -> list[str]:
    """Return one text per entry that differs."""
    found = []
    for name in [*before, *(name for name in now if name not in before)]:
        first, second = before.get(name), now.get(name)
        if first == second:
            continue
        if first is None or second is None:
            found.append(f"{name} was {'not given and is now' if first is None else 'given and is not now'}")
        else:
            found.append(f"{name} was {first} and is {second}" if with_values else f"{name} differs")
    return found


def describe(value: Any) -> str:
    """Return a value of a parameter as text that is the same in every process; functions by their name and code."""
    function = getattr(value, "function", None)
    if callable(function):
        return f"{value!r} {_code(function)}"
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__qualname__} {_code(value)}"
    if isinstance(value, np.ndarray):
        return repr(value.tolist())
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{describe(key)}: {describe(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(describe(item) for item in value) + "]"
    text = repr(value)
    return type(value).__qualname__ if " at 0x" in text else text


def _code(function: Any) -> str:
    """Return a short digest of the code of a function, without that of the functions it calls."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    plain = [constant for constant in code.co_consts if isinstance(constant, str | int | float | tuple)]
    return "#" + hashlib.sha256(repr((code.co_code, code.co_names, plain)).encode()).hexdigest()[:8]


def digest(*values: Any) -> str:
    """Return the sha256, in hexadecimal, of arrays, numbers and strings, and of containers and dataclasses of them."""
    sha = hashlib.sha256()
    for value in values:
        _update(sha, value)
    return sha.hexdigest()


def _update(sha: Any, value: Any) -> None:
    if isinstance(value, np.ndarray) and value.dtype != object:
        sha.update(f"{value.dtype.str}{value.shape}".encode())
        sha.update(np.ascontiguousarray(value).data)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        sha.update(f"<{type(value).__name__}".encode())
        for field in dataclasses.fields(value):
            sha.update(field.name.encode())
            _update(sha, getattr(value, field.name))
    elif isinstance(value, Mapping):
        _update(sha, list(value.items()))
    elif isinstance(value, np.ndarray | Sequence) and not isinstance(value, str | bytes):
        sha.update(f"[{len(value)}".encode())
        for item in value:
            _update(sha, item)
    else:
        sha.update(f"{type(value).__name__}:{value!r};".encode())
