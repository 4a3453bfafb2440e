"""Histogram subtraction: the histogram of the smaller child is built, that of its sibling is the parent's minus it.

Where the parent's histogram was not kept, both are built. Where the smaller child cannot be split any further, its
histogram is not needed: its rows are subtracted from the parent's.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.active_features import active_start, end_of_run, fill_default_bins
from sapwood.kernels.histogram.builder import build_histogram
from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.histogram.dense_bins import add_planes
from sapwood.kernels.histogram.sparse_bins import add_sparse_planes, count_sparse_leaf, count_sparse_rows
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel


@kernel(noinline=True)
def subtract_active(active, from_slice, to_slice, slices, offset, n_planes, child, parent):
    """Subtract the histogram of a child from that of its parent, which becomes the sibling's, for active features."""
    n_cells = count_cells(offset)
    for t in range(from_slice, to_slice):
        position = active_start(slices, t)
        end = position + active[t]
        while position < end:
            first_cell = offset[active[position]]
            position = end_of_run(active, position, end, offset)
            end_cell = offset[active[position - 1] + 1]
            for p in range(n_planes):
                for j in range(np.uint64(p * n_cells + first_cell), np.uint64(p * n_cells + end_cell)):
                    parent[j] -= child[j]


@kernel()
def negate_pairs(rows, pairs, first, last):
    """Change the signs of the pairs of the rows at positions ``first`` to ``last``."""
    for p in range(pairs.shape[0]):
        for k in range(np.uint64(first), np.uint64(last)):
            pairs[p, rows[k]] = -pairs[p, rows[k]]


@kernel()
def subtract_rows(tiles, partition, first, last, sums, active, n_slices, histogram, sparse_counts, features):
    """Subtract the rows at positions ``first`` to ``last`` from a histogram and its counts, which then has ``sums``."""
    n_columns = features.tile_offset.shape[0] - 1
    n_cells = count_cells(features.offset)
    negate_pairs(partition.rows, partition.pairs, first, last)
    add_planes(
        tiles, partition.rows, partition.pairs, first, last, 0, n_columns, features.log2_bits, features.tile_offset,
        histogram,
    )  # fmt: skip
    if features.csr_start.shape[0] > 0:
        add_sparse_planes(features, partition.rows, partition.pairs, first, last, 0, n_cells, histogram)
    negate_pairs(partition.rows, partition.pairs, first, last)
    if sparse_counts.shape[0] > 0:
        count_sparse_rows(features, partition.rows, first, last, -1, 0, n_cells, sparse_counts)
    fill_default_bins(active, 0, n_slices, features, sums, histogram, sparse_counts)


@kernel()
def build_children(member, members, sync, alone, children, active, is_kept, state):
    """Build the histograms of two children; if ``is_kept``, that of the larger child holds the parent's.

    Return nonzero to stop.
    """
    features = state.features
    partition = state.partition
    histograms = state.histograms
    tiles = state.bins.tiles
    n_planes = partition.pairs.shape[0]
    from_slice = 0 if alone else member
    to_slice = members if alone else member + 1
    small = children.right if children.smaller == 1 else children.left
    large = children.left if children.smaller == 1 else children.right
    is_needed = children.right_open if children.smaller == 1 else children.left_open
    if is_kept and not is_needed and (alone or members == 1) and partition.pairs_by_row.shape[0] == 0:
        subtract_rows(
            tiles, partition, small.begin, small.end, large.sums, active, members,
            histograms.pool[large.hist], histograms.sparse_counts[large.hist], features,
        )  # fmt: skip
        return 0
    for part in range(1 if is_kept else 2):
        child = small if part == 0 else large
        histogram = histograms.pool[child.hist]
        if part == 1 and barrier(sync, members) != 0:
            return 1
        counts = histograms.sparse_counts[child.hist]
        if build_histogram(
            member, members, sync, alone, tiles, partition, child.begin, child.end, active, histogram, features,
            histograms.partial,
        ) != 0:  # fmt: skip
            return 1
        count_sparse_leaf(active, from_slice, to_slice, features, partition.rows, child.begin, child.end, counts)
        fill_default_bins(active, from_slice, to_slice, features, child.sums, histogram, counts)
    if is_kept:
        slices = features.slices
        offset = features.offset
        smaller = histograms.pool[small.hist]
        larger = histograms.pool[large.hist]
        subtract_active(active, from_slice, to_slice, slices, offset, n_planes, smaller, larger)
        if histograms.sparse_counts.shape[1] > 0:
            small_counts = histograms.sparse_counts[small.hist]
            large_counts = histograms.sparse_counts[large.hist]
            subtract_active(active, from_slice, to_slice, slices, offset, 1, small_counts, large_counts)
    return 0
