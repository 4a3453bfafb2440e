"""Signatures and building blocks of the kernels of losses, which are in ``objectives/losses/``.

Every loss has two kernels: ``*_pairs`` writes gradient and hessian with respect to the score F, ``*_loss`` the loss of
each row. Their arguments are the targets y, the scores (outputs, rows), the parameters of the loss, and the output.
Where a loss is not differentiable or its curvature vanishes, the hessian is replaced by a surrogate above 0.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.threads.slices import slice_start
from sapwood.native.runtime.kernel import kernel

PAIRS = "f64[:], f64[:,:], f64[:], f32[:,:]"
LOSS = "f64[:], f64[:,:], f64[:], f64[:]"

MAX_FLOAT32 = 3e38  # about; a larger number would become infinite in a pair
MIN_HESSIAN = 1e-16  # of losses given by the user, whose curvature may vanish


@kernel()
def clip_to_float32(x):
    """Round to float32, clipped to its finite range."""
    x = MAX_FLOAT32 if x > MAX_FLOAT32 else x
    x = -MAX_FLOAT32 if x < -MAX_FLOAT32 else x
    return np.float32(x)


@kernel()
def store_pair(out, k, i, gradient, hessian):
    """Write the pair of output k and row i to ``out[k]``, where gradient and hessian of a row are neighbours."""
    # Unsigned arithmetic with a constant stride, so that loops are vectorised.
    first = np.uint64(2) * np.uint64(i)
    out[k, first] = clip_to_float32(gradient)
    out[k, first + np.uint64(1)] = clip_to_float32(hessian)


@kernel()
def sign(x):
    """Return -1, 0 or 1; NaN for NaN."""
    s = 1.0 if x > 0.0 else x
    return -1.0 if x < 0.0 else s


@kernel("f64[:,:], f64, f32[:,:]")
def store_derivatives(member, members, sync, derivatives, curvature, out):
    """Write first and second derivatives (2, rows) as gradients and hessians above 0.

    Hessians are absolute second derivatives; where these are 0, ``curvature`` times the absolute gradient.
    """
    n = derivatives.shape[1]
    for i in range(slice_start(member, members, n), slice_start(member + 1, members, n)):
        g = derivatives[0, i]
        h = abs(derivatives[1, i])
        h = curvature * abs(g) if h == 0.0 else h
        store_pair(out, 0, i, g, MIN_HESSIAN if h < MIN_HESSIAN else h)
