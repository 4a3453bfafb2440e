"""Which leaves keep their histograms where the pool has fewer than the tree has leaves."""

from __future__ import annotations

from sapwood.kernels.layout import LEAF_GAIN, LEAF_HIST
from sapwood.native.runtime.kernel import kernel


@kernel()
def least_gain_histogram(n_leaves, kept, ints, floats):
    """Return the histogram of the leaf of the smallest gain, other than the histogram ``kept``."""
    best = -1
    for leaf in range(n_leaves):
        if ints[leaf, LEAF_HIST] < 0 or ints[leaf, LEAF_HIST] == kept:
            continue
        if best < 0 or floats[leaf, LEAF_GAIN] < floats[best, LEAF_GAIN]:
            best = leaf
    return ints[best, LEAF_HIST]


@kernel()
def reserve_histograms(n_leaves, hists, leaves):
    """Replace each of two histograms that is missing (−1) by that of the leaf of the smallest gain."""
    if hists[0] < 0:
        hists[0] = least_gain_histogram(n_leaves, hists[1], leaves.ints, leaves.floats)
    if hists[1] < 0:
        hists[1] = least_gain_histogram(n_leaves, hists[0], leaves.ints, leaves.floats)


@kernel()
def release_histograms(n_leaves, one, other, ints):
    """Note that the leaves of two histograms no longer have them."""
    for leaf in range(n_leaves):
        if ints[leaf, LEAF_HIST] == one or ints[leaf, LEAF_HIST] == other:
            ints[leaf, LEAF_HIST] = -1
