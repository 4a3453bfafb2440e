"""Draw one threshold per feature and leaf at random, as extremely randomised trees do.

The threshold is a bin between the first and the last that the leaf holds. It is passed on as limits of the split (see
``leaf_size.py``), of which the first and the last bin are the same: the search that follows is the ordinary one.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.numeric.random import THRESHOLDS, draw, stream_key
from sapwood.native.runtime.kernel import kernel


@kernel()
def draw_bin(first, last, node, feature_id, random_key):
    """Return a bin from ``first`` to ``last``, drawn by the node and the id of the feature."""
    key = stream_key(random_key.seed, THRESHOLDS, random_key.round)
    bits = draw(key, (np.uint64(node) << np.uint64(32)) + np.uint64(feature_id))
    return np.int64(first) + np.int64(bits % np.uint64(last - first + 1))


@kernel()
def is_empty_bin(cells, n_cells, b, n_planes):
    """Return whether all sums of a bin are 0."""
    for p in range(n_planes):
        if cells[p * n_cells + b] != 0:
            return False
    return True


@kernel()
def draw_limits(cells, n_cells, n_bins, n_planes, node, feature_id, random_key, limits):
    """Write the limits of a random split of a feature; ``cells`` begin with its missing bin.

    If the leaf holds one bin, the split is between it and missing values.
    """
    first = np.int64(1)
    while first < n_bins and is_empty_bin(cells, n_cells, first, n_planes):
        first += 1
    last = np.int64(n_bins)
    while last > first and is_empty_bin(cells, n_cells, last, n_planes):
        last -= 1
    drawn = first if first == last else draw_bin(first, last - 1, node, feature_id, random_key)
    for k in range(4):
        limits[k] = drawn


@kernel()
def narrow_limits(n_bins, node, feature_id, random_key, limits):
    """Draw a bin between limits that leave enough rows on both sides, with missing values on the right if possible."""
    side = 0 if limits[0] <= limits[1] else 1
    if limits[2 * side] > limits[2 * side + 1]:
        return
    drawn = draw_bin(limits[2 * side], limits[2 * side + 1], node, feature_id, random_key)
    for missing_left in range(2):
        is_allowed = limits[2 * missing_left] <= drawn <= limits[2 * missing_left + 1]
        limits[2 * missing_left] = drawn if is_allowed else n_bins + 1
        limits[2 * missing_left + 1] = drawn if is_allowed else 0
