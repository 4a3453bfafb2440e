"""Trace a user's function of the score into a tape of operations, which one kernel evaluates.

The function is called once with a ``TraceNode`` in place of the score. Each operation on nodes becomes a node of the
``Trace``; equal operations are recorded once (common subexpression elimination), and values that depend on the target
alone are computed immediately and stored as one array per value. ``Tape`` compiles a trace into instructions on
registers for the interpreter in ``kernels/autodiff/tape.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from sapwood.kernels.autodiff import tape as op
from sapwood.kernels.threads.slices import count_members
from sapwood.native.runtime.kernel import Run

MAX_POWER = 16


class UnsupportedOperationError(Exception):
    """The kernel has no such operation; the loss is then evaluated by NumPy."""


class Trace:
    """A graph of operations on the scores of ``n`` rows; nodes are numbered in the order of recording, operands first.

    ``constants`` and ``rows`` are its inputs beside the score: numbers, and arrays of one value per row.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.operations: list[tuple[int, ...]] = []
        self.constants: list[float] = []
        self.rows: list[np.ndarray] = []
        self._nodes: dict[tuple[int, ...], TraceNode] = {}
        self._constant_index: dict[str, int] = {}

    def score(self) -> TraceNode:
        """Return the node of the score."""
        return self.node(op.SCORE)

    def node(self, operation: int, *operands: int) -> TraceNode:
        """Return the node of an operation; the existing one if it was recorded before."""
        key = (operation, *operands)
        if key not in self._nodes:
            self._nodes[key] = TraceNode(self, len(self.operations))
            self.operations.append(key)
        return self._nodes[key]

    def number(self, value: Any) -> int:
        """Return the number of the node of an operand: a node, a number, or an array with one value per row."""
        if isinstance(value, TraceNode):
            return value.number
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise UnsupportedOperationError(f"an array of {array.dtype}")
        if array.size == 1:
            constant = float(array.reshape(())[()])
            index = self._constant_index.setdefault(constant.hex(), len(self.constants))
            if index == len(self.constants):
                self.constants.append(constant)
            return self.node(op.CONSTANT, index).number
        if array.shape != (self.n,):
            raise UnsupportedOperationError(f"an array of shape {array.shape}")
        self.rows.append(np.array(array, dtype=np.float64))
        return self.node(op.ROW, len(self.rows) - 1).number


