"""Search the histogram of a leaf, features shared out."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.lists import is_rare
from sapwood.kernels.split_levels import divide_levels
from sapwood.kernels.split_numeric import scan_feature
from sapwood.kernels.split_quick import least_hessian
from sapwood.kernels.steps import LOW_HALF
from sapwood.native.kernel import kernel


@kernel()
def may_split(histogram, listed, f, feature, sums, rules, scales):
    """Tell whether a listed feature has enough hessian and rows beside its usual bin: a side of a cut has no more."""
    usual = feature.usual[f]
    if usual < 0:
        return True
    stride = feature.start[feature.start.shape[0] - 1]
    plane = rules.wide  # of the hessian of the first output
    rest = sums[plane] - histogram[plane * stride + feature.start[f] + usual]
    steps = rest if rules.wide != 0 else rest & LOW_HALF
    if np.float64(steps) / scales.quantum[0, 1] < least_hessian(rules, scales, 0):
        return False
    return not is_rare(feature, f, rules.min_child_samples, listed)


@kernel()
def search_share(own, end, histogram, listed, child, sums, low, high, feature, rules, scales, search, running):
    """Find the best split of each of the features ``own`` to ``end``, for a leaf with these sums and bounds."""
    limits = search.limits[search.limits.shape[0] - 1]
    for f in range(own, end):
        search.gain[child, f] = 0.0
        if search.allowed[child, f] != 0 and may_split(histogram, listed, f, feature, sums, rules, scales):
            cut = search.cut[child, f]
            if feature.levels[f] != 0:
                search.gain[child, f] = divide_levels(
                    histogram, f, feature, sums, low, high, limits, 0, rules, scales, running, cut
                )
            else:
                search.gain[child, f] = scan_feature(
                    histogram, f, feature, sums, low, high, limits, rules, scales, running, cut
                )
