"""The steps of growing a tree, one by one, for workers that exchange what they have found in between.

``histogram_tree.py`` and ``symmetric_tree.py`` grow a tree in a single call. Where rows or features are split between
workers, each step is a kernel here, in ``leaf_batches.py`` or in ``distributed_search.py``, made of the same parts with
the same results.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.leaf_queue import add_leaf, init_node
from sapwood.kernels.histogram.builder import MIN_PARALLEL_ROWS, build_histogram, sum_root
from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.histogram.dense_bins import add_planes, clear_cells
from sapwood.kernels.histogram.gradient_scales import set_safe_scales, set_scales
from sapwood.kernels.histogram.quantised_gradients import (
    add_up_pairs,
    find_max_pairs,
    merge_hessian_ranges,
    round_pairs,
)
from sapwood.kernels.layout import LEAF_BEGIN, LEAF_END, LEAF_HIST, N_LEAVES, N_NODES, NewLeaf
from sapwood.kernels.leaves.leaf_values import set_leaf_sums, set_node_values, sum_leaves
from sapwood.kernels.threads.barrier import barrier
from sapwood.native.runtime.kernel import kernel

INFINITE = np.inf
# Steps of quantising: after each, workers combine what they have found.
FIND_MAX, ADD_UP, ROUND = range(3)


# --- quantising -------------------------------------------------------------------------------------------------------


@kernel("i64, RowPartition, Gradients, i64, RandomKey, Scales, Scratch, i64[:]")
def quantise_step(member, members, sync, step, partition, gradients, wide, random_key, scales, scratch, info):
    """Do a step of ``quantise`` for the rows of this worker; each member writes what it finds to ``scratch``."""
    n = partition.rows.shape[0]
    start = member * n // members
    stop = (member + 1) * n // members
    if step == FIND_MAX:
        find_max_pairs(partition, gradients, start, stop, scratch.floats[member], info)
    elif step == ADD_UP:
        add_up_pairs(partition, gradients, start, stop, scales.exact, scratch.ints[member])
    else:
        round_pairs(partition, gradients, start, stop, wide, random_key, scales.histogram, scratch.ints[member])


@kernel("i64, i64, i64, Scales, Scratch")
def set_scales_step(step, n, wide, scales, scratch):
    """Set scales from what a step has found in the n rows of all workers, in the first row of ``scratch``."""
    if step == FIND_MAX:
        set_safe_scales(1, n, scales, scratch)
    elif step == ADD_UP:
        set_scales(1, n, wide, scales, scratch)
    else:
        merge_hessian_ranges(1, scales, scratch)


# --- the root ---------------------------------------------------------------------------------------------------------


@kernel("RowPartition, Scratch, LeafTable, TreeNodes")
def init_root_step(member, members, sync, partition, scratch, leaves, nodes):
    """Make the root a leaf with the rows of this worker and their sums."""
    sums = scratch.ints[member][: partition.pairs.shape[0]]
    if sum_root(member, members, sync, partition.rows, partition.pairs, scratch.ints, sums) != 0 or member != 0:
        return
    add_leaf(0, NewLeaf(0, partition.rows.shape[0], 0, 0, 0, sums, -INFINITE, INFINITE), leaves)
    init_node(0, nodes)


# --- histograms -------------------------------------------------------------------------------------------------------


@kernel("i64[:], BinMatrix, RowPartition, FeatureMeta, i64[:,:], LeafTable, i64[:,:]")
def build_histograms(member, members, sync, built, bins, partition, features, partials, leaves, out):
    """Build the histograms of the rows that this worker has of some leaves, one in each row of ``out``.

    Those of large leaves are built by all members together, then those of small ones by one member each.
    """
    for phase in range(2):
        alone = phase == 1
        for k in range(built.shape[0]):
            begin = leaves.ints[built[k], LEAF_BEGIN]
            end = leaves.ints[built[k], LEAF_END]
            if (end - begin < MIN_PARALLEL_ROWS) != alone or (alone and k % members != member):
                continue
            if build_histogram(
                member, members, sync, alone, bins.tiles, partition, begin, end, features.all_active, out[k], features,
                partials,
            ) != 0:  # fmt: skip
                return
            # Partial histograms are read by all members before one of them begins with the next leaf.
            if not alone and barrier(sync, members) != 0:
                return


@kernel("i64[:], BinMatrix, RowPartition, FeatureMeta, LeafTable, i64[:,:]")
def build_slices(member, members, sync, built, bins, partition, features, leaves, out):
    """Build the histograms of some leaves, one in each row of ``out``, each member for its slice of the features."""
    first = features.slices[member]
    last = features.slices[member + 1]
    offset = features.offset
    n_cells = count_cells(offset)
    for k in range(built.shape[0]):
        for p in range(partition.pairs.shape[0]):
            clear_cells(out[k], p * n_cells + offset[first], p * n_cells + offset[last])
        add_planes(
            bins.tiles, partition.rows, partition.pairs, leaves.ints[built[k], LEAF_BEGIN],
            leaves.ints[built[k], LEAF_END], first, last, features.log2_bits, offset, out[k],
        )  # fmt: skip


@kernel("i64[:], i64[:], i64[:,:], FeatureMeta, Histograms, LeafTable")
def store_histograms(member, members, sync, built, siblings, summed, features, histograms, leaves):
    """Store the histograms of some leaves, and subtract each from that of its parent, which its sibling has taken over.

    ``summed`` has the cells of this worker's features, plane by plane. A sibling of −1 has no histogram.
    """
    offset = features.offset
    n_cells = count_cells(offset)
    first = offset[features.slices[0]]
    width = offset[features.slices[members]] - first
    begin = offset[features.slices[member]]
    n = np.uint64(offset[features.slices[member + 1]] - begin)
    n_planes = histograms.pool.shape[1] // n_cells
    for k in range(built.shape[0]):
        sibling = siblings[k]
        for p in range(n_planes):
            source = summed[k][p * width + begin - first :]
            target = histograms.pool[leaves.ints[built[k], LEAF_HIST]][p * n_cells + begin :]
            for j in range(n):
                target[j] = source[j]
            if sibling >= 0:
                rest = histograms.pool[leaves.ints[sibling, LEAF_HIST]][p * n_cells + begin :]
                for j in range(n):
                    rest[j] -= source[j]


# --- leaf values ------------------------------------------------------------------------------------------------------


@kernel("i64, Gradients, RowPartition, f64[:,:], i64[:,:], i64[:,:]")
def sum_leaf_rows(member, members, sync, n_leaves, gradients, partition, exact, leaf_ints, leaf_sums):
    """Add the true pairs and weights of this worker's rows, leaf by leaf, to the member's row of ``leaf_sums``."""
    sum_leaves(member, members, sync, n_leaves, gradients, partition, exact, leaf_ints, leaf_sums)


@kernel("i64[:,:], f64, i64[:], GrowParams, f64[:,:], i64[:,:], TreeNodes")
def set_true_values(leaf_ints, weight_scale, monotone, params, exact, leaf_sums, nodes):
    """Give the nodes their true sums and values, from the sums of all workers in the first row of ``leaf_sums``."""
    n_leaves = leaf_ints.shape[0]
    nodes.info[N_LEAVES] = n_leaves
    set_leaf_sums(1, n_leaves, leaf_ints, weight_scale, exact, leaf_sums, nodes)
    set_node_values(nodes.ints, nodes.floats, nodes.info[N_NODES], exact.shape[0], params, monotone)
