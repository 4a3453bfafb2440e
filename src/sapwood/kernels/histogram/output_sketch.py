"""Project the gradient pairs of several outputs on a few random directions, on which splits are searched.

A direction is a sign for each output. The squared sums of the projected gradients are, in expectation, the sum of the
squares over all outputs; the sums of hessians are half of those of all outputs together.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.gradient_scales import (
    MIN_CONTIGUOUS_ROWS,
    find_max,
    find_max_contiguous,
    set_safe_scales,
)
from sapwood.kernels.layout import (  # noqa: F401 (named in signatures)
    STATUS,
    Gradients,
    RandomKey,
    RowPartition,
    Scales,
    Scratch,
)
from sapwood.kernels.numeric.random import OUTPUT_SKETCH, draw, stream_key
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

# Rows whose projections stay in the cache while the outputs are added.
BLOCK = 256
# Two classes that are confused have half of the hessians of a row each, and together twice the gain of one of them.
HESSIAN_FACTOR = 0.5
ONE, TWO = np.uint64(1), np.uint64(2)


@kernel(noinline=True)
def add_direction(pairs, first, size, sign, sums):
    """Add the gradients of some rows of one output, with a sign, to their sums."""
    for i in range(np.uint64(size)):
        sums[i] += sign * np.float64(pairs[TWO * (np.uint64(first) + i)])


@kernel(noinline=True)
def add_hessians(pairs, first, size, sums):
    """Add the hessians of some rows of one output to their sums."""
    for i in range(np.uint64(size)):
        sums[i] += np.float64(pairs[TWO * (np.uint64(first) + i) + ONE])


@kernel(noinline=True)
def store_projection(gradients, hessians, first, size, factor, out):
    """Write the projected pairs of some rows."""
    for i in range(np.uint64(size)):
        at = TWO * (np.uint64(first) + i)
        out[at] = np.float32(factor * gradients[i])
        out[at + ONE] = np.float32(HESSIAN_FACTOR * hessians[i])


@kernel("f32[:,:], RandomKey, f64, f64[:,:,:], f32[:,:]")
def project_outputs(member, members, sync, pairs, random_key, factor, work, out):
    """Write the projections (directions, 2 n) of pairs (outputs, 2 n), the gradients times ``factor``.

    ``work`` has for each member a row of ``BLOCK`` numbers per direction, and one for hessians.
    """
    key = stream_key(random_key.seed, OUTPUT_SKETCH, random_key.round)
    n = pairs.shape[1] // 2
    n_directions = out.shape[0]
    stop = (member + 1) * n // members
    sums = work[member]
    for a in range(member * n // members, stop, BLOCK):
        size = min(BLOCK, stop - a)
        for j in range(n_directions + 1):
            for i in range(size):
                sums[j, i] = 0.0
        for k in range(pairs.shape[0]):
            bits = draw(key, np.uint64(k))
            for j in range(n_directions):
                sign = 1.0 if (bits >> np.uint64(j)) & ONE != np.uint64(0) else -1.0
                add_direction(pairs[k], a, size, sign, sums[j])
            add_hessians(pairs[k], a, size, sums[n_directions])
        for j in range(n_directions):
            store_projection(sums[j], sums[n_directions], a, size, factor, out[j])


@kernel("RowPartition, Gradients, Scales, Scratch, i64[:]")
def set_exact_scales(member, members, sync, partition, gradients, scales, scratch, info):
    """Set the scales at which the true pairs of the rows of a tree are summed."""
    rows = partition.rows
    n = rows.shape[0]
    start = member * n // members
    stop = (member + 1) * n // members
    is_contiguous = 2 * n == gradients.pairs.shape[1] and n >= MIN_CONTIGUOUS_ROWS
    for k in range(gradients.pairs.shape[0]):
        max_pair = scratch.floats[member, 2 * k : 2 * k + 2]
        if is_contiguous:
            find_max_contiguous(gradients.pairs[k], gradients.weight, start, stop, max_pair, info)
        else:
            find_max(gradients.pairs[k], gradients.weight, rows, start, stop, max_pair, info)
    if barrier(sync, members) != 0 or info[STATUS] != 0 or member != 0:
        return
    set_safe_scales(members, n, scales, scratch)
