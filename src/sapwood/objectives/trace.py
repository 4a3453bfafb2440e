"""The loss of given targets as a function of the scores, made from a user's function."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.kernels.sums import Run, fixed_mean
from sapwood.objectives.dual import REMEDY, Dual
from sapwood.objectives.tape import NotRecordableError, Record, Tape

# Rows that NumPy takes at a time, so that its temporaries stay in the cache.
CHUNK = 8192
CHECKED_ROWS = 64
LEAST_HESSIAN = 1e-16

Function = Callable[[Any, Any], Any]


class Recorded:
    """A loss on given targets as tapes: its value, its slope, and its pairs."""

    def __init__(self, function: Function, y: np.ndarray, spread: float) -> None:
        record = Record(len(y))
        result = differentiate(function, y, record.score())
        gradient, hessian = result.first, stand_in(result.first, result.second, spread)
        value_number, *pair_numbers = (record.number(part) for part in (result.value, gradient, hessian))
        rows = np.array(record.rows) if record.rows else np.zeros((1, 1))
        self._value = Tape(record, [value_number], rows)
        self._slope = Tape(record, pair_numbers[:1], rows)
        self._pairs = Tape(record, pair_numbers, rows)

    def value(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The loss of each row."""
        return self._value.values(scores, run)[0]

    def slope(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The gradient of each row, in float64."""
        return self._slope.values(scores, run)[0]

    def pairs(self, scores: np.ndarray, out: np.ndarray, run: Run) -> None:
        """Fill ``out`` (1, n, 2)."""
        self._pairs.pairs(scores, out, run)


class Evaluated:
    """The same by NumPy, for operations that no kernel knows."""

    def __init__(self, function: Function, y: np.ndarray, spread: float) -> None:
        self._function = function
        self._y = weakref.ref(y)
        self._spread = spread

    def _chunks(self, scores: np.ndarray) -> Iterator[tuple[slice, Dual]]:
        y = self._y()
        assert y is not None
        with np.errstate(all="ignore"):
            for start in range(0, len(y), CHUNK):
                rows = slice(start, start + CHUNK)
                yield rows, differentiate(self._function, y[rows], scores[0, rows])

    def value(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The loss of each row."""
        out = np.empty(scores.shape[1])
        for rows, result in self._chunks(scores):
            out[rows] = result.value
        return out

    def slope(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The gradient of each row, in float64."""
        out = np.empty(scores.shape[1])
        for rows, result in self._chunks(scores):
            out[rows] = result.first
        return out

    def pairs(self, scores: np.ndarray, out: np.ndarray, run: Run) -> None:
        """Fill ``out`` (1, n, 2)."""
        for rows, result in self._chunks(scores):
            out[0, rows, 0] = result.first
            out[0, rows, 1] = stand_in(result.first, result.second, self._spread)


def differentiate(function: Function, y: np.ndarray, score: Any) -> Dual:
    """Call the function with a score that carries derivatives."""
    result = function(y, Dual(score, 1.0, 0.0))
    if isinstance(result, tuple):
        given = "the function returns several things; if they are gradient and hessian"
        raise ParameterError(f"custom objective: {given}, use objective=GradientLoss(function)")
    if not isinstance(result, Dual):
        given = f"returned {type(result).__name__}, which does not depend on the score"
        raise ParameterError(f"custom objective: the function {given}; return one loss per row, made from the score")
    shape = getattr(result.value, "shape", ())
    if shape != (len(y),):
        given = f"returned the shape {shape} for {len(y)} rows"
        raise ParameterError(f"custom objective: the function {given}; return one loss per row")
    return result


def stand_in(gradient: Any, hessian: Any, spread: float) -> Any:
    """A hessian above 0: its size where it is negative, and where the loss is straight, gradient over ``spread``.

    That is the curvature of a corner rounded over the width in which the targets lie.
    """
    if isinstance(hessian, float):
        hessian = abs(hessian) if hessian != 0.0 else np.absolute(gradient) / spread
    else:
        hessian = np.where(np.equal(hessian, 0.0), np.absolute(gradient) / spread, np.absolute(hessian))
    return np.maximum(hessian, LEAST_HESSIAN)


def check_rows(function: Function, y: np.ndarray) -> None:
    """Raise a ParameterError if the loss of a row changes when other rows are left out."""
    some = min(CHECKED_ROWS, len(y) // 2)
    if some == 0:
        return
    scores = np.linspace(0.25, 0.75, len(y))
    with np.errstate(all="ignore"):
        try:
            apart = differentiate(function, y[:some], scores[:some]).value
        except ValueError as error:
            if isinstance(error, ParameterError):
                raise
            given = f"the function fails on {some} of the {len(y)} rows ({error})"
            raise ParameterError(f"custom objective: {given}; {REMEDY}") from error
        among = differentiate(function, y, scores).value[:some]
    same = np.isclose(apart, among, rtol=1e-9, atol=0.0, equal_nan=True)
    if not same.all():
        row = int(np.argmin(same))
        given = f"the loss of row {row} is {among[row]:g} among all rows and {apart[row]:g} among {some}"
        raise ParameterError(f"custom objective: {given}; it may depend on that row's target and score alone")


def trace(function: Function, y: np.ndarray) -> Recorded | Evaluated:
    """Record the function on these targets, or leave it to NumPy."""
    deviation = fixed_mean(np.abs(y - fixed_mean(y)))
    spread = deviation if deviation > 0.0 else 1.0
    try:
        return Recorded(function, y, spread)
    except NotRecordableError:
        return Evaluated(function, y, spread)
