"""The steps of growing a tree, one by one, for workers that exchange what they have found in between.

``histogram_tree.py`` and ``symmetric_tree.py`` grow a tree in a single call. Where rows or features are split between
workers, each step is a kernel here, made of the same parts with the same results.
"""

from __future__ import annotations

import numpy as np

from sapwood.kernels.grow.child_leaves import make_children, replace_leaf, set_child_sums
from sapwood.kernels.grow.histogram_pool import release_histograms, reserve_histograms
from sapwood.kernels.grow.leaf_queue import add_leaf, count_planes, init_node, next_leaf, split_node
from sapwood.kernels.grow.row_partition import partition_leaf
from sapwood.kernels.histogram.builder import sum_root
from sapwood.kernels.histogram.cells import count_cells
from sapwood.kernels.histogram.dense_bins import add_planes, clear_cells
from sapwood.kernels.histogram.gradient_scales import add_up, find_max, set_safe_scales, set_scales
from sapwood.kernels.histogram.quantised_gradients import merge_hessian_ranges, number_rows, reset_range, round_rows
from sapwood.kernels.layout import (
    LEAF_HIST,
    N_LEAVES,
    N_NODES,
    SPLIT_FEATURE,
    NewLeaf,
)
from sapwood.kernels.leaves.leaf_values import set_leaf_sums, set_node_values, sum_leaf_pairs
from sapwood.kernels.split.column_sampler import follow_split
from sapwood.kernels.split.monotone import set_child_bounds
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
    n_outputs = gradients.pairs.shape[0]
    if step == FIND_MAX:
        number_rows(partition.rows, gradients.pairs.shape[1] // 2, start, stop)
        for k in range(n_outputs):
            max_pair = scratch.floats[member, 2 * k : 2 * k + 2]
            find_max(gradients.pairs[k], gradients.weight, partition.rows, start, stop, max_pair, info)
    elif step == ADD_UP:
        for k in range(n_outputs):
            out = scratch.ints[member, 2 * k : 2 * k + 2]
            add_up(gradients.pairs[k], gradients.weight, partition.rows, start, stop, scales.exact[k], out)
    else:
        for k in range(n_outputs):
            reset_range(scratch.ints[member, 2 * k : 2 * k + 2])
        round_rows(partition, gradients, start, stop, wide, False, random_key, scales.histogram, scratch.ints[member])


@kernel("i64, i64, i64, Scales, Scratch")
def set_scales_step(step, n, wide, scales, scratch):
    """Set scales from what a step has found in the n rows of all workers, in the first row of ``scratch``."""
    if step == FIND_MAX:
        set_safe_scales(1, n, scales, scratch)
    elif step == ADD_UP:
        set_scales(1, n, wide, scales, scratch)
    else:
        merge_hessian_ranges(1, scales, scratch)


# --- leaves -----------------------------------------------------------------------------------------------------------


@kernel("RowPartition, Scratch")
def sum_root_step(member, members, sync, partition, scratch):
    """Sum the quantised pairs of the rows of this worker, into the first row of ``scratch``."""
    sum_root(
        member,
        members,
        sync,
        partition.rows,
        partition.pairs,
        scratch.ints,
        scratch.ints[member][: partition.pairs.shape[0]],
    )


@kernel("i64, i64[:], LeafTable, TreeNodes")
def init_root_step(n_rows, sums, leaves, nodes):
    """Make the root a leaf with ``n_rows`` rows of this worker and the sums of all workers."""
    add_leaf(0, NewLeaf(0, n_rows, 0, 0, 0, sums, -INFINITE, INFINITE), leaves)
    init_node(0, nodes)


@kernel("i64, i64, LeafTable, i64[:]")
def find_next_leaf(n_leaves, growth, leaves, out):
    """Find the leaf to split next; -1 if there is none."""
    out[0] = next_leaf(n_leaves, growth, leaves.ints, leaves.floats, False)


@kernel("i64, BinMatrix, FeatureMeta, RowPartition, LeafTable, SplitCandidates, i64[:]")
def partition_step(member, members, sync, leaf, bins, features, partition, leaves, candidates, out):
    """Partition the rows of a leaf by its split; ``out`` takes the number of rows that went left."""
    decoded = bins.decoded[member]
    n_left = partition_leaf(
        member, members, sync, bins, decoded, leaves.ints[leaf], features, partition, candidates.n_left
    )
    if member == 0:
        out[0] = n_left


@kernel("i64, i64, i64, i64, FeatureMeta, GrowParams, Scales, Scratch, LeafTable, ColumnSampler, TreeNodes")
def split_leaf_step(leaf, new, child, n_left, features, params, scales, scratch, leaves, sampler, nodes):
    """Replace a leaf whose rows are partitioned by its children, the right one as leaf ``new``.

    The node of the left child is ``child``, or -1 if the leaf's node is to be split first. The left child takes the
    leaf's histogram.
    """
    n_planes = count_planes(leaves)
    sums = scratch.ints[0][: 2 * n_planes]
    bounds = scratch.floats[0][:4]
    f = leaves.ints[leaf, SPLIT_FEATURE]
    set_child_sums(leaves.ints[leaf], sums)
    set_child_bounds(leaf, sums, bounds, features.monotone[f], params, scales.histogram, leaves)
    follow_split(0, leaf, new, f, sampler)
    node = split_node(leaf, leaves, nodes) if child < 0 else child
    hist = leaves.ints[leaf, LEAF_HIST]
    children = make_children(leaves.ints[leaf], n_left, node, hist, -1, False, False, sums, bounds)
    replace_leaf(leaf, new, children, leaves, nodes)


@kernel("i64, i64, i64, i64, LeafTable, i64[:]")
def assign_histograms(leaf, new, small, free, leaves, hists):
    """Give the smaller of two children a ``free`` histogram (-1: none) and the other that of their parent.

    A histogram that is missing is taken from the leaf of least gain. ``small`` is ``leaf`` or ``new``.
    """
    hists[0] = free
    hists[1] = leaves.ints[leaf, LEAF_HIST]
    reserve_histograms(new + 1, hists, leaves)
    release_histograms(new + 1, hists[0], hists[1], leaves.ints)
    leaves.ints[small, LEAF_HIST] = hists[0]
    leaves.ints[leaf + new - small, LEAF_HIST] = hists[1]


# --- histograms -------------------------------------------------------------------------------------------------------


@kernel("i64, i64, BinMatrix, RowPartition, FeatureMeta, i64[:]")
def build_slices(member, members, sync, begin, end, bins, partition, features, histogram):
    """Build the histogram of the rows at ``begin`` to ``end``, each member for its slice of the features."""
    first = features.slices[member]
    last = features.slices[member + 1]
    offset = features.offset
    n_cells = count_cells(offset)
    for p in range(partition.pairs.shape[0]):
        clear_cells(histogram, p * n_cells + offset[first], p * n_cells + offset[last])
    add_planes(
        bins.tiles, partition.rows, partition.pairs, begin, end, first, last, features.log2_bits, offset, histogram
    )


# --- leaf values ------------------------------------------------------------------------------------------------------


@kernel("i64, Gradients, u32[:], f64[:,:], i64[:,:], i64[:,:]")
def sum_leaf_rows(member, members, sync, n_leaves, gradients, rows, exact, leaf_ints, leaf_sums):
    """Add the true pairs and weights of this worker's rows, leaf by leaf, to the member's row of ``leaf_sums``."""
    sum_leaf_pairs(member, members, n_leaves, leaf_ints, gradients, rows, exact, leaf_sums)


@kernel("i64[:,:], f64, i64[:], GrowParams, f64[:,:], i64[:,:], TreeNodes")
def set_true_values(leaf_ints, weight_scale, monotone, params, exact, leaf_sums, nodes):
    """Give the nodes their true sums and values, from the sums of all workers in the first row of ``leaf_sums``."""
    n_leaves = leaf_ints.shape[0]
    nodes.info[N_LEAVES] = n_leaves
    set_leaf_sums(1, n_leaves, leaf_ints, weight_scale, exact, leaf_sums, nodes)
    set_node_values(nodes.ints, nodes.floats, nodes.info[N_NODES], exact.shape[0], params, monotone)
