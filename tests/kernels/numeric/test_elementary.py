"""The elementary functions against arbitrary precision."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from sapwood.kernels.numeric import elementary, elementwise

TINY = 5e-324
EXACT = {
    "exp": mpmath.exp,
    "expm1": mpmath.expm1,
    "log": lambda x: mpmath.log(x) if x > 0 else mpmath.mpf("-inf") if x == 0 else mpmath.mpf("nan"),
    "log1p": lambda x: mpmath.log1p(x) if x > -1 else mpmath.mpf("-inf") if x == -1 else mpmath.mpf("nan"),
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "tanh": mpmath.tanh,
    "log_cosh": lambda x: mpmath.log(mpmath.cosh(x)),
}
ULPS = {"exp": 1, "expm1": 1, "log": 1, "log1p": 1, "sigmoid": 2, "softplus": 2, "tanh": 3, "log_cosh": 4}


def apply(name, values):
    values = np.asarray(values, dtype=np.float64)
    out = np.full(values.shape, 777.0)
    getattr(elementwise, f"{name}_values")(values, out)
    return out


def ulps_off(value, exact):
    if math.isinf(value):
        return 0.0 if abs(exact) > 1.797693134862315e308 and (exact > 0) == (value > 0) else math.inf
    return abs(float((mpmath.mpf(float(value)) - exact) / mpmath.mpf(math.ulp(float(exact)))))


def draw(name, n):
    random = np.random.default_rng(7)
    wide = np.exp(random.uniform(-745, 709, n // 3))
    if name == "log":
        return np.concatenate([wide, random.uniform(0.5, 2, n // 3), 1 + random.normal(size=n // 3) * 1e-6])
    small = np.exp(random.uniform(-60, 1, n // 3)) * random.choice([-1.0, 1.0], n // 3)
    if name == "log1p":
        return np.concatenate([wide, small[small > -1], random.uniform(-1, 4, n // 3)])
    return np.concatenate([random.uniform(-745, 709, n // 3), small, random.uniform(-5, 5, n // 3)])


@pytest.mark.parametrize("name", EXACT)
def test_results_are_within_a_few_units_in_the_last_place(name):
    values = draw(name, 3000)
    with mpmath.workprec(1200 if name == "log_cosh" else 200):
        exact = [EXACT[name](mpmath.mpf(float(x))) for x in values]
        off = [ulps_off(a, b) for a, b in zip(apply(name, values), exact, strict=True)]
    worst = int(np.argmax(off))
    assert off[worst] <= ULPS[name], f"{name}({values[worst]!r}) is {off[worst]:.2f} ulp off"


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("exp", [0.0, -0.0, np.inf, -np.inf, 710.0, -746.0, -745.13, 1e308, -1e308, TINY],
         [1.0, 1.0, np.inf, 0.0, np.inf, 0.0, TINY, np.inf, 0.0, 1.0]),
        ("expm1", [0.0, -0.0, np.inf, -np.inf, 710.0, -746.0, TINY, -TINY, 1e-200],
         [0.0, -0.0, np.inf, -1.0, np.inf, -1.0, TINY, -TINY, 1e-200]),
        ("log", [1.0, 0.0, -0.0, np.inf, -1.0, -np.inf, -TINY],
         [0.0, -np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan]),
        ("log1p", [0.0, -0.0, -1.0, -1.5, np.inf, -np.inf, TINY, -TINY, 1e-200],
         [0.0, -0.0, -np.inf, np.nan, np.inf, np.nan, TINY, -TINY, 1e-200]),
        ("sigmoid", [0.0, np.inf, -np.inf, 800.0, -800.0, -745.13], [0.5, 1.0, 0.0, 1.0, 0.0, TINY]),
        ("softplus", [np.inf, -np.inf, 800.0, -800.0, 0.0], [np.inf, 0.0, 800.0, 0.0, math.log(2)]),
        ("tanh", [0.0, -0.0, np.inf, -np.inf, 30.0, -30.0, TINY], [0.0, -0.0, 1.0, -1.0, 1.0, -1.0, TINY]),
        ("log_cosh", [0.0, -0.0, 1000.0, -1e308], [0.0, 0.0, 1000.0 - math.log(2), 1e308]),
    ],
)  # fmt: skip
def test_special_values_follow_ieee(name, values, expected):
    got = apply(name, values)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(np.asarray(expected)[got == 0]))


@pytest.mark.parametrize("name", EXACT)
def test_nan_stays_nan(name):
    assert np.isnan(apply(name, [np.nan])).all()


def test_denormals_have_a_logarithm():
    np.testing.assert_allclose(apply("log", [TINY, 1e-310]), [math.log(TINY), math.log(1e-310)], rtol=1e-15)


def test_overflow_and_underflow_begin_where_they_must():
    last = 709.782712893384
    low = -745.1332191019411
    got = apply("exp", [last, np.nextafter(last, 800), low, np.nextafter(low, -800)])
    assert np.isfinite(got[0])
    assert got[1] == np.inf
    assert got[2] == TINY
    assert got[3] == 0.0


@pytest.mark.parametrize("name", EXACT)
def test_compiled_code_gives_the_bits_of_plain_python(name):
    values = np.concatenate([draw(name, 600), [0.0, -0.0, np.inf, -np.inf, np.nan, TINY, -TINY, 1e308]])
    plain = np.empty_like(values)
    with np.errstate(all="ignore"):
        getattr(elementwise, f"{name}_values").function(0, 1, None, values, plain)
    np.testing.assert_array_equal(plain.view(np.int64), apply(name, values).view(np.int64))


@pytest.mark.parametrize("name", EXACT)
def test_members_of_a_team_share_the_rows(name):
    values = draw(name, 90)
    out = np.full(values.shape, 777.0)
    with np.errstate(all="ignore"):
        for member in range(3):
            getattr(elementwise, f"{name}_values").function(member, 3, None, values, out)
    np.testing.assert_array_equal(out.view(np.int64), apply(name, values).view(np.int64))


def test_the_exponential_of_what_is_below_zero_has_the_same_bits():
    values = -np.minimum(np.random.default_rng(4).exponential(60.0, 400), 700.0)
    for x in [*values, 0.0, -0.0, -700.0]:
        assert elementary.exp_nonpositive(x) == elementary.exp(x)
    assert elementary.exp_nonpositive(-1e300) == elementary.exp(-700.0)
    assert math.isnan(elementary.exp_nonpositive(math.nan))
