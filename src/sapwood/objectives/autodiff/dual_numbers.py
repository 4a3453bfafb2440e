"""Forward-mode automatic differentiation with second-order dual numbers.

A user's function is called with a ``Dual`` in place of the score. Each NumPy operation on dual numbers computes the
value and, by the chain rule, its first and second derivative with respect to the score. The parts of a dual number are
arrays, or nodes of a trace (``objectives/autodiff/tape.py``), which record the operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from sapwood.errors import ParameterError
from sapwood.objectives.autodiff.elementary_derivatives import DERIVATIVES, Derivatives, sigmoid

REMEDY = "write it with operations on each row, or give gradient and hessian yourself: objective=GradientLoss(function)"


def unsupported(operation: str, why: str = "cannot be differentiated row by row") -> ParameterError:
    """Return the error for an operation that cannot be differentiated row by row."""
    return ParameterError(f"custom objective: {operation} {why}; {REMEDY}")


def plus(a: Any, b: Any) -> Any:
    """Return a + b; adding a constant 0 costs nothing."""
    if isinstance(a, float) and a == 0.0:
        return b
    return a if isinstance(b, float) and b == 0.0 else np.add(a, b)


def times(a: Any, b: Any) -> Any:
    """Return a * b; factors of 0, 1 and -1 cost nothing, and a constant 0 gives 0 whatever the other factor is."""
    for x, other in ((a, b), (b, a)):
        if isinstance(x, float) and x in (0.0, 1.0, -1.0):
            return 0.0 if x == 0.0 else other if x == 1.0 else -other
    return np.multiply(a, b)


def over(a: Any, b: Any) -> Any:
    """Return a / b; a numerator of 0 costs nothing."""
    return 0.0 if isinstance(a, float) and a == 0.0 else np.divide(a, b)


class Dual(NDArrayOperatorsMixin):
    """A dual number: one value per row with its first and second derivative with respect to the score.

    With several classes, scores are (rows, classes), and derivatives are with respect to the score of one class.
    """

    def __init__(self, value: Any, first: Any = 0.0, second: Any = 0.0) -> None:
        self.value = value
        self.first = first
        self.second = second

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value: (rows,) or (rows, classes)."""
        return self.value.shape

    @property
    def size(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of dimensions: 2 if there is a score per class."""
        return len(self.shape)

    dtype = np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        options.pop("out", None)  # given by a += b only, which rebinds the name to the result
        if method != "__call__":
            raise unsupported(
                f"np.{ufunc.__name__}.{method}", "combines rows, but the loss of a row may not depend on others"
            )
        if options:
            raise unsupported(f"np.{ufunc.__name__} with {', '.join(options)}")
        if ufunc.__name__ in COMPARISONS:
            return ufunc(*(x.value if isinstance(x, Dual) else x for x in inputs))
        rule = RULES.get(ufunc.__name__)
        if rule is None:
            raise unsupported(f"np.{ufunc.__name__}")
        return rule(*(as_dual(x) for x in inputs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        rule = FUNCTIONS.get(function.__name__)
        if rule is None:
            raise unsupported(f"np.{function.__name__}", "is not an operation on each row, or cannot be differentiated")
        return rule(*args, **kwargs)

    def clip(self, low: Any = None, high: Any = None) -> Any:
        """Return the values limited to an interval, as ``np.clip``."""
        return clip(self, low, high)

    def astype(self, dtype: Any, copy: bool = True) -> Dual:
        """Return itself: dual numbers are float64."""
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise unsupported(f"score.{name}", "is not an operation on each row")

    def sum(self, axis: Any = None, keepdims: bool = False) -> Dual:
        """Return the sum over the classes of each row (``axis=1``)."""
        self._check_axis("sum", axis)
        n_classes = self.shape[1]
        parts = (
            part * float(n_classes) if isinstance(part, float) else np.sum(part, axis=1, keepdims=keepdims)
            for part in (self.value, self.first, self.second)
        )
        return Dual(*parts)

    def max(self, axis: Any = None, keepdims: bool = False) -> Dual:
        """Return the largest value among the classes of each row (``axis=1``)."""
        self._check_axis("max", axis)
        largest = np.argmax(self.value, axis=1)
        return self[np.arange(len(self)), largest][:, None] if keepdims else self[np.arange(len(self)), largest]

    def _check_axis(self, operation: str, axis: Any) -> None:
        if self.ndim != 2 or axis not in (1, -1):
            given = f"np.{operation} or score.{operation} with axis={axis}"
            raise unsupported(given, "combines rows, but the loss of a row may not depend on others")

    def __getitem__(self, key: Any) -> Any:
        keys = key if isinstance(key, tuple) else (key,)
        is_column = self.ndim == 1 and len(keys) == 2 and keys[0] == slice(None) and keys[1] is None
        if not is_column and not (self.ndim == 2 and len(keys) == 2 and _selects_all_rows(keys[0], len(self))):
            raise unsupported("score[...]", "selects rows; use np.where(condition, a, b)")
        return Dual(
            *(part if isinstance(part, float) else part[keys] for part in (self.value, self.first, self.second))
        )

    def __setitem__(self, key: Any, value: Any) -> None:
        raise unsupported("score[...] = ...", "assigns rows; use np.where(condition, a, b)")

    def __bool__(self) -> bool:
        raise unsupported("'if' or 'and'", "makes one decision for all rows; use np.where(condition, a, b)")

    def __float__(self) -> float:
        raise unsupported(
            "float() or a function of math", "takes one number, the score is an array; use NumPy's function"
        )

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise unsupported("np.asarray(score) or a function that calls it", "loses the derivatives")

    def __iter__(self) -> Any:
        raise unsupported("a loop over rows", "is not recorded; use operations on whole arrays")


def _selects_all_rows(key: Any, n_rows: int) -> bool:
    """Return whether the first index of ``score[rows, classes]`` keeps every row in its place."""
    if isinstance(key, slice):
        return key == slice(None)
    return isinstance(key, np.ndarray) and np.array_equal(key, np.arange(n_rows))


def _unary(derivatives: Callable[[Any], Derivatives]) -> Callable[[Dual], Dual]:
    def rule(x: Dual) -> Dual:
        value, d1, d2 = derivatives(x.value)
        second = plus(times(d2, times(x.first, x.first)), times(d1, x.second))
        return Dual(value, times(d1, x.first), second)

    return rule


def _add(a: Dual, b: Dual) -> Dual:
    return Dual(np.add(a.value, b.value), plus(a.first, b.first), plus(a.second, b.second))


def _subtract(a: Dual, b: Dual) -> Dual:
    return Dual(np.subtract(a.value, b.value), plus(a.first, -b.first), plus(a.second, -b.second))


def _multiply(a: Dual, b: Dual) -> Dual:
    first = plus(times(a.first, b.value), times(a.value, b.first))
    both = times(2.0, times(a.first, b.first))
    second = plus(plus(times(a.second, b.value), both), times(a.value, b.second))
    return Dual(np.multiply(a.value, b.value), first, second)


def _divide(a: Dual, b: Dual) -> Dual:
    value = np.divide(a.value, b.value)
    first = over(plus(a.first, -times(value, b.first)), b.value)
    both = times(2.0, times(first, b.first))
    second = over(plus(a.second, -plus(both, times(value, b.second))), b.value)
    return Dual(value, first, second)


def _power(base: Dual, exponent: Dual) -> Dual:
    if not _is_constant(exponent):
        return RULES["exp"](_multiply(exponent, RULES["log"](base)))
    p = exponent.value
    if isinstance(p, float):
        if p == 0.0 or p == 1.0:
            return base if p == 1.0 else Dual(np.ones(base.shape))
        d1 = times(p, base.value if p == 2.0 else np.power(base.value, p - 1.0))
        d2 = times(p * (p - 1.0), 1.0 if p == 2.0 else base.value if p == 3.0 else np.power(base.value, p - 2.0))
    else:
        d1 = p * np.power(base.value, p - 1.0)
        d2 = p * (p - 1.0) * np.power(base.value, p - 2.0)
    return _unary(lambda x: (np.power(x, p), d1, d2))(base)


def choose(condition: Any, a: Dual, b: Dual, value: Any = None) -> Dual:
    """Return a where ``condition`` is true, else b; ``value`` is the value of the result, if it is known."""

    def pick(x: Any, y: Any) -> Any:
        return x if isinstance(x, float) and isinstance(y, float) and x == y else np.where(condition, x, y)

    value = pick(a.value, b.value) if value is None else value
    return Dual(value, pick(a.first, b.first), pick(a.second, b.second))


def _logaddexp(a: Dual, b: Dual) -> Dual:
    p = sigmoid(a.value - b.value)
    q = 1.0 - p
    difference = plus(a.first, -b.first)
    first = plus(times(p, a.first), times(q, b.first))
    curvature = times(p * q, times(difference, difference))
    second = plus(plus(times(p, a.second), times(q, b.second)), curvature)
    return Dual(np.logaddexp(a.value, b.value), first, second)


def _is_constant(x: Dual) -> bool:
    return all(isinstance(part, float) and part == 0.0 for part in (x.first, x.second))


def as_dual(x: Any) -> Dual:
    """Return a plain value as a dual number with derivatives 0; booleans and integers become floats."""
    if isinstance(x, Dual):
        return x
    if isinstance(x, (np.ndarray, list, tuple)):
        return Dual(np.asarray(x, dtype=np.float64))
    return Dual(float(x)) if isinstance(x, (bool, int, float, np.generic)) else Dual(x)


def where(condition: Any, *branches: Any) -> Any:
    """Implement ``np.where`` with three arguments."""
    if len(branches) != 2:
        raise unsupported("np.where with one argument", "selects rows; pass three arguments")
    condition = condition.value if isinstance(condition, Dual) else condition
    return choose(condition, as_dual(branches[0]), as_dual(branches[1]))


def clip(x: Any, a_min: Any = None, a_max: Any = None, **options: Any) -> Any:
    """Implement ``np.clip``."""
    low, high = options.get("min", a_min), options.get("max", a_max)
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def select(conditions: Any, choices: Any, default: Any = 0) -> Any:
    """Implement ``np.select``."""
    result = default
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        result = where(condition, choice, result)
    return result


COMPARISONS = frozenset(
    {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "isnan", "isfinite", "isinf", "signbit"}
)

RULES: dict[str, Callable[..., Dual]] = {
    **{name: _unary(derivatives) for name, derivatives in DERIVATIVES.items()},
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "true_divide": _divide,
    "power": _power,
    "float_power": _power,
    "logaddexp": _logaddexp,
    "maximum": lambda a, b: choose(np.greater_equal(a.value, b.value), a, b, np.maximum(a.value, b.value)),
    "minimum": lambda a, b: choose(np.less_equal(a.value, b.value), a, b, np.minimum(a.value, b.value)),
    "hypot": lambda a, b: RULES["sqrt"](_add(_multiply(a, a), _multiply(b, b))),
    "log2": lambda x: _multiply(RULES["log"](x), Dual(1.4426950408889634)),
    "log10": lambda x: _multiply(RULES["log"](x), Dual(0.4342944819032518)),
    "exp2": lambda x: RULES["exp"](_multiply(x, Dual(0.6931471805599453))),
    "sinh": lambda x: 0.5 * (RULES["exp"](x) - RULES["exp"](-x)),
    "cosh": lambda x: 0.5 * (RULES["exp"](x) + RULES["exp"](-x)),
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "where": where,
    "clip": clip,
    "select": select,
    "sum": lambda x, axis=None, keepdims=False: x.sum(axis, keepdims),
    "max": lambda x, axis=None, keepdims=False: x.max(axis, keepdims),
    "amax": lambda x, axis=None, keepdims=False: x.max(axis, keepdims),
    "zeros_like": lambda x, *_, **__: np.zeros(len(x)),
    "ones_like": lambda x, *_, **__: np.ones(len(x)),
    "full_like": lambda x, value, *_, **__: np.full(len(x), value, dtype=np.float64),
}
