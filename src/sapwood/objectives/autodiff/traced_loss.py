"""A user's loss for fixed targets: traced onto a tape if the kernel has its operations, else evaluated by NumPy."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.kernels.numeric.gradient_pairs import store_derivatives
from sapwood.kernels.numeric.sums import fixed_mean, fixed_sum
from sapwood.native.runtime.kernel import Run
from sapwood.objectives.autodiff.dual_numbers import REMEDY, Dual
from sapwood.objectives.autodiff.tape import Tape, Trace, UnsupportedOperationError
from sapwood.objectives.base import flat_pairs
from sapwood.params.validators import read_only

# Rows that NumPy evaluates at a time, so that temporary arrays stay in the cache.
CHUNK = 8192
CHECKED_ROWS = 64

Function = Callable[[Any, Any], Any]


class TracedLoss:
    """A loss of the scores for fixed targets; ``spread`` is the mean absolute deviation of the targets."""

    def __init__(self, spread: float) -> None:
        self._spread = spread

    def value(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """Return the loss of each row."""
        raise NotImplementedError

    def derivatives(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """Return the first and second derivative of each row (2, n), in float64."""
        raise NotImplementedError

    def pairs(self, scores: np.ndarray, out: np.ndarray, run: Run) -> None:
        """Fill ``out`` (1, n, 2); hessians are positive also where the second derivative is 0 or negative."""
        derivatives = self.derivatives(scores, run)
        is_linear = derivatives[1] == 0.0
        width = self._smoothing_width(scores, derivatives[0], is_linear, run) if is_linear.any() else 1.0
        run(store_derivatives, derivatives, 1.0 / width, flat_pairs(out))

    def _smoothing_width(self, scores: np.ndarray, slope: np.ndarray, is_linear: np.ndarray, run: Run) -> float:
        """Return the width over which a kink is smoothed: the mean distance from a loss of 0 where it is linear.

        For an absolute loss it is the mean absolute error, so that steps become shorter as the fit improves.
        """
        total_slope = fixed_sum(np.where(is_linear, np.abs(slope), 0.0), None, run)
        total_loss = fixed_sum(np.where(is_linear, self.value(scores, run), 0.0), None, run)
        width = total_loss / total_slope if total_slope > 0.0 else 0.0
        return width if 0.0 < width < math.inf else self._spread


class TapeLoss(TracedLoss):
    """A loss on a tape that a kernel evaluates."""

    def __init__(self, function: Function, y: np.ndarray, spread: float) -> None:
        super().__init__(spread)
        trace = Trace(len(y))
        result = differentiate(function, y, trace.score())
        value, *derivatives = (trace.number(part) for part in (result.value, result.first, result.second))
        rows = np.array(trace.rows) if trace.rows else np.zeros((1, 1))
        self._value = Tape(trace, [value], rows)
        self._derivatives = Tape(trace, derivatives, rows)

    def value(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """Return the loss of each row."""
        return self._value.run(scores, run)[0]

    def derivatives(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """Return the first and second derivative of each row (2, n), in float64."""
        return self._derivatives.run(scores, run)


class NumPyLoss(TracedLoss):
    """A loss with operations that the kernel does not have, evaluated by NumPy."""

    def __init__(self, function: Function, y: np.ndarray, spread: float) -> None:
        super().__init__(spread)
        self._function = function
        self._y = weakref.ref(y)

    def value(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """Return the loss of each row."""
        out = np.empty(scores.shape[1])
        for rows, result in self._chunks(scores):
            out[rows] = result.value
        return out

    def derivatives(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """Return the first and second derivative of each row (2, n), in float64."""
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


class ClassScoreLoss(TracedLoss):
    """A loss of the scores of all classes, differentiated with respect to the score of one, by NumPy."""

    def __init__(self, function: Function, y: np.ndarray, output: int) -> None:
        super().__init__(1.0)
        self._function = function
        self._y = weakref.ref(y)
        self._output = output

    def value(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """Return the loss of each row."""
        return self._differentiate(scores).value

    def derivatives(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """Return the first and second derivative of each row (2, n), in float64."""
        result = self._differentiate(scores)
        return np.stack([np.broadcast_to(part, scores.shape[1:]) for part in (result.first, result.second)])

    def _differentiate(self, scores: np.ndarray) -> Dual:
        y = self._y()
        assert y is not None
        with np.errstate(all="ignore"):
            return differentiate_class(self._function, y, scores, self._output)


def differentiate_class(function: Function, y: np.ndarray, scores: np.ndarray, output: int) -> Dual:
    """Return the loss of class numbers and scores (classes, rows) with its derivatives in the score of one class."""
    by_row = scores.T.copy()
    first = np.zeros_like(by_row)
    first[:, output] = 1.0
    return _call(function, y.astype(np.int64), Dual(by_row, first, 0.0))


def differentiate(function: Function, y: np.ndarray, score: Any) -> Dual:
    """Return the loss with its derivatives: call the function with the score as a dual number."""
    return _call(function, y, Dual(score, 1.0, 0.0))


def _call(function: Function, y: np.ndarray, score: Dual) -> Dual:
    """Call the function of the user and check that it returned a loss per row."""
    try:
        result = function(read_only(y), score)
    except TypeError as error:
        raise ParameterError(f"custom objective: the function fails ({error}); {REMEDY}") from error
    if isinstance(result, tuple):
        given = "the function returned a tuple; if it is (gradient, hessian)"
        raise ParameterError(f"custom objective: {given}, use objective=GradientLoss(function)")
    if not isinstance(result, Dual):
        given = f"returned {type(result).__name__}, which does not depend on the score"
        raise ParameterError(
            f"custom objective: the function {given}; return one loss per row, computed from the score"
        )
    shape = getattr(result.value, "shape", ())
    if shape != (len(y),):
        given = f"returned the shape {shape} for {len(y)} rows"
        raise ParameterError(f"custom objective: the function {given}; return one loss per row")
    return result


def check_row_independence(function: Function, y: np.ndarray, n_classes: int = 0) -> None:
    """Raise a ParameterError if the loss of a row changes when other rows are left out."""
    n_checked = min(CHECKED_ROWS, len(y) // 2)
    if n_checked == 0:
        return

    def losses_of(n_rows: int) -> np.ndarray:
        if n_classes:
            return differentiate_class(function, y[:n_rows], np.array([scores[:n_rows]] * n_classes), 0).value
        return differentiate(function, y[:n_rows], scores[:n_rows]).value

    scores = np.linspace(0.25, 0.75, len(y))
    with np.errstate(all="ignore"):
        try:
            alone = losses_of(n_checked)
        except ValueError as error:
            if isinstance(error, ParameterError):
                raise
            given = f"the function fails on {n_checked} of the {len(y)} rows ({error})"
            raise ParameterError(f"custom objective: {given}; {REMEDY}") from error
        together = losses_of(len(y))[:n_checked]
    is_same = np.isclose(alone, together, rtol=1e-9, atol=0.0, equal_nan=True)
    if not is_same.all():
        row = int(np.argmin(is_same))
        given = f"the loss of row {row} is {together[row]:g} among all rows and {alone[row]:g} among {n_checked}"
        raise ParameterError(f"custom objective: {given}; it may depend on that row's target and score alone")


def trace_loss(function: Function, y: np.ndarray) -> TracedLoss:
    """Return the loss of a function for these targets, on a tape if possible."""
    deviation = fixed_mean(np.abs(y - fixed_mean(y)))
    spread = deviation if deviation > 0.0 else 1.0
    try:
        return TapeLoss(function, y, spread)
    except UnsupportedOperationError:
        return NumPyLoss(function, y, spread)
