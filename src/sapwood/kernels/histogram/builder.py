"""Build the histogram of a leaf on a team."""

from __future__ import annotations

import numpy as np

from sapwood.kernels.histogram.active_features import clear_active
from sapwood.kernels.histogram.cells import count_cells, slice_of
from sapwood.kernels.histogram.dense_bins import add_planes, merge_partials
from sapwood.kernels.histogram.multi_output import add_interleaved, clear_interleaved, merge_interleaved
from sapwood.kernels.histogram.sparse_bins import add_sparse_planes
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

# With fewer rows than this, each member adds all rows to its slice of the features.
MIN_PARALLEL_ROWS = 2048


@kernel()
def sum_root(member, members, sync, rows, pairs, ints, out):
    """Write the sums of the quantised pairs of the rows of the tree to ``out``; return nonzero to stop."""
    n_planes = pairs.shape[0]
    n = rows.shape[0]
    start = np.uint64(member * n // members)
    stop = np.uint64((member + 1) * n // members)
    for p in range(n_planes):
        total = np.int64(0)
        if n == pairs.shape[1]:
            for i in range(start, stop):
                total += pairs[p, i]
        else:
            for i in range(start, stop):
                total += pairs[p, rows[i]]
        ints[member, 3 * n_planes + p] = total
    if barrier(sync, members) != 0:
        return 1
    for p in range(n_planes):
        total = np.int64(0)
        for t in range(members):
            total += ints[t, 3 * n_planes + p]
        out[p] = total
    return barrier(sync, members)


@kernel()
def build_histogram(
    member, members, sync, alone, tiles, partition, first, last, active, histogram, features, partials
):  # fmt: skip
    """Build the histogram of the rows at ``first`` to ``last`` for the active features, except default bins.

    With many rows, each member adds a slice of the rows to all features of its partial histogram, and these are merged.
    With few, each adds all rows to its slice of the features, which is all of them if it works ``alone``. The planes of
    several outputs are interleaved in partial histograms in both cases. A member completes its slice of the features.
    Return nonzero to stop.
    """
    n_planes = partition.pairs.shape[0]
    offset = features.offset
    my_slice = slice_of(member, members, alone)
    from_feature = features.slices[my_slice]
    to_feature = features.slices[my_slice + 1]
    is_parallel = members > 1 and not alone and last - first >= MIN_PARALLEL_ROWS
    n_parts = members if is_parallel else 1
    part = member if is_parallel else 0
    start = first + part * (last - first) // n_parts
    stop = first + (part + 1) * (last - first) // n_parts
    from_cell = offset[0 if is_parallel else from_feature]
    to_cell = offset[features.n_bins.shape[0] if is_parallel else to_feature]
    from_column = 0 if is_parallel else features.tile_slices[my_slice]
    to_column = features.tile_offset.shape[0] - 1 if is_parallel else features.tile_slices[my_slice + 1]
    if partition.pairs_by_row.shape[0] > 0:
        n_cells = count_cells(offset)
        clear_interleaved(partials[member], partition.pairs_by_row.shape[1], n_cells, from_cell, to_cell)
        add_interleaved(
            tiles, partition.rows, partition.pairs_by_row, start, stop, from_column, to_column,
            features.log2_bits, features.tile_offset, partials[member],
        )  # fmt: skip
        if is_parallel and barrier(sync, members) != 0:
            return 1
        from_part = 0 if is_parallel else member
        merge_interleaved(
            partials, from_part, from_part + n_parts, n_planes, n_cells, offset[from_feature], offset[to_feature],
            histogram,
        )  # fmt: skip
        return 0
    out = partials[member] if is_parallel else histogram
    from_slice = 0 if is_parallel or alone else member
    to_slice = members if is_parallel or alone else member + 1
    clear_active(active, from_slice, to_slice, features.slices, offset, n_planes, out)
    add_planes(
        tiles, partition.rows, partition.pairs, start, stop, from_column, to_column,
        features.log2_bits, features.tile_offset, out,
    )  # fmt: skip
    if features.csr_start.shape[0] > 0:
        add_sparse_planes(features, partition.rows, partition.pairs, start, stop, from_cell, to_cell, out)
    if is_parallel:
        if barrier(sync, members) != 0:
            return 1
        merge_partials(partials, members, histogram, from_feature, to_feature, offset, n_planes)
    return 0
