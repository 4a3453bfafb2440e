"""Exponential, logarithm and related functions on float64, by polynomials, so that results do not depend on libm.

Arguments are reduced without branches and without conversions between floats and integers, so that loops over these
functions are vectorised. Infinities, NaN, zeros and denormals follow IEEE; exp, expm1, log and log1p are within one
unit in the last place, functions composed of them within a few.
"""

from __future__ import annotations

from sapwood.native.runtime.intrinsics import bits_float, float_bits
from sapwood.native.runtime.kernel import kernel

# Adding 1.5 * 2^52 rounds to the nearest integer, which then stands in the low bits of the sum.
ROUNDER = 6755399441055744.0

LOG2_E = 1.4426950408889634
# ln 2 in two parts; the first has 38 bits, so that its product with an exponent is exact.
LN2_HIGH = 0.6931471805582987
LN2_LOW = 1.6465949582897082e-12
# (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2, the highest power first.
EXP_TERMS = (
    2.09147553258932e-09, 2.5105312729622103e-08, 2.755727347871858e-07, 2.755725517000089e-06, 2.480158732567746e-05,
    0.0001984126987500228, 0.0013888888888883711, 0.008333333333326084, 0.04166666666666667, 0.1666666666666667, 0.5,
)  # fmt: skip

SMALLEST_NORMAL = 2.2250738585072014e-308
TWO_54 = 18014398509481984.0
# Bits that bring the significand of a float into [sqrt(1/2), sqrt(2)) when its exponent is read off after adding them.
TO_SQRT_HALF = 0x3FF0000000000000 - 0x3FE6A09E667F3BCD
TWO_52_BITS = 0x4330000000000000
TWO_52_AND_BIAS = 4503599627370496.0 + 1023.0
NOT_A_NUMBER = float("nan")
INFINITY = float("inf")


@kernel()
def power_of_two(rounded):
    """Return 2^k where ``rounded`` = ``ROUNDER`` + k, for -1022 <= k <= 1023."""
    return bits_float((float_bits(rounded) + 1023) << 52)


@kernel()
def exp_tail(r, correction):
    """Return exp(r) - 1 - r + ``correction`` for |r| <= ln(2) / 2."""
    p = EXP_TERMS[0]
    p = p * r + EXP_TERMS[1]
    p = p * r + EXP_TERMS[2]
    p = p * r + EXP_TERMS[3]
    p = p * r + EXP_TERMS[4]
    p = p * r + EXP_TERMS[5]
    p = p * r + EXP_TERMS[6]
    p = p * r + EXP_TERMS[7]
    p = p * r + EXP_TERMS[8]
    p = p * r + EXP_TERMS[9]
    p = p * r + EXP_TERMS[10]
    return correction + r * r * p


@kernel()
def exp_reduced(x, k):
    """Return e^x / 2^k for the integer k nearest to x / ln(2)."""
    high = x - k * LN2_HIGH
    low = k * LN2_LOW
    r = high - low
    return 1.0 + (r + exp_tail(r, (high - r) - low))


@kernel()
def exp(x):
    """Return e^x."""
    clamped = x if x > -746.0 else -746.0
    clamped = clamped if clamped < 710.0 else 710.0
    k = (clamped * LOG2_E + ROUNDER) - ROUNDER
    y = exp_reduced(clamped, k)
    # Two factors, since 2^k alone may overflow or be denormal.
    half = k * 0.5 + ROUNDER
    rest = (k - (half - ROUNDER)) + ROUNDER
    y = y * power_of_two(half) * power_of_two(rest)
    return y if x == x else x


@kernel()
def exp_nonpositive(x):
    """Return e^x for x <= 0; e^-700 below -700, which vanishes beside 1 as well."""
    clamped = -700.0 if x < -700.0 else x
    rounded = clamped * LOG2_E + ROUNDER
    return exp_reduced(clamped, rounded - ROUNDER) * power_of_two(rounded)