class TraceNode(NDArrayOperatorsMixin):
    """The result of a recorded operation, which behaves like an array with one number per row."""

    def __init__(self, trace: Trace, number: int) -> None:
        self.trace = trace
        self.number = number
        self.shape = (trace.n,)

    def __len__(self) -> int:
        return self.trace.n

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if not all(_is_operand(x) for x in inputs):
            return NotImplemented
        name = ufunc.__name__
        if method != "__call__" or options:
            raise UnsupportedOperationError(name)
        if name in COMPOSED:
            return COMPOSED[name](*inputs)
        if name not in OPERATIONS:
            raise UnsupportedOperationError(name)
        return self.apply(OPERATIONS[name], *inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or len(args) != 3 or kwargs:
            raise UnsupportedOperationError(function.__name__)
        if not all(_is_operand(x) for x in args):
            return NotImplemented
        return self.apply(op.WHERE, *args)

    def apply(self, operation: int, *operands: Any) -> TraceNode:
        """Record an operation on operands and return its node."""
        return self.trace.node(operation, *(self.trace.number(x) for x in operands))

    def sigmoid(self) -> TraceNode:
        """Return 1 / (1 + e^-x)."""
        return self.apply(op.SIGMOID, self)


def _is_operand(x: Any) -> bool:
    return isinstance(x, (TraceNode, np.ndarray, np.generic, float, int))


def _logaddexp(a: Any, b: Any) -> Any:
    difference = a - b
    return b + difference.apply(op.SOFTPLUS, difference)


def _power(x: Any, p: Any) -> Any:
    if isinstance(p, TraceNode) or np.ndim(p):
        if not isinstance(p, TraceNode) and (p == np.floor(p)).any():
            raise UnsupportedOperationError("power")  # an integer power of a negative number is not e^(p log x)
        return np.exp(p * np.log(x))
    p = float(p)
    if p == 0.5:
        return np.sqrt(x)
    if p != np.floor(p):
        return np.exp(p * np.log(x))
    if not abs(p) <= MAX_POWER:
        raise UnsupportedOperationError("power")
    result, square, exponent = None, x, int(abs(p))
    while exponent:
        if exponent % 2:
            result = square if result is None else result * square
        exponent //= 2
        square = square * square if exponent else square
    if result is None:
        return np.ones(x.shape)
    return result if p > 0 else np.reciprocal(result)


OPERATIONS = {
    "add": op.ADD, "subtract": op.SUBTRACT, "multiply": op.MULTIPLY, "divide": op.DIVIDE, "true_divide": op.DIVIDE,
    "maximum": op.MAXIMUM, "minimum": op.MINIMUM, "less": op.LESS, "less_equal": op.LESS_EQUAL, "equal": op.EQUAL,
    "negative": op.NEGATIVE, "absolute": op.ABSOLUTE, "sign": op.SIGN, "sqrt": op.SQRT, "reciprocal": op.RECIPROCAL,
    "exp": op.EXP, "expm1": op.EXPM1, "log": op.LOG, "log1p": op.LOG1P, "tanh": op.TANH,
}  # fmt: skip

# Operations that are composed of others; booleans are 0 and 1.
COMPOSED: dict[str, Callable[..., Any]] = {
    "greater": lambda a, b: np.less(b, a),
    "greater_equal": lambda a, b: np.less_equal(b, a),
    "not_equal": lambda a, b: 1.0 - np.equal(a, b),
    "logical_not": lambda a: np.equal(a, 0.0),
    "invert": lambda a: np.equal(a, 0.0),
    "logical_and": np.multiply,
    "bitwise_and": np.multiply,
    "logical_or": np.maximum,
    "bitwise_or": np.maximum,
    "square": lambda x: x * x,
    "power": _power,
    "float_power": _power,
    "logaddexp": _logaddexp,
}


class Tape:
    """Instructions that compute some nodes of a trace, with registers reused once a value is no longer needed.

    ``rows`` are the row arrays of the trace, stacked.
    """

    def __init__(self, trace: Trace, results: list[int], rows: np.ndarray) -> None:
        order = _dependencies(trace, results)
        last_use = {number: number for number in order}
        for number in order:
            for operand in _operands(trace.operations[number]):
                last_use[operand] = number
        for number in results:
            last_use[number] = len(trace.operations)
        constants = [number for number in order if trace.operations[number][0] == op.CONSTANT]
        self.constants = np.array([trace.constants[trace.operations[number][1]] for number in constants])
        self.rows = rows
        register = {number: index for index, number in enumerate(constants)}
        free: list[int] = []
        self.n_registers = len(constants)
        code = []
        for number in (number for number in order if number not in register):
            operation, *arguments = trace.operations[number]
            # The destination is allocated before operands are freed: a loop that writes what it reads is slow.
            if not free:
                free.append(self.n_registers)
                self.n_registers += 1
            register[number] = free.pop()
            operands = [arguments[0]] if operation == op.ROW else [register[k] for k in arguments]
            code.append([operation, register[number], *operands, *[0] * (3 - len(operands))])
            finished = {k for k in _operands(trace.operations[number]) if last_use[k] == number} - set(constants)
            free.extend(sorted(register[k] for k in finished))
        self.code = np.array(code, dtype=np.int64).reshape(-1, 5)
        self.results = np.array([register[number] for number in results], dtype=np.int64)

    def run(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """Return the results for all rows (results, n)."""
        out = np.empty((len(self.results), scores.shape[1]))
        members = np.empty(1, dtype=np.int64)
        run(count_members, members)
        work = np.empty((int(members[0]), self.n_registers, op.BLOCK))
        run(op.run_tape, self.code, self.constants, self.rows, scores, work, self.results, out)
        return out


def _operands(operation: tuple[int, ...]) -> tuple[int, ...]:
    return () if operation[0] in (op.SCORE, op.ROW, op.CONSTANT) else operation[1:]


def _dependencies(trace: Trace, results: list[int]) -> list[int]:
    """Return the nodes that the results are computed from, operands first."""
    found, pending = set(results), list(results)
    while pending:
        for operand in _operands(trace.operations[pending.pop()]):
            if operand not in found:
                found.add(operand)
                pending.append(operand)
    return sorted(found)
