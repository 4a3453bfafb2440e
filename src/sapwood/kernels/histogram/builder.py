"""Build the histogram of a leaf on a team."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.active_features import clear_active, fill_default_bins
from sapwood.kernels.histogram.dense_bins import add_planes, merge_partials
from sapwood.kernels.histogram.multi_output import add_interleaved, clear_interleaved, merge_interleaved
from sapwood.kernels.histogram.sparse_bins import add_sparse_planes, count_sparse_rows
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

# Fewer rows than this are not worth sharing out.
MIN_PARALLEL_ROWS = 2048


@kernel()
def sum_root(member, members, sync, order, pairs, integers, out):
    """Sum the quantised pairs of the rows of the tree, every member for itself; nonzero means stop."""
    n_planes = pairs.shape[0]
    n = order.shape[0]
    start = np.uint64(member * n // members)
    stop = np.uint64((member + 1) * n // members)
    for p in range(n_planes):
        total = np.int64(0)
        if n == pairs.shape[1]:
            for i in range(start, stop):
                total += pairs[p, i]
        else:
            for i in range(start, stop):
                total += pairs[p, order[i]]
        integers[member, 3 * n_planes + p] = total
    if barrier(sync, members) != 0:
        return 1
    for p in range(n_planes):
        total = np.int64(0)
        for t in range(members):
            total += integers[t, 3 * n_planes + p]
        out[p] = total
    return barrier(sync, members)


@kernel()
def build_histogram(member, members, sync, alone, words, rows, first, last, live, histogram, feature, work):
    """Build the histogram of the rows at ``first`` to ``last``, but for usual bins; each member completes its features.

    Only the cells of the features of the line ``live`` count. Many rows: each member adds a part of them, all features,
    and the parts are merged. Few: each adds all of them to its own features, which are all features if it is ``alone``
    with the leaf. Nonzero means stop. Rows that have lines are added to lines of work first.
    """
    n_planes = rows.pairs.shape[0]
    start = feature.offset
    lane = members + 1 if alone else member
    own = feature.slices[lane]
    end = feature.slices[lane + 1]
    has_lists = feature.csr_start.shape[0] > 0
    n_features = feature.n_bins.shape[0]
    is_shared = members > 1 and not alone and last - first >= MIN_PARALLEL_ROWS
    has_lines = rows.pairs_by_row.shape[0] > 0
    part = members if is_shared else 1
    number = member if is_shared else 0
    a = first + number * (last - first) // part
    e = first + (number + 1) * (last - first) // part
    out = work[member] if is_shared else histogram
    low = 0 if is_shared else own
    high = n_features if is_shared else end
    from_lane = 0 if is_shared or alone else member
    to_lane = members if is_shared or alone else member + 1
    from_column = 0 if is_shared else feature.tile_slices[lane]
    to_column = feature.tile_offset.shape[0] - 1 if is_shared else feature.tile_slices[lane + 1]
    if has_lines:
        n_cells = start[start.shape[0] - 1]
        clear_interleaved(work[member], rows.pairs_by_row.shape[1], n_cells, start[low], start[high])
        add_interleaved(
            words,
            rows.rows,
            rows.pairs_by_row,
            a,
            e,
            from_column,
            to_column,
            feature.log2_bin_bits,
            feature.tile_offset,
            work[member],
        )
        if is_shared and barrier(sync, members) != 0:
            return 1
        from_part = 0 if is_shared else member
        merge_interleaved(work, from_part, from_part + part, n_planes, n_cells, start[own], start[end], histogram)
        return 0
    clear_active(live, from_lane, to_lane, feature.slices, start, n_planes, out)
    add_planes(
        words, rows.rows, rows.pairs, a, e, from_column, to_column, feature.log2_bin_bits, feature.tile_offset, out
    )
    if has_lists:
        add_sparse_planes(feature, rows.rows, rows.pairs, a, e, start[low], start[high], out)
    if is_shared:
        if barrier(sync, members) != 0:
            return 1
        merge_partials(work, members, histogram, own, end, start, n_planes)
    return 0


@kernel()
def negate_pairs(order, pairs, first, last):
    """Change the signs of the pairs of the rows at ``first`` to ``last``."""
    for p in range(pairs.shape[0]):
        for k in range(np.uint64(first), np.uint64(last)):
            pairs[p, order[k]] = -pairs[p, order[k]]


@kernel()
def subtract_rows(words, rows, first, last, sums, live, lanes, histogram, listed, feature):
    """Take the rows at ``first`` to ``last`` off a histogram and its counts; it has these sums then."""
    n_columns = feature.tile_offset.shape[0] - 1
    n_cells = feature.offset[feature.offset.shape[0] - 1]
    negate_pairs(rows.rows, rows.pairs, first, last)
    add_planes(
        words, rows.rows, rows.pairs, first, last, 0, n_columns, feature.log2_bin_bits, feature.tile_offset, histogram
    )
    if feature.csr_start.shape[0] > 0:
        add_sparse_planes(feature, rows.rows, rows.pairs, first, last, 0, n_cells, histogram)
    negate_pairs(rows.rows, rows.pairs, first, last)
    if listed.shape[0] > 0:
        count_sparse_rows(feature, rows.rows, first, last, -1, 0, n_cells, listed)
    fill_default_bins(live, 0, lanes, feature, sums, histogram, listed)
