"""Fingerprint of a training run: its parameters as text and digests of its data, to be stored and compared."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import sapwood
from sapwood.boost.evaluation import EvalSet, Evaluation
from sapwood.boost.initial_scores import InitialScores
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.distributed.selection import group_ids
from sapwood.distributed.workers import Workers
from sapwood.kernels.numeric.random import ROW_DIGEST, draw_many
from sapwood.params.declaration import Params

WORD_BYTES = 8
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
    """Return a digest of each part of the data: rows in bins, targets, weights, initial scores, validation sets.

    Digests depend on the rows of all workers, not on which worker has a row.
    """
    workers, numbers = dataset.workers, dataset.row_ids
    groups = None if target.groups is None else group_ids(target.groups, numbers, workers)
    digests = {
        "X": digest(
            dataset.bin_mapper,
            dataset.transformer,
            dataset.sparse_bins,
            digest_rows(numbers, [*dataset.tiles, _raw_values(dataset, dataset)], workers),
        ),
        "y": digest_rows(numbers, [target.y], workers),
        "sample_weight": digest_rows(numbers, [target.weight], workers),
        "groups": digest_rows(numbers, [groups], workers),
        "the initial scores (init, init_score or init_model)": digest(
            replace(initial, scores=None), digest_rows(numbers, _columns(initial.scores), workers)
        ),
    }
    for rows in evaluation.sets:
        of_target = [rows.target.y, rows.target.weight]
        columns = [*rows.tiles, *of_target, *_columns(rows.scores), _raw_values(rows, dataset)]
        no_numbers = np.zeros(len(rows.target.y), dtype=np.uint64)  # the order of rows has no effect
        digests[f"eval_set {rows.name!r}"] = digest(rows.sparse_bins, digest_rows(no_numbers, columns, workers))
    return digests | {"the order of eval_set": digest([rows.name for rows in evaluation.sets])}


def digest_rows(numbers: np.ndarray, columns: Sequence[np.ndarray | None], workers: Workers) -> str:
    """Return a digest of the rows of all workers: the sum of a hash of the number and the content of each row.

    The first axis of every column is that of rows.
    """
    hashes = numbers.astype(np.uint64)
    for k, column in enumerate(columns):
        for word in () if column is None else _words(column):
            draw_many(0, ROW_DIGEST, k, hashes ^ word, hashes)
    total = hashes.sum(dtype=np.uint64).astype(np.int64)
    given = [k for k, column in enumerate(columns) if column is not None]
    return digest(given, workers.sum(np.array([len(hashes), total])))


def _words(column: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the content of rows as uint64, eight bytes of each row at a time."""
    content = np.ascontiguousarray(column).reshape(len(column), math.prod(column.shape[1:])).view(np.uint8)
    for start in range(0, content.shape[1], WORD_BYTES):
        part = content[:, start : start + WORD_BYTES]
        word = np.zeros((len(part), WORD_BYTES), dtype=np.uint8)
        word[:, : part.shape[1]] = part
        yield word.view(np.uint64)[:, 0]


def _columns(scores: np.ndarray | None) -> list[np.ndarray]:
    return [] if scores is None else list(scores)


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
