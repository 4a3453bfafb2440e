"""Cumulative sums of the bins of a feature: the sums on the left of each split."""

from __future__ import annotations

import numpy as np

from sapwood.native.runtime.kernel import kernel

# Entries behind the sums of a feature, so that vector code can process eight at a time.
PADDING = 8


@kernel()
def pad_to_eight(sums, n):
    """Repeat the last of n sums up to a multiple of eight; return that."""
    stop = (n + 7) & ~np.int64(7)
    for k in range(np.uint64(n), np.uint64(stop)):
        sums[k] = sums[np.uint64(n - 1)]
    return stop


@kernel()
def sum_bins_before(cells, stop):
    """Return the sum of the value bins before ``stop``."""
    total = np.int64(0)
    for b in range(np.uint64(1), np.uint64(stop)):
        total += cells[b]
    return total


@kernel()
def cumulate_nonempty(cells, first, stop, sums):
    """Write the sums up to each bin from ``first`` to before ``stop``, bins of sum 0 after the first left out.

    Return how many there are, padded to a multiple of eight.
    """
    if stop <= first:
        return np.int64(0)
    total = sum_bins_before(cells, first + 1)
    sums[0] = total
    n = np.uint64(1)
    for b in range(np.uint64(first + 1), np.uint64(stop)):
        value = cells[b]
        total += value
        sums[n] = total
        n += np.uint64(value != 0)
    return pad_to_eight(sums, np.int64(n))


@kernel()
def cumulate_side(cells, n, missing_left, sums):
    """Write the sums of a plane up to each of n bins, with those of missing values if they go left."""
    total = cells[0] if missing_left == 1 else np.int64(0)
    for b in range(np.uint64(n)):
        total += cells[b + np.uint64(1)]
        sums[b] = total


@kernel()
def cumulate(cells, first, stop, sums):
    """Write the sums up to each bin from ``first`` to before ``stop``; return how many."""
    total = sum_bins_before(cells, first)
    for b in range(np.uint64(first), np.uint64(stop)):
        total += cells[b]
        sums[b - np.uint64(first)] = total
    return max(stop - first, 0)


@kernel()
def cumulate_nonempty_wide(gradients, hessians, first, stop, sums_g, sums_h):
    """Do ``cumulate_nonempty`` for two planes."""
    if stop <= first:
        return np.int64(0)
    g = sum_bins_before(gradients, first + 1)
    h = sum_bins_before(hessians, first + 1)
    sums_g[0] = g
    sums_h[0] = h
    n = np.uint64(1)
    for b in range(np.uint64(first + 1), np.uint64(stop)):
        more_g = gradients[b]
        more_h = hessians[b]
        g += more_g
        h += more_h
        sums_g[n] = g
        sums_h[n] = h
        n += np.uint64((more_g | more_h) != 0)
    pad_to_eight(sums_g, np.int64(n))
    return pad_to_eight(sums_h, np.int64(n))


@kernel()
def list_nonempty(gradients, hessians, stop, always, out):
    """List the bins before ``stop`` with a sum other than 0, and the bin ``always``; return how many."""
    n = np.uint64(0)
    for b in range(np.uint64(1), np.uint64(stop)):
        out[n] = np.int64(b)
        n += np.uint64(((gradients[b] | hessians[b]) != 0) | (np.int64(b) == always))
    return n
