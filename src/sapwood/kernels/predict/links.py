"""Link functions: turn scores into predictions."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.elementary import exp, sigmoid
from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

BLOCK = 64  # rows that are processed for all classes before the next, so that their workspace stays in the L1 cache


@kernel("f64[:], f64[:]")
def half_logit_values(member, members, sync, scores, out):
    """Write 1 / (1 + e^-2F) of each score F to ``out``."""
    n = scores.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        out[i] = sigmoid(2.0 * scores[i])


@kernel("f64[:], f64[:]")
def margin_values(member, members, sync, scores, out):
    """Write (1 + F) / 2 of each score F, clipped to [0, 1], to ``out``."""
    n = scores.shape[0]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        p = 0.5 + 0.5 * scores[i]
        p = 0.0 if p < 0.0 else p
        out[i] = 1.0 if p > 1.0 else p


@kernel("f64[:,:], f64[:,:], f64[:,:]")
def softmax_values(member, members, sync, scores, work, out):
    """Write e^F over its sum for the scores F of each row to ``out[row]``.

    ``work`` holds two numbers and one per output for each row, of which each member uses those of its first block.
    """
    n_outputs, n = scores.shape
    n_blocks = (n + BLOCK - 1) // BLOCK
    base = np.uint64(member * n_blocks // members * BLOCK)
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = np.uint64(b * BLOCK)
        size = np.uint64(min(n, (b + 1) * BLOCK)) - start
        for i in range(size):
            work[n_outputs, base + i] = scores[0, start + i]
            work[n_outputs + 1, base + i] = 0.0
        for k in range(1, n_outputs):
            for i in range(size):
                largest = work[n_outputs, base + i]
                work[n_outputs, base + i] = scores[k, start + i] if scores[k, start + i] > largest else largest
        for k in range(n_outputs):
            for i in range(size):
                e = exp(scores[k, start + i] - work[n_outputs, base + i])
                work[k, base + i] = e
                work[n_outputs + 1, base + i] += e
        for k in range(n_outputs):
            for i in range(size):
                work[k, base + i] /= work[n_outputs + 1, base + i]
        for i in range(size):
            for k in range(n_outputs):
                out[start + i, k] = work[k, base + i]


@kernel("f64[:,:], f64[:,:]")
def one_vs_all_values(member, members, sync, scores, out):
    """Write 1 / (1 + e^-F) for the scores F of each row, scaled to sum to 1, to ``out[row]``."""
    n_outputs, n = scores.shape
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        total = 0.0
        for k in range(n_outputs):
            p = sigmoid(scores[k, i])
            out[i, k] = p
            total += p
        for k in range(n_outputs):
            out[i, k] = out[i, k] / total if total > 0.0 else 1.0 / n_outputs


@kernel("f64[:,:], f64[:,:]")
def frequency_values(member, members, sync, scores, out):
    """Write the scores of each row, those below 0 as 0, scaled to sum to 1, to ``out[row]``."""
    n_outputs, n = scores.shape
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        total = 0.0
        for k in range(n_outputs):
            p = scores[k, i] if scores[k, i] > 0.0 else 0.0
            out[i, k] = p
            total += p
        for k in range(n_outputs):
            out[i, k] = out[i, k] / total if total > 0.0 else 1.0 / n_outputs


@kernel("f64[:,:], f64[:,:]")
def sorted_values(member, members, sync, scores, out):
    """Write the scores of each row in ascending order to ``out[row]``."""
    n_outputs, n = scores.shape
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        for k in range(n_outputs):
            x = scores[k, i]
            j = k
            while j > 0 and out[i, j - 1] > x:
                out[i, j] = out[i, j - 1]
                j -= 1
            out[i, j] = x
