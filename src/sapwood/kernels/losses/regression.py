"""Gradient pairs and values of regression losses.

Where a loss is not differentiable or its curvature vanishes, the hessian is replaced by a surrogate above 0.
"""

from __future__ import annotations

from sapwood.kernels.losses.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.numeric.elementary import log_cosh, tanh
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel


@kernel()
def sign(x):
    """Return -1, 0 or 1; NaN for NaN."""
    s = 1.0 if x > 0.0 else x
    return -1.0 if x < 0.0 else s


@kernel(PAIRS)
def squared_pairs(member, members, sync, y, scores, params, out):
    """(F - y)^2 / 2."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        store_pair(out, 0, i, scores[0, i] - y[i], 1.0)


@kernel(LOSS)
def squared_loss(member, members, sync, y, scores, params, out):
    """(F - y)^2 / 2."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        out[i] = 0.5 * r * r


@kernel(PAIRS)
def absolute_pairs(member, members, sync, y, scores, params, out):
    """|F - y|, curvature replaced by 1."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        store_pair(out, 0, i, sign(scores[0, i] - y[i]), 1.0)


@kernel(LOSS)
def absolute_loss(member, members, sync, y, scores, params, out):
    """|F - y|."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = abs(scores[0, i] - y[i])


@kernel(PAIRS)
def huber_pairs(member, members, sync, y, scores, params, out):
    """Squared up to a residual of delta, linear beyond, with the curvature 2 delta / (delta + |r|) there.

    That is the harmonic mean of 1 and of delta / |r|, the curvature of the parabola through the loss: steps that do
    not overshoot, and grow with the residual however small delta is.
    """
    n = y.shape[0]
    delta = params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        is_linear = abs(r) > delta
        mean = 0.5 * delta + 0.5 * abs(r)  # halved first: their sum might overflow
        store_pair(out, 0, i, delta * sign(r) if is_linear else r, delta / mean if is_linear else 1.0)


@kernel(LOSS)
def huber_loss(member, members, sync, y, scores, params, out):
    """r^2 / 2 up to |r| = delta, delta (|r| - delta / 2) beyond."""
    n = y.shape[0]
    delta = params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = abs(scores[0, i] - y[i])
        out[i] = delta * (r - 0.5 * delta) if r > delta else 0.5 * r * r


@kernel(PAIRS)
def quantile_pairs(member, members, sync, y, scores, params, out):
    """One output per quantile a: a (y - F) above the score, (1 - a) (F - y) below, curvature replaced by 1."""
    n = y.shape[0]
    for k in range(params.shape[0]):
        a = params[k]
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            r = scores[k, i] - y[i]
            g = 1.0 - a if r > 0.0 else r
            store_pair(out, k, i, -a if r < 0.0 else g, 1.0)


@kernel(LOSS)
def quantile_loss(member, members, sync, y, scores, params, out):
    """Mean over the quantiles a of a (y - F) above the score, (1 - a) (F - y) below."""
    n = y.shape[0]
    n_quantiles = params.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        total = 0.0
        for k in range(n_quantiles):
            r = scores[k, i] - y[i]
            total += (1.0 - params[k]) * r if r > 0.0 else -params[k] * r
        out[i] = total / n_quantiles


@kernel(PAIRS)
def expectile_pairs(member, members, sync, y, scores, params, out):
    """Squared error, weighted by the expectile a above the score and by 1 - a below."""
    n = y.shape[0]
    a = params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        w = 1.0 - a if r > 0.0 else a
        store_pair(out, 0, i, w * r, w)


@kernel(LOSS)
def expectile_loss(member, members, sync, y, scores, params, out):
    """w r^2 / 2, where w is the expectile a above the score and 1 - a below."""
    n = y.shape[0]
    a = params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        w = 1.0 - a if r > 0.0 else a
        out[i] = 0.5 * w * r * r


@kernel(PAIRS)
def log_cosh_pairs(member, members, sync, y, scores, params, out):
    """log(cosh(F - y)) with the curvature of the parabola through the loss, which vanishes for no residual."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - y[i]
        t = tanh(r)
        store_pair(out, 0, i, t, t / r if abs(r) > 1e-10 else 1.0)


@kernel(LOSS)
def log_cosh_loss(member, members, sync, y, scores, params, out):
    """log(cosh(F - y))."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = log_cosh(scores[0, i] - y[i])


@kernel(PAIRS)
def mape_pairs(member, members, sync, y, scores, params, out):
    """|F - y| / |y|, curvature replaced by 1 / |y|."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        w = 1.0 / abs(y[i])
        store_pair(out, 0, i, w * sign(scores[0, i] - y[i]), w)


@kernel(LOSS)
def mape_loss(member, members, sync, y, scores, params, out):
    """|F - y| / |y|."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = abs(scores[0, i] - y[i]) / abs(y[i])
