"""Gradient pairs and values of losses for two classes; y is 0 or 1, and s = 2 y - 1."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.losses.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.numeric.elementary import exp, exp_nonpositive, exp_nonpositive_pair, log1p, softplus
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

ROW_DISTANCE = np.uint64(512)  # between the two rows of a step; constant, so that loops are vectorised


@kernel()
def store_logistic_pair(f, e, y, i, out):
    """Write the pair of a row with the score f and e = exp(-|f|); both are too small to need clipping."""
    d = 1.0 / (1.0 + e)
    p = d if f >= 0.0 else e * d
    first = np.uint64(2) * np.uint64(i)
    out[0, first] = np.float32(p - y[i])
    out[0, first + np.uint64(1)] = np.float32(e * d * d)


@kernel(PAIRS)
def logistic_pairs(member, members, sync, y, scores, params, out):
    """log(1 + e^F) - y F: gradient p - y, hessian p (1 - p) with p = 1 / (1 + e^-F).

    Two rows at a time: a polynomial is a long chain of dependent operations, and two of them overlap.
    """
    n = y.shape[0]
    begin = slice_start(member, members, n)
    end = slice_start(member + 1, members, n)
    row_scores = scores[0]
    while begin + ROW_DISTANCE + ROW_DISTANCE <= end:
        for i in range(begin, begin + ROW_DISTANCE):
            f = row_scores[i]
            g = row_scores[i + ROW_DISTANCE]
            e, e2 = exp_nonpositive_pair(-abs(f), -abs(g))
            store_logistic_pair(f, e, y, i, out)
            store_logistic_pair(g, e2, y, i + ROW_DISTANCE, out)
        begin += ROW_DISTANCE + ROW_DISTANCE
    for i in range(begin, end):
        f = row_scores[i]
        store_logistic_pair(f, exp_nonpositive(-abs(f)), y, i, out)


@kernel(LOSS)
def logistic_loss(member, members, sync, y, scores, params, out):
    """log(1 + e^F) - y F, computed without cancellation."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        f = scores[0, i]
        out[i] = softplus(-abs(f)) + ((1.0 - y[i]) * f if f > 0.0 else -y[i] * f)


@kernel(PAIRS)
def exponential_pairs(member, members, sync, y, scores, params, out):
    """e^(-sF)."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        s = 2.0 * y[i] - 1.0
        e = exp(-s * scores[0, i])
        store_pair(out, 0, i, -s * e, e)


@kernel(LOSS)
def exponential_loss(member, members, sync, y, scores, params, out):
    """e^(-sF)."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = exp((1.0 - 2.0 * y[i]) * scores[0, i])


@kernel(PAIRS)
def focal_pairs(member, members, sync, y, scores, params, out):
    """-w q^gamma log p with p = 1 / (1 + e^(-sF)) and q = 1 - p.

    The curvature is negative for large errors; it is kept above that of the logistic loss times w q^gamma.
    """
    n = y.shape[0]
    gamma = params[0]
    weight_1 = params[1]
    weight_0 = params[2]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        s = 2.0 * y[i] - 1.0
        w = weight_1 if s > 0.0 else weight_0
        u = s * scores[0, i]
        e = exp(-abs(u))
        d = 1.0 / (1.0 + e)
        p = d if u >= 0.0 else e * d
        q = e * d if u >= 0.0 else d
        log_sum = log1p(e)
        log_p = (u if u < 0.0 else 0.0) - log_sum
        log_q = (-u if u > 0.0 else 0.0) - log_sum
        modulated = w * exp(gamma * log_q)
        curvature = q * (2.0 * gamma + 1.0) + gamma * log_p * (q - gamma * p)
        store_pair(
            out, 0, i, s * modulated * (gamma * p * log_p - q), modulated * p * (curvature if curvature > q else q)
        )


@kernel(LOSS)
def focal_loss(member, members, sync, y, scores, params, out):
    """-w q^gamma log p with p = 1 / (1 + e^(-sF)) and q = 1 - p."""
    n = y.shape[0]
    gamma = params[0]
    weight_1 = params[1]
    weight_0 = params[2]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        s = 2.0 * y[i] - 1.0
        w = weight_1 if s > 0.0 else weight_0
        u = s * scores[0, i]
        log_sum = log1p(exp(-abs(u)))
        log_p = (u if u < 0.0 else 0.0) - log_sum
        log_q = (-u if u > 0.0 else 0.0) - log_sum
        out[i] = -w * exp(gamma * log_q) * log_p


@kernel(PAIRS)
def hinge_pairs(member, members, sync, y, scores, params, out):
    """max(0, 1 - sF), curvature replaced by 1."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        s = 2.0 * y[i] - 1.0
        margin = s * scores[0, i]
        store_pair(out, 0, i, 0.0 if margin >= 1.0 else (-s if margin < 1.0 else margin), 1.0)


@kernel(LOSS)
def hinge_loss(member, members, sync, y, scores, params, out):
    """max(0, 1 - sF)."""
    n = y.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        margin_error = 1.0 - (2.0 * y[i] - 1.0) * scores[0, i]
        out[i] = 0.0 if margin_error < 0.0 else margin_error
