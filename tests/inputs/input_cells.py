"""Cells of the grid of inputs: something a user may hand over, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, InputTypeError, ParameterError, SchemaError

N = 40
X = np.round(np.random.default_rng(0).normal(size=(N, 3)), 2)
Y = np.round(X[:, 0] + 0.5 * X[:, 1], 2)
LABELS = (Y > 0).astype(int)
FEW: dict[str, Any] = {"n_estimators": 3, "min_child_samples": 2}


@dataclass(frozen=True)
class Error:
    """A named error whose message has all these texts: what is wrong, where, and what to do."""

    kind: type[Exception]
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Cell:
    """A call and what it brings: an ``Error``, or a test of its result.

    ``reads`` marks errors in single values, which are found while the table is read.
    """

    name: str
    call: Callable[[], Any]
    expected: Error | Callable[[Any], bool]
    reads: bool = False


def value_error(*texts: str) -> Error:
    return Error(InputError, texts)


def type_error(*texts: str) -> Error:
    return Error(InputTypeError, texts)


def parameter_error(*texts: str) -> Error:
    return Error(ParameterError, texts)


def schema_error(*texts: str) -> Error:
    return Error(SchemaError, texts)


def regressor(**params: Any) -> SapwoodRegressor:
    return SapwoodRegressor(**{**FEW, **params})


def classifier(**params: Any) -> SapwoodClassifier:
    return SapwoodClassifier(**{**FEW, **params})


def fine(result: Any) -> bool:
    """Predictions that are finite numbers."""
    return bool(np.isfinite(result).all())


def constant(result: Any) -> bool:
    """The same finite prediction for all rows."""
    return fine(result) and len(np.unique(result)) == 1


def same_as_plain(result: Any) -> bool:
    """The predictions of a model trained on the same values as float64."""
    return bool(np.array_equal(result, PLAIN))


def with_value(value: Any, row: int = 3, column: int = 1) -> np.ndarray:
    """The table as objects, one of them another."""
    table = X.astype(object)
    table[row, column] = value
    return table


def spoilt(values: np.ndarray, value: Any, row: int = 5) -> np.ndarray:
    """A vector with one value replaced, as objects if it must be."""
    made = values.astype(float if isinstance(value, float) else object)
    made[row] = value
    return made


PLAIN = regressor().fit(X, Y).predict(X)
