"""The loss of given targets as a function of the scores, made from a user's function."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.kernels.losses.gradient_pairs import store_derivatives
from sapwood.kernels.numeric.sums import fixed_mean, fixed_sum
from sapwood.native.runtime.kernel import Run
from sapwood.objectives.autodiff.dual import REMEDY, Dual
from sapwood.objectives.autodiff.tape import Tape, Trace, UnsupportedOperationError
from sapwood.objectives.base import flat_pairs
from sapwood.params.validators import read_only

# Rows that NumPy takes at a time, so that its temporaries stay in the cache.
CHUNK = 8192
CHECKED_ROWS = 64

Function = Callable[[Any, Any], Any]


class TracedLoss:
    """A loss on given targets; ``spread`` is the width in which these lie."""

    def __init__(self, spread: float) -> None:
        self._spread = spread

    def value(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The loss of each row."""
        raise NotImplementedError

    def derivatives(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The first and second derivative of each row (2, n), in float64."""
        raise NotImplementedError

    def pairs(self, scores: np.ndarray, out: np.ndarray, run: Run) -> None:
        """Fill ``out`` (1, n, 2); where the loss is straight or hollow, a stand-in takes the place of its curvature."""
        derivatives = self.derivatives(scores, run)
        straight = derivatives[1] == 0.0
        width = self._width(scores, derivatives[0], straight, run) if straight.any() else 1.0
        run(store_derivatives, derivatives, 1.0 / width, flat_pairs(out))

    def _width(self, scores: np.ndarray, slope: np.ndarray, straight: np.ndarray, run: Run) -> float:
        """How far the rows whose loss is straight are from having none, on the whole: over this a corner is rounded.

        For an absolute loss it is the mean absolute error, so that steps get shorter as the fit gets better.
        """
        total_slope = fixed_sum(np.where(straight, np.abs(slope), 0.0), None, run)
        total_loss = fixed_sum(np.where(straight, self.value(scores, run), 0.0), None, run)
        width = total_loss / total_slope if total_slope > 0.0 else 0.0
        return width if 0.0 < width < math.inf else self._spread


class TapeLoss(TracedLoss):
    """A loss that was recorded and runs as a kernel."""

    def __init__(self, function: Function, y: np.ndarray, spread: float) -> None:
        super().__init__(spread)
        record = Trace(len(y))
        result = differentiate(function, y, record.score())
        value, *derivatives = (record.number(part) for part in (result.value, result.first, result.second))
        rows = np.array(record.rows) if record.rows else np.zeros((1, 1))
        self._value = Tape(record, [value], rows)
        self._derivatives = Tape(record, derivatives, rows)

    def value(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The loss of each row."""
        return self._value.run(scores, run)[0]

    def derivatives(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The first and second derivative of each row (2, n), in float64."""
        return self._derivatives.run(scores, run)


class NumPyLoss(TracedLoss):
    """A loss with operations that no kernel knows, evaluated by NumPy."""

    def __init__(self, function: Function, y: np.ndarray, spread: float) -> None:
        super().__init__(spread)
        self._function = function
        self._y = weakref.ref(y)

    def value(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The loss of each row."""
        out = np.empty(scores.shape[1])
        for rows, result in self._chunks(scores):
            out[rows] = result.value
        return out

    def derivatives(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The first and second derivative of each row (2, n), in float64."""
        out = np.empty((2, scores.shape[1]))
        for rows, result in self._chunks(scores):
            out[0, rows] = result.first
            out[1, rows] = result.second
        return out

    def _chunks(self, scores: np.ndarray) -> Iterator[tuple[slice, Dual]]:
        y = self._y()
        assert y is not None
        with np.errstate(all="ignore"):
            for start in range(0, len(y), CHUNK):
                rows = slice(start, start + CHUNK)
                yield rows, differentiate(self._function, y[rows], scores[0, rows])


def differentiate(function: Function, y: np.ndarray, score: Any) -> Dual:
    """Call the function with a score that carries derivatives."""
    try:
        result = function(read_only(y), Dual(score, 1.0, 0.0))
    except TypeError as error:
        raise ParameterError(f"custom objective: the function fails ({error}); {REMEDY}") from error
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


def check_row_independence(function: Function, y: np.ndarray) -> None:
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


def trace_loss(function: Function, y: np.ndarray) -> TracedLoss:
    """Record the function on these targets, or leave it to NumPy."""
    deviation = fixed_mean(np.abs(y - fixed_mean(y)))
    spread = deviation if deviation > 0.0 else 1.0
    try:
        return TapeLoss(function, y, spread)
    except UnsupportedOperationError:
        return NumPyLoss(function, y, spread)
