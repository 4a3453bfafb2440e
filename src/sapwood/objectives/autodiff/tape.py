"""Trace a user's function of the score into a tape of operations, which one kernel evaluates.

The function is called once with a ``TraceNode`` in place of the score. Each operation on nodes becomes a node of the
``Trace``; equal operations are recorded once (common subexpression elimination), and values that depend on the target
alone are computed immediately and stored as one array per value. ``Tape`` compiles a trace into instructions on
registers for the interpreter in ``kernels/losses/tape.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from sapwood.kernels.losses import tape as op
from sapwood.kernels.threads.slices import count_members
from sapwood.native.runtime.kernel import Run

MAX_POWER = 16


class UnsupportedOperationError(Exception):
    """The kernel has no such operation; NumPy may."""


class Trace:
    """The operations on the scores of ``n`` rows so far; nodes are numbered in order, operands before results."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.lines: list[tuple[int, ...]] = []
        self.constants: list[float] = []
        self.rows: list[np.ndarray] = []
        self._known: dict[tuple[int, ...], TraceNode] = {}
        self._constant_of: dict[str, int] = {}

    def score(self) -> TraceNode:
        """The node of the score."""
        return self.node(op.SCORE)

    def node(self, operation: int, *operands: int) -> TraceNode:
        """The node of an operation; the same one if it was recorded before."""
        line = (operation, *operands)
        if line not in self._known:
            self._known[line] = TraceNode(self, len(self.lines))
            self.lines.append(line)
        return self._known[line]

    def number(self, value: Any) -> int:
        """The number of the node of any operand: a node, a number, or an array with one value per row."""
        if isinstance(value, TraceNode):
            return value.number
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise UnsupportedOperationError(f"an array of {array.dtype}")
        if array.size == 1:
            constant = float(array.reshape(())[()])
            place = self._constant_of.setdefault(constant.hex(), len(self.constants))
            if place == len(self.constants):
                self.constants.append(constant)
            return self.node(op.CONSTANT, place).number
        if array.shape != (self.n,):
            raise UnsupportedOperationError(f"an array of shape {array.shape}")
        self.rows.append(np.array(array, dtype=np.float64))
        return self.node(op.ROW, len(self.rows) - 1).number


class TraceNode(NDArrayOperatorsMixin):
    """The result of a recorded operation; stands for an array with one number per row."""

    def __init__(self, record: Trace, number: int) -> None:
        self.record = record
        self.number = number
        self.shape = (record.n,)

    def __len__(self) -> int:
        return self.record.n

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
        """Record an operation."""
        return self.record.node(operation, *(self.record.number(x) for x in operands))

    def sigmoid(self) -> TraceNode:
        """1 / (1 + e^-x)."""
        return self.apply(op.SIGMOID, self)


def _is_operand(x: Any) -> bool:
    return isinstance(x, (TraceNode, np.ndarray, np.generic, float, int))


def _logaddexp(a: Any, b: Any) -> Any:
    difference = a - b
    return b + difference.apply(op.SOFTPLUS, difference)


def _power(x: Any, p: Any) -> Any:
    if isinstance(p, TraceNode) or np.ndim(p):
        if not isinstance(p, TraceNode) and (p == np.floor(p)).any():
            raise UnsupportedOperationError("power")  # whole powers of negative numbers are not e^(p log x)
        return np.exp(p * np.log(x))
    p = float(p)
    if p == 0.5:
        return np.sqrt(x)
    if p != np.floor(p):
        return np.exp(p * np.log(x))
    if not abs(p) <= MAX_POWER:
        raise UnsupportedOperationError("power")
    result, square, left = None, x, int(abs(p))
    while left:
        if left % 2:
            result = square if result is None else result * square
        left //= 2
        square = square * square if left else square
    if result is None:
        return np.ones(x.shape)
    return result if p > 0 else np.reciprocal(result)


OPERATIONS = {
    "add": op.ADD, "subtract": op.SUBTRACT, "multiply": op.MULTIPLY, "divide": op.DIVIDE, "true_divide": op.DIVIDE,
    "maximum": op.MAXIMUM, "minimum": op.MINIMUM, "less": op.LESS, "less_equal": op.LESS_EQUAL, "equal": op.EQUAL,
    "negative": op.NEGATIVE, "absolute": op.ABSOLUTE, "sign": op.SIGN, "sqrt": op.SQRT, "reciprocal": op.RECIPROCAL,
    "exp": op.EXP, "expm1": op.EXPM1, "log": op.LOG, "log1p": op.LOG1P, "tanh": op.TANH,
}  # fmt: skip

# Truths are 0 and 1.
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
    """The lines that compute some nodes of a record, with a register for each number alive at the same time.

    ``rows`` are the record's rows as one array.
    """

    def __init__(self, record: Trace, numbers: list[int], rows: np.ndarray) -> None:
        needed = _dependencies(record, numbers)
        last_use = {number: number for number in needed}
        for number in needed:
            for operand in _operands(record.lines[number]):
                last_use[operand] = number
        for number in numbers:
            last_use[number] = len(record.lines)
        constants = [number for number in needed if record.lines[number][0] == op.CONSTANT]
        self.constants = np.array([record.constants[record.lines[number][1]] for number in constants])
        self.rows = rows
        register = {number: place for place, number in enumerate(constants)}
        free: list[int] = []
        self.n_registers = len(constants)
        lines = []
        for number in (number for number in needed if number not in register):
            line = record.lines[number]
            # The destination is taken before operands are given back: a loop that writes what it reads is slow.
            if not free:
                free.append(self.n_registers)
                self.n_registers += 1
            register[number] = free.pop()
            operands = [line[1]] if line[0] == op.ROW else [register[k] for k in line[1:]]
            lines.append([line[0], register[number], *operands, *[0] * (3 - len(operands))])
            done = {k for k in _operands(line) if last_use[k] == number} - set(constants)
            free.extend(sorted(register[k] for k in done))
        self.code = np.array(lines, dtype=np.int64).reshape(-1, 5)
        self.results = np.array([register[number] for number in numbers], dtype=np.int64)

    def run(self, scores: np.ndarray, run: Run) -> np.ndarray:
        """The results for every row (results, n)."""
        out = np.empty((len(self.results), scores.shape[1]))
        members = np.empty(1, dtype=np.int64)
        run(count_members, members)
        work = np.empty((int(members[0]), self.n_registers, op.BLOCK))
        run(op.run_tape, self.code, self.constants, self.rows, scores, work, self.results, out)
        return out


def _operands(line: tuple[int, ...]) -> tuple[int, ...]:
    return () if line[0] in (op.SCORE, op.ROW, op.CONSTANT) else line[1:]


def _dependencies(record: Trace, numbers: list[int]) -> list[int]:
    """What the results are computed from, operands first."""
    found, waiting = set(numbers), list(numbers)
    while waiting:
        for operand in _operands(record.lines[waiting.pop()]):
            if operand not in found:
                found.add(operand)
                waiting.append(operand)
    return sorted(found)
