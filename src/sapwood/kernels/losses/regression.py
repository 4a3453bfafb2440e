"""Gradient pairs and values of the losses for targets on the whole line.

Every loss has two kernels: ``*_pairs`` writes gradient and hessian in the score F, ``*_loss`` the loss of each row.
``numbers`` are the settings of the loss. Where the loss has corners or its curvature vanishes, the hessian is a
surrogate, always above 0.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import log_cosh, tanh
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

PAIRS = "f64[:], f64[:,:], f64[:], f32[:,:]"
LOSS = "f64[:], f64[:,:], f64[:], f64[:]"

# Near the largest float32; what exceeds it would become infinite in a pair.
LARGEST = 3e38


@kernel()
def narrow(x):
    """Round to float32, what is too large to the largest."""
    x = LARGEST if x > LARGEST else x
    x = -LARGEST if x < -LARGEST else x
    return np.float32(x)


@kernel()
def put(out, k, i, gradient, hessian):
    """Write the pair of output k and row i; pairs lie one after the other in ``out[k]``, a step the compiler knows."""
    first = np.uint64(2) * np.uint64(i)
    out[k, first] = narrow(gradient)
    out[k, first + np.uint64(1)] = narrow(hessian)


@kernel()
def sign(x):
    """-1, 0 or 1; NaN for NaN."""
    s = 1.0 if x > 0.0 else x
    return -1.0 if x < 0.0 else s


@kernel(PAIRS)
def squared_pairs(member, members, sync, y, scores, numbers, out):
    """(F - y)^2 / 2."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        put(out, 0, i, scores[0, i] - y[i], 1.0)


@kernel(LOSS)
def squared_loss(member, members, sync, y, scores, numbers, out):
    """(F - y)^2 / 2."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        out[i] = 0.5 * r * r


@kernel(PAIRS)
def absolute_pairs(member, members, sync, y, scores, numbers, out):
    """|F - y|, curvature replaced by 1."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        put(out, 0, i, sign(scores[0, i] - y[i]), 1.0)


@kernel(LOSS)
def absolute_loss(member, members, sync, y, scores, numbers, out):
    """|F - y|."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = abs(scores[0, i] - y[i])


@kernel(PAIRS)
def huber_pairs(member, members, sync, y, scores, numbers, out):
    """Squared up to a residual of delta, straight beyond; curvature 2 delta / (delta + |r|) there.

    That is the harmonic mean of 1 and of delta / |r|, the curvature of the parabola through the loss: steps that do
    not overshoot, and grow with the residual however small delta is.
    """
    n = y.shape[0]
    delta = numbers[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        far = abs(r) > delta
        middle = 0.5 * delta + 0.5 * abs(r)  # halved first: their sum might overflow
        put(out, 0, i, delta * sign(r) if far else r, delta / middle if far else 1.0)


@kernel(LOSS)
def huber_loss(member, members, sync, y, scores, numbers, out):
    """r^2 / 2 up to |r| = delta, delta (|r| - delta / 2) beyond."""
    n = y.shape[0]
    delta = numbers[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = abs(scores[0, i] - y[i])
        out[i] = delta * (r - 0.5 * delta) if r > delta else 0.5 * r * r


@kernel(PAIRS)
def quantile_pairs(member, members, sync, y, scores, numbers, out):
    """One output per level a: a (y - F) above the score, (1 - a) (F - y) below, curvature replaced by 1."""
    n = y.shape[0]
    for k in range(numbers.shape[0]):
        level = numbers[k]
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            r = scores[k, i] - y[i]
            g = 1.0 - level if r > 0.0 else r
            put(out, k, i, -level if r < 0.0 else g, 1.0)


@kernel(LOSS)
def quantile_loss(member, members, sync, y, scores, numbers, out):
    """Mean over the levels a of a (y - F) above the score, (1 - a) (F - y) below."""
    n = y.shape[0]
    n_levels = numbers.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        total = 0.0
        for k in range(n_levels):
            r = scores[k, i] - y[i]
            total += (1.0 - numbers[k]) * r if r > 0.0 else -numbers[k] * r
        out[i] = total / n_levels


@kernel(PAIRS)
def expectile_pairs(member, members, sync, y, scores, numbers, out):
    """Squared error, weighted by the level above the score and by one minus it below."""
    n = y.shape[0]
    level = numbers[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        w = 1.0 - level if r > 0.0 else level
        put(out, 0, i, w * r, w)


@kernel(LOSS)
def expectile_loss(member, members, sync, y, scores, numbers, out):
    """w r^2 / 2, w the level above the score and one minus it below."""
    n = y.shape[0]
    level = numbers[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        w = 1.0 - level if r > 0.0 else level
        out[i] = 0.5 * w * r * r


@kernel(PAIRS)
def log_cosh_pairs(member, members, sync, y, scores, numbers, out):
    """log(cosh(F - y)), curvature that of the parabola through the loss, which does not vanish for large residuals."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        t = tanh(r)
        put(out, 0, i, t, t / r if abs(r) > 1e-10 else 1.0)


@kernel(LOSS)
def log_cosh_loss(member, members, sync, y, scores, numbers, out):
    """log(cosh(F - y))."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = log_cosh(scores[0, i] - y[i])


@kernel(PAIRS)
def mape_pairs(member, members, sync, y, scores, numbers, out):
    """|F - y| / |y|, curvature replaced by 1 / |y|."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        w = 1.0 / abs(y[i])
        put(out, 0, i, w * sign(scores[0, i] - y[i]), w)


@kernel(LOSS)
def mape_loss(member, members, sync, y, scores, numbers, out):
    """|F - y| / |y|."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = abs(scores[0, i] - y[i]) / abs(y[i])
