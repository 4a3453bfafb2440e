"""Gradient pairs and values of losses with a log link, for counts and positive targets."""

from __future__ import annotations

from sapwood.kernels.losses.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.numeric.elementary import exp, log1p
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel


@kernel(PAIRS)
def poisson_pairs(member, members, sync, y, scores, params, out):
    """e^F - y F."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        mean = exp(scores[0, i])
        store_pair(out, 0, i, mean - y[i], mean)


@kernel(LOSS)
def poisson_loss(member, members, sync, y, scores, params, out):
    """e^F - y F."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = exp(scores[0, i]) - y[i] * scores[0, i]


@kernel(PAIRS)
def gamma_pairs(member, members, sync, y, scores, params, out):
    """F + y e^-F."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        ratio = y[i] * exp(-scores[0, i])
        store_pair(out, 0, i, 1.0 - ratio, ratio)


@kernel(LOSS)
def gamma_loss(member, members, sync, y, scores, params, out):
    """F + y e^-F."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = scores[0, i] + y[i] * exp(-scores[0, i])


@kernel()
def tweedie_term(y, a, score):
    """Return y e^(a F), 0 where y is 0 whatever the score."""
    return y * exp(a * score) if y > 0.0 else 0.0


@kernel(PAIRS)
def tweedie_pairs(member, members, sync, y, scores, params, out):
    """e^(bF) / b - y e^(aF) / a with a = 1 - power and b = 2 - power."""
    n = y.shape[0]
    a = 1.0 - params[0]
    b = 2.0 - params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        down = tweedie_term(y[i], a, scores[0, i])
        up = exp(b * scores[0, i])
        store_pair(out, 0, i, up - down, b * up - a * down)


@kernel(LOSS)
def tweedie_loss(member, members, sync, y, scores, params, out):
    """e^(bF) / b - y e^(aF) / a with a = 1 - power and b = 2 - power."""
    n = y.shape[0]
    a = 1.0 - params[0]
    b = 2.0 - params[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = exp(b * scores[0, i]) / b - tweedie_term(y[i], a, scores[0, i]) / a


@kernel(PAIRS)
def msle_pairs(member, members, sync, y, scores, params, out):
    """(F - log(1 + y))^2 / 2."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        store_pair(out, 0, i, scores[0, i] - log1p(y[i]), 1.0)


@kernel(LOSS)
def msle_loss(member, members, sync, y, scores, params, out):
    """(F - log(1 + y))^2 / 2."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        r = scores[0, i] - log1p(y[i])
        out[i] = 0.5 * r * r