@kernel()
def exp_nonpositive_pair(x, z):
    """Return ``exp_nonpositive`` of x and of z, interleaved: each is a long chain of dependent operations."""
    cx = -700.0 if x < -700.0 else x
    cz = -700.0 if z < -700.0 else z
    nx = cx * LOG2_E + ROUNDER
    nz = cz * LOG2_E + ROUNDER
    kx = nx - ROUNDER
    kz = nz - ROUNDER
    hx = cx - kx * LN2_HIGH
    hz = cz - kz * LN2_HIGH
    lx = kx * LN2_LOW
    lz = kz * LN2_LOW
    rx = hx - lx
    rz = hz - lz
    p, q = EXP_TERMS[0], EXP_TERMS[0]
    p, q = p * rx + EXP_TERMS[1], q * rz + EXP_TERMS[1]
    p, q = p * rx + EXP_TERMS[2], q * rz + EXP_TERMS[2]
    p, q = p * rx + EXP_TERMS[3], q * rz + EXP_TERMS[3]
    p, q = p * rx + EXP_TERMS[4], q * rz + EXP_TERMS[4]
    p, q = p * rx + EXP_TERMS[5], q * rz + EXP_TERMS[5]
    p, q = p * rx + EXP_TERMS[6], q * rz + EXP_TERMS[6]
    p, q = p * rx + EXP_TERMS[7], q * rz + EXP_TERMS[7]
    p, q = p * rx + EXP_TERMS[8], q * rz + EXP_TERMS[8]
    p, q = p * rx + EXP_TERMS[9], q * rz + EXP_TERMS[9]
    p, q = p * rx + EXP_TERMS[10], q * rz + EXP_TERMS[10]
    p = ((hx - rx) - lx) + rx * rx * p
    q = ((hz - rz) - lz) + rz * rz * q
    return (1.0 + (rx + p)) * power_of_two(nx), (1.0 + (rz + q)) * power_of_two(nz)


@kernel()
def expm1(x):
    """Return e^x - 1 without cancellation near 0."""
    clamped = x if x > -50.0 else -50.0
    clamped = clamped if clamped < 710.0 else 710.0
    k = (clamped * LOG2_E + ROUNDER) - ROUNDER
    high = clamped - k * LN2_HIGH
    low = k * LN2_LOW
    r = high - low
    tail = exp_tail(r, (high - r) - low)
    # Half of the result, 2^(k-1) (1 + r + tail) - 1/2, the first sum with its rounding error, since 2^k may overflow.
    scale = power_of_two((k - 1.0) + ROUNDER)
    a = scale - 0.5
    b = scale * r
    total = a + b
    part = total - a
    error = (a - (total - part)) + (b - part)
    y = 2.0 * (total + (error + scale * tail))
    y = x if abs(x) < SMALLEST_NORMAL * 2.0 else y
    return y if x == x else x


@kernel()
def log_scaled(x, denormal_shift, correction):
    """Return log(x) + ``denormal_shift`` * ln 2 + ``correction`` for normal x > 0."""
    bits = float_bits(x) + TO_SQRT_HALF
    biased = (bits >> 52) & 0x7FF
    k = (bits_float(biased | TWO_52_BITS) - TWO_52_AND_BIAS) + denormal_shift
    f = bits_float(float_bits(x) - ((biased - 1023) << 52)) - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = 0.14617807153417325
    p = p * z + 0.15331611722055008
    p = p * z + 0.1818289243253687
    p = p * z + 0.22222211089379496
    p = p * z + 0.28571428626253836
    p = p * z + 0.3999999999989889
    p = p * z + 0.666666666666667
    half_square = 0.5 * f * f
    return k * LN2_HIGH - ((half_square - (s * (half_square + z * p) + (k * LN2_LOW + correction))) - f)


@kernel()
def log(x):
    """Return the natural logarithm; -inf at 0 and NaN below."""
    tiny = x < SMALLEST_NORMAL
    y = log_scaled(x * TWO_54 if tiny else x, -54.0 if tiny else 0.0, 0.0)
    y = y if x < INFINITY else x
    y = y if x > 0.0 else (-INFINITY if x == 0.0 else NOT_A_NUMBER)
    return y if x == x else x


@kernel()
def log1p(x):
    """Return log(1 + x) without cancellation near 0."""
    u = 1.0 + x
    part = u - 1.0
    lost = (1.0 - (u - part)) + (x - part)
    y = log_scaled(u, 0.0, lost / u)
    y = y if x < INFINITY else x
    y = y if u > 0.0 else (-INFINITY if u == 0.0 else NOT_A_NUMBER)
    y = x if x == 0.0 else y
    return y if x == x else x


@kernel()
def sigmoid(x):
    """Return 1 / (1 + e^-x)."""
    e = exp(-abs(x))
    return (1.0 if x >= 0.0 else e) / (1.0 + e)


@kernel()
def softplus(x):
    """Return log(1 + e^x)."""
    return (x if x > 0.0 else 0.0) + log1p(exp(-abs(x)))


@kernel()
def tanh(x):
    """Return the hyperbolic tangent."""
    t = expm1(-2.0 * abs(x))
    y = t / (t + 2.0)
    y = y if x < 0.0 else -y
    return x if x == 0.0 else y


@kernel()
def log_cosh(x):
    """Return log(cosh(x)) without cancellation near 0 or overflow far from it."""
    a = abs(x)
    near = a if a < 20.0 else 20.0
    e = expm1(near)
    return log1p(e * e / (2.0 * (1.0 + e))) + (a - near)
