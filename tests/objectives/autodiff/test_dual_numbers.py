"""Automatic differentiation, against arbitrary precision."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.objectives.autodiff.dual_numbers import Dual

Y = np.array([0.3, -1.2, 2.0])
F = np.array([0.7, 0.4, -0.9])

# Names of functions in NumPy and mpmath, and how they are made to fit any argument.
UNARY = ["exp", "tanh", "sin", "cos", "log", "log1p", "expm1", "sqrt", "reciprocal", "square", "arctan"]
BINARY = ["add", "subtract", "multiply", "divide", "logaddexp", "power", "hypot"]
MPMATH = {
    "arctan": mpmath.atan,
    "reciprocal": lambda x: 1 / x,
    "square": lambda x: x * x,
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "power": lambda a, b: a**b,
    "logaddexp": lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)),
}
NEEDS_POSITIVE = {"log", "sqrt", "reciprocal", "log1p"}


def function(name, exact):
    return MPMATH.get(name) or getattr(mpmath, name) if exact else getattr(np, name)


def evaluate(tree, y, f, exact):
    """Evaluate a random expression with NumPy or mpmath; arguments are brought into range by smooth steps."""
    if tree == "y":
        return y
    if tree == "f":
        return f
    if isinstance(tree, float):
        return tree
    name, *parts = tree
    parts = [evaluate(part, y, f, exact) for part in parts]
    tanh = function("tanh", exact)
    if name in NEEDS_POSITIVE:
        return function(name, exact)(1.5 + tanh(parts[0]))
    if name in ("exp", "expm1", "square"):
        return function(name, exact)(2 * tanh(parts[0]))
    if name in ("divide", "power", "hypot"):  # hypot has a corner at (0, 0)
        parts = [1.5 + tanh(parts[0]), 1.5 + tanh(parts[1])]
    return function(name, exact)(*parts)


EXPRESSIONS = st.recursive(
    st.sampled_from(["y", "f", "f", 0.5, 2.0]),
    lambda inner: st.one_of(st.tuples(st.sampled_from(UNARY), inner), st.tuples(st.sampled_from(BINARY), inner, inner)),
    max_leaves=8,
)


@settings(max_examples=150)
@given(EXPRESSIONS, st.floats(-2, 2), st.floats(-2, 2))
def test_both_derivatives_of_random_expressions(tree, y, f):
    with np.errstate(all="ignore"):
        got = evaluate(tree, np.array([y]), Dual(np.array([f]), 1.0, 0.0), exact=False)
    if not isinstance(got, Dual):
        return
    with mpmath.workdps(60):
        y, f = mpmath.mpf(y), mpmath.mpf(f)
        exact = [mpmath.diff(lambda x: evaluate(tree, y, x, exact=True), f, order) for order in range(3)]
    for part, expected in zip((got.value, got.first, got.second), exact, strict=True):
        assert np.broadcast_to(part, 1)[0] == pytest.approx(float(expected), rel=1e-7, abs=1e-7)


@pytest.mark.parametrize(
    ("loss", "first", "second"),
    [
        (lambda y, f: np.abs(y - f), np.sign(F - Y), 0 * F),
        (lambda y, f: np.maximum(f, y), F > Y, 0 * F),
        (lambda y, f: np.minimum(f, y), F < Y, 0 * F),
        (lambda y, f: np.where(y > 0, f**2, 3 * f), np.where(Y > 0, 2 * F, 3), np.where(Y > 0, 2, 0)),
        (lambda y, f: np.where(f > 0, f**3, f), np.where(F > 0, 3 * F**2, 1), np.where(F > 0, 6 * F, 0)),
        (lambda y, f: np.clip(f, -0.5, 0.5) * 1.0, np.abs(F) < 0.5, 0 * F),
        (lambda y, f: f.clip(0, None), F > 0, 0 * F),
        (lambda y, f: np.select([y > 1, y > 0], [f, 2 * f], 3 * f), [2.0, 3.0, 1.0], 0 * F),
        (lambda y, f: (f > y) * (f - y) ** 2, 2 * np.maximum(F - Y, 0), np.where(F > Y, 2, 0)),
        (lambda y, f: ((f > y) & (f > 0)) * f, [1.0, 1.0, 0.0], 0 * F),
        (lambda y, f: f / 4 + y, 0 * F + 0.25, 0 * F),
        (lambda y, f: 1 / f, -1 / F**2, 2 / F**3),
        (lambda y, f: f**-2, -2 / F**3, 6 / F**4),
        (lambda y, f: 2.0**f, 2**F * math.log(2), 2**F * math.log(2) ** 2),
        (lambda y, f: np.exp2(f), 2**F * math.log(2), 2**F * math.log(2) ** 2),
        (lambda y, f: np.cosh(f), np.sinh(F), np.cosh(F)),
        (lambda y, f: np.sinh(f), np.cosh(F), np.sinh(F)),
        (lambda y, f: np.sign(f) * f, np.sign(F), 0 * F),
        (lambda y, f: +f - -f, 2 + 0 * F, 0 * F),
        (lambda y, f: f * np.ones_like(f), 1 + 0 * F, 0 * F),
    ],
)
def test_derivatives_of_losses_with_corners(loss, first, second):
    got = loss(Y, Dual(F, 1.0, 0.0))
    np.testing.assert_allclose(np.broadcast_to(got.first, 3), first, rtol=1e-12)
    np.testing.assert_allclose(np.broadcast_to(got.second, 3), second, rtol=1e-12, atol=1e-300)


def test_adding_in_place_binds_anew():
    score = Dual(F, 1.0, 0.0)
    total = score
    total += 1.0
    np.testing.assert_array_equal(score.value, F)
    np.testing.assert_array_equal(total.value, F + 1)


@pytest.mark.parametrize(
    ("loss", "named"),
    [
        (lambda y, f: np.sum(f), "np.sum"),
        (lambda y, f: np.mean(f - y), "np.mean"),
        (lambda y, f: f.sum(), "score.sum"),
        (lambda y, f: f - f.mean(), "score.mean"),
        (lambda y, f: np.add.reduce(f), "np.add.reduce"),
        (lambda y, f: np.floor(f), "np.floor"),
        (lambda y, f: np.sort(f), "np.sort"),
        (lambda y, f: np.cumsum(f), "np.cumsum"),
        (lambda y, f: f[y > 0], "np.where"),
        (lambda y, f: np.where(f), "np.where"),
        (lambda y, f: f if f else y, "np.where"),
        (lambda y, f: math.exp(f), "math"),
        (lambda y, f: [x for x in f], "loop"),  # noqa: C416
        (lambda y, f: np.asarray(f), "np.asarray"),
        (lambda y, f: np.exp(f, where=y > 0), "np.exp with where"),
    ],
)
def test_what_cannot_be_differentiated_is_named(loss, named):
    with pytest.raises(ParameterError, match=named) as raised:
        loss(Y, Dual(F, 1.0, 0.0))
    assert "GradientLoss" in str(raised.value)
