"""Gradient pairs and values of losses for more than two classes; y is the number of the class."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.losses.gradient_pairs import LOSS, PAIRS, store_pair
from sapwood.kernels.numeric.elementary import exp, exp_nonpositive, log, softplus
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

BLOCK = 512  # rows that are processed for all classes before the next, so that their workspace stays in the L1 cache


@kernel()
def sum_exponentials(scores, start, stop, work):
    """Write the largest score of each row to ``work[0]`` and the sum of e^(score - largest) to ``work[1]``."""
    for i in range(start, stop):
        work[0, i] = scores[0, i]
        work[1, i] = 0.0
    for k in range(1, scores.shape[0]):
        for i in range(start, stop):
            work[0, i] = scores[k, i] if scores[k, i] > work[0, i] else work[0, i]
    for k in range(scores.shape[0]):
        for i in range(start, stop):
            work[1, i] += exp(scores[k, i] - work[0, i])


@kernel()
def store_exponentials(scores, start, stop, base, work, exponentials):
    """Write e^(score - largest) of some rows to ``exponentials``, and their sums to ``work[1]`` from ``base`` on."""
    n = stop - start
    for i in range(n):
        work[0, base + i] = scores[0, start + i]
        work[1, base + i] = 0.0
    for k in range(1, scores.shape[0]):
        for i in range(n):
            largest = work[0, base + i]
            work[0, base + i] = scores[k, start + i] if scores[k, start + i] > largest else largest
    for k in range(scores.shape[0]):
        for i in range(n):
            e = exp_nonpositive(scores[k, start + i] - work[0, base + i])
            exponentials[k, start + i] = e
            work[1, base + i] += e


@kernel("f64[:], f64[:,:], f64, f64[:,:], f64[:,:], f32[:,:]")
def softmax_pairs(member, members, sync, y, scores, curvature, work, exponentials, out):
    """-log p of the row's class: gradient p - [y = k], hessian ``curvature`` * p (1 - p).

    ``work`` holds three numbers per row, of which each member uses those of its first block. ``exponentials`` shares
    the memory of ``out``: each lies where its pair will be written.
    """
    n_outputs, n = scores.shape
    n_blocks = (n + BLOCK - 1) // BLOCK
    base = np.uint64(member * n_blocks // members * BLOCK)
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = np.uint64(b * BLOCK)
        stop = np.uint64(min(n, (b + 1) * BLOCK))
        store_exponentials(scores, start, stop, base, work, exponentials)
        for k in range(n_outputs):
            # Two loops: one that reads and writes the same memory would not be vectorised.
            for i in range(stop - start):
                work[2, base + i] = exponentials[k, start + i] / work[1, base + i]
            for i in range(stop - start):
                p = work[2, base + i]
                store_pair(out, k, start + i, p - (1.0 if y[start + i] == k else 0.0), curvature * p * (1.0 - p))


@kernel("f64[:], f64[:,:], f64[:,:], f64[:]")
def softmax_loss(member, members, sync, y, scores, work, out):
    """-log p of the row's class; ``work`` holds two numbers per row."""
    n = scores.shape[1]
    start = slice_start(member, members, n)
    stop = slice_start(member + 1, members, n)
    sum_exponentials(scores, start, stop, work)
    for i in range(start, stop):
        out[i] = log(work[1, i]) + (work[0, i] - scores[np.uint64(np.int64(y[i])), i])


@kernel(PAIRS)
def one_vs_all_pairs(member, members, sync, y, scores, params, out):
    """The logistic loss of each class against the rest."""
    n_outputs, n = scores.shape
    for k in range(n_outputs):
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            f = scores[k, i]
            e = exp(-abs(f))
            d = 1.0 / (1.0 + e)
            p = d if f >= 0.0 else e * d
            store_pair(out, k, i, p - (1.0 if y[i] == k else 0.0), e * d * d)


@kernel(LOSS)
def one_vs_all_loss(member, members, sync, y, scores, params, out):
    """The sum over the classes of their logistic losses."""
    n_outputs, n = scores.shape
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = 0.0
    for k in range(n_outputs):
        for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
            f = scores[k, i]
            out[i] += softplus(-f if y[i] == k else f)
