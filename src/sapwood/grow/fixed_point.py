"""Scales at which numbers are added up as integers."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram import quantised_gradients as quantise


def scale_for(limit: float, bound: float, n: int) -> float:
    """The largest power of two at which n terms that add up to ``bound`` stay below a limit."""
    out = np.empty(1)
    quantise.find_scale(limit, bound, n, out)
    return float(out[0])
