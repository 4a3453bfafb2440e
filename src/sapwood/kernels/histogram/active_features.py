"""The features on which a leaf, or any leaf below it, may be split, and what is done to their cells alone.

A feature that too few rows of a leaf list cannot be split there, nor further down. The cells of such features are never
read, so that they may hold anything.

A line of ``live`` begins with the number of features of each member's share; those of member t follow, ascending, from
place ``T + share[t]`` on. Members write the places of their own share, and read those of lanes ``from_lane`` to
``to_lane``: of their own, or of all of them.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.dense_bins import clear_cells
from sapwood.native.runtime.kernel import kernel

ONE = np.uint64(1)
# So many cells of other features, which may hold anything, cost less than a loop of its own for those behind them.
MAX_GAP = 32


@kernel()
def active_start(share, lane):
    """Where the features of a lane begin in a line."""
    return share.shape[0] - 3 + share[lane]


@kernel()
def end_of_run(live, place, end, start):
    """The place behind the features from ``place`` on whose cells follow each other, or nearly so."""
    k = place + 1
    while k < end and start[live[k]] <= start[live[k - 1] + 1] + MAX_GAP:
        k += 1
    return k


@kernel(noinline=True)
def clear_active(live, from_lane, to_lane, share, start, n_planes, cells):
    """Set the cells of the features of some lanes to zero."""
    n_cells = start[start.shape[0] - 1]
    for lane in range(from_lane, to_lane):
        place = active_start(share, lane)
        end = place + live[lane]
        while place < end:
            low = start[live[place]]
            place = end_of_run(live, place, end, start)
            high = start[live[place - 1] + 1]
            for p in range(n_planes):
                clear_cells(cells, p * n_cells + low, p * n_cells + high)


@kernel(noinline=True)
def subtract_active(live, from_lane, to_lane, share, start, n_planes, small, large):
    """Leave parent − small in ``large``, which holds the parent, for the features of some lanes."""
    n_cells = start[start.shape[0] - 1]
    for lane in range(from_lane, to_lane):
        place = active_start(share, lane)
        end = place + live[lane]
        while place < end:
            low = start[live[place]]
            place = end_of_run(live, place, end, start)
            high = start[live[place - 1] + 1]
            for p in range(n_planes):
                for j in range(np.uint64(p * n_cells + low), np.uint64(p * n_cells + high)):
                    large[j] -= small[j]


@kernel(noinline=True)
def fill_default_bins(live, from_lane, to_lane, feature, sums, out, counts):
    """Give the usual bin of each listed or bundled feature what its other bins leave of a leaf's sums.

    Where rows are counted, the usual cell gets the number of those that list the feature.
    """
    n_cells = np.uint64(feature.offset[feature.offset.shape[0] - 1])
    for lane in range(from_lane, to_lane):
        place = np.uint64(active_start(feature.slices, lane))
        for k in range(place, place + np.uint64(live[lane])):
            f = np.uint64(live[k])
            if feature.default_bin[f] < 0:
                continue
            usual = np.uint64(feature.default_bin[f])
            size = np.uint64(feature.n_bins[f]) + ONE
            for p in range(np.uint64(sums.shape[0])):
                first = p * n_cells + np.uint64(feature.offset[f])
                rest = sums[p]
                for j in range(first, first + size):
                    rest -= out[j]
                out[first + usual] += rest
            if counts.shape[0] > 0:
                first = np.uint64(feature.offset[f])
                total = np.int32(0)
                for j in range(first, first + size):
                    total += counts[j]
                counts[first + usual] = total - counts[first + usual]
