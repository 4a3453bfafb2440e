"""Scales at which numbers are summed as integers."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram import gradient_scales


def scale_for(limit: float, bound: float, n: int) -> float:
    """Return the largest power of two at which n terms whose sum is at most ``bound`` stay below a limit."""
    out = np.empty(1)
    gradient_scales.find_scale(limit, bound, n, out)
    return float(out[0])
