"""Shapley values of trees by quadrature.

Let a player of a leaf's path have o = 1 if the row follows all its splits there, else 0, and let r be the fraction of
the cover that follows them. With factors f(t) = t·o + (1 − t)·r, the leaf of value v adds

    v · (o_i − r_i) · ∫ Π_{j ≠ i} f_j(t) dt        (0 to 1)

to the Shapley value of player i. The product is a polynomial whose degree is less than the number of distinct players,
so a Gauss–Legendre rule with half as many points is exact. All factors lie in [0, 1].

For a point t, let P be the product of the factors above a split, and G the sum of values below a node, each times the
factors between the node and its leaf. The factor of an edge is M = f/f', f' that of the player's last edge above
(f' = 1, o' = r' = 1 if there is none). Those of both children add up to 1, therefore

    G = G_right + M_left · D        D = G_left − G_right

and the terms of all leaves below a split collapse, leaf by leaf and edge by edge, to

    φ_i += (o_left · r' − o' · r_left) · Σ_t w(t) · P(t) · D(t) / f'(t)²

which is 0 if o' = 0. Each split costs a few operations per point, in loops over the rows of a block. The weights w are
part of P from the root on. Rows are independent and trees are added in their order, so that the values depend neither
on the blocks nor on the number of threads.
"""

import numpy as np

from sapwood.kernels.explain.linear_leaves import fill_linear_sums
from sapwood.kernels.explain.path_pairs import activate, complete_pairs, fill_slopes, leave_pairs, share_pairs
from sapwood.kernels.explain.path_records import (
    BLOCK,
    FOLLOWS,
    LEFT_SUM,
    OLD,
    OWN,
    POINT_SIZE,
    POINTS,
    PRODUCT,
    RIGHT_SUM,
    TOTAL,
    enter_child,
    record_size,
)
from sapwood.kernels.explain.tree_paths import (
    BIT,
    EARLIER,
    FACTORS,
    GOES_LEFT,
    IS_RIGHT,
    LEFT,
    LEFT_IS_LEAF,
    LEFT_MISSED,
    LEVEL,
    MISSING_LEFT,
    N_FACTORS,
    PLAYER,
    REMAINS,
    RIGHT_IS_LEAF,
    SLOT,
    SQUARE,
)
from sapwood.kernels.predict.packed_forest import OUT_OFFSET, ROW_BEGIN, ROW_END, bitset_word
from sapwood.native.runtime.kernel import kernel

U1 = np.uint64(1)


@kernel()
def fill_block(x, row_stride, column_stride, features, start, n, block):
    """Copy n rows from row ``start`` on into ``block``, one slot per feature; the last row fills up the block."""
    for s in range(features.shape[0]):
        for i in range(BLOCK):
            row = start + min(i, n - 1)
            block[s, i] = x[row * row_stride + features[s] * column_stride]


@kernel()
def follow_left(paths, split, values, records, record, old_record):
    """Write o' of a split, the o in ``old_record``, and o of its left child."""
    bit = paths.splits[split, BIT]
    threshold = paths.thresholds[split]
    old = old_record + FOLLOWS
    for i in range(BLOCK):
        records[np.uint64(record + OLD + i)] = records[np.uint64(old + i)]
    if bit >= 0:
        for i in range(BLOCK):
            goes_right = (bitset_word(values[np.uint64(i)]) >> np.uint64(bit)) & U1
            records[np.uint64(record + OWN + i)] = 0.0 if goes_right else records[np.uint64(record + OLD + i)]
    elif paths.splits[split, MISSING_LEFT] == 1:
        for i in range(BLOCK):
            follows = records[np.uint64(record + OLD + i)]
            records[np.uint64(record + OWN + i)] = 0.0 if values[np.uint64(i)] > threshold else follows
    else:
        for i in range(BLOCK):
            follows = records[np.uint64(record + OLD + i)]
            records[np.uint64(record + OWN + i)] = follows if values[np.uint64(i)] <= threshold else 0.0


@kernel()
def fill_sums(value, n_points, records, sums):
    """Write the value of a leaf as the sums of a child."""
    for q in range(n_points):
        for i in range(BLOCK):
            records[np.uint64(sums + q * POINT_SIZE + i)] = value


@kernel()
def leave_split(paths, split, n_points, records, record, result, phi):
    """Add a split's terms to ``phi`` (players, rows), and write the sums G of its node to ``result``."""
    fraction, remains = paths.fractions[split, GOES_LEFT], paths.fractions[split, REMAINS]
    factors, is_first = paths.splits[split, FACTORS], paths.splits[split, EARLIER] == 0
    for i in range(BLOCK):
        records[np.uint64(record + TOTAL + i)] = 0.0
    for q in range(n_points):
        missed = paths.factors[factors + q * N_FACTORS + LEFT_MISSED]
        followed = paths.factors[factors + q * N_FACTORS + LEFT_MISSED + 1]
        square = paths.factors[factors + q * N_FACTORS + SQUARE]
        point, out = record + POINTS + q * POINT_SIZE, result + q * POINT_SIZE
        if is_first:
            for i in range(BLOCK):
                right = records[np.uint64(point + RIGHT_SUM + i)]
                difference = records[np.uint64(point + LEFT_SUM + i)] - right
                records[np.uint64(record + TOTAL + i)] += records[np.uint64(point + PRODUCT + i)] * difference
                factor = followed if records[np.uint64(record + OWN + i)] > 0.0 else missed
                records[np.uint64(out + i)] = right + factor * difference
        else:
            for i in range(BLOCK):
                right = records[np.uint64(point + RIGHT_SUM + i)]
                difference = records[np.uint64(point + LEFT_SUM + i)] - right
                records[np.uint64(record + TOTAL + i)] += records[np.uint64(point + PRODUCT + i)] * difference * square
                factor = missed if records[np.uint64(record + OLD + i)] > 0.0 else fraction
                factor = followed if records[np.uint64(record + OWN + i)] > 0.0 else factor
                records[np.uint64(out + i)] = right + factor * difference
    player = paths.splits[split, PLAYER]
    share = remains * fraction
    for i in range(BLOCK):
        own, old = records[np.uint64(record + OWN + i)], records[np.uint64(record + OLD + i)]
        phi[player, i] += (own * remains - old * share) * records[np.uint64(record + TOTAL + i)]


@kernel()
def start_tree(paths, n_points, records):
    """Write the record of level 0: all rows are at the root, whose products are the weights of the quadrature."""
    for i in range(BLOCK):
        records[np.uint64(FOLLOWS + i)] = 1.0
    for q in range(n_points):
        for i in range(BLOCK):
            records[np.uint64(POINTS + PRODUCT + q * POINT_SIZE + i)] = paths.weights[n_points, q]


@kernel()
def explain_tree(paths, leaves, tree, output, work, member):
    """Add the Shapley values of one tree for the block of rows of a member to its ``phi``, and those of pairs."""
    n_points = paths.n_points[tree]
    size = record_size(n_points)
    end = paths.tree_start[tree + 1]
    path, phi, records, pairs = work.path[member], work.phi[member], work.records[member], work.pairs[member]
    active = work.active[member]
    has_pairs = pairs.shape[0] > 0
    start_tree(paths, n_points, records)
    active[0, 0] = 0
    if paths.tree_start[tree] == end and leaves.start.shape[0] > 0:  # the root is a leaf, which may be linear
        fill_linear_sums(paths, leaves, tree, leaves.root[tree], POINTS + RIGHT_SUM, 0, work, member)
    for split in range(paths.tree_start[tree], end):
        level = paths.splits[split, LEVEL]
        record = level * size
        if level > 0:
            is_right = paths.splits[split, IS_RIGHT]
            enter_child(paths, path[level - 1], is_right, n_points, records, record - size, record)
            if has_pairs:
                activate(paths, path[level - 1], active)
                fill_slopes(paths, path[level - 1], is_right, tree, records, record)
        path[level] = split
        values = work.blocks[member, paths.splits[split, SLOT]]
        follow_left(paths, split, values, records, record, paths.splits[split, EARLIER] * size)
        if paths.splits[split, LEFT_IS_LEAF] == 1:
            enter_leaf(paths, leaves, tree, split, 0, output, work, member)
        if paths.splits[split, RIGHT_IS_LEAF] == 1:
            enter_leaf(paths, leaves, tree, split, 1, output, work, member)
        # The nodes at the level of the next split, and below, are complete.
        last = paths.splits[split + 1, LEVEL] if split + 1 < end else 0
        for done in range(level - last + 1):
            left = path[level - done]
            above = (level - done - 1) * size if level > done else 0
            side = RIGHT_SUM if paths.splits[left, IS_RIGHT] == 1 else LEFT_SUM
            leave_split(paths, left, n_points, records, record - done * size, above + POINTS + side, phi)
            if has_pairs:
                leave_pairs(paths, left, n_points, records, record - done * size, path, active, pairs)


@kernel()
def enter_leaf(paths, leaves, tree, split, is_right, output, work, member):
    """Write the sums of a leaf below a split: its value, or at each point that of its linear model."""
    n_points, node = paths.n_points[tree], paths.splits[split, LEFT] + is_right
    record = paths.splits[split, LEVEL] * record_size(n_points)
    sums = record + POINTS + (RIGHT_SUM if is_right == 1 else LEFT_SUM)
    records = work.records[member]
    if leaves.start.shape[0] == 0 or leaves.start[node] == leaves.start[node + 1]:
        fill_sums(paths.values[node, output], n_points, records, sums)
        return
    child = record + record_size(n_points)
    enter_child(paths, split, is_right, n_points, records, record, child)
    work.path[member, paths.splits[split, LEVEL]] = split
    if work.pairs.shape[1] > 0:
        activate(paths, split, work.active[member])
        fill_slopes(paths, split, is_right, tree, records, child)
    fill_linear_sums(paths, leaves, tree, node, sums, child, work, member)


@kernel(
    "f32[:], i64, i64, TreePaths, LinearPaths, i64[:], i64[:], ShapWorkspace, i64[:], f64[:,:,:]",
    "f64[:], i64, i64, TreePaths, LinearPaths, i64[:], i64[:], ShapWorkspace, i64[:], f64[:,:,:]",
)
def explain_rows(
    member, members, sync, x, row_stride, column_stride, paths, leaves, share_start, share_feature, work, bounds, out
):
    """Add Shapley values of rows to ``out`` (rows, features, outputs).

    Column j of row i is ``x[i * row_stride + j * column_stride]``. ``bounds`` holds the rows (begin, end) and the row
    of ``out`` for row 0. The value of player p is divided equally among the features from ``share_start[p]`` to
    ``share_start[p + 1]`` of ``share_feature``.
    """
    begin, end, shift = bounds[ROW_BEGIN], bounds[ROW_END], bounds[OUT_OFFSET]
    n_blocks = (end - begin + BLOCK - 1) // BLOCK
    phi = work.phi[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * BLOCK
        n = min(BLOCK, end - start)
        fill_block(x, row_stride, column_stride, paths.features, start, n, work.blocks[member])
        for output in range(out.shape[2]):
            explain_block(paths, leaves, output, work, member)
            for p in range(phi.shape[0]):
                share = 1.0 / np.float64(share_start[p + 1] - share_start[p])
                for s in range(share_start[p], share_start[p + 1]):
                    for i in range(n):
                        out[shift + start + i, share_feature[s], output] += phi[p, i] * share


@kernel()
def explain_block(paths, leaves, output, work, member):
    """Write the Shapley values of one output for the block of rows of a member to its ``phi`` and ``pairs``."""
    phi, pairs = work.phi[member], work.pairs[member]
    for p in range(phi.shape[0]):
        for i in range(BLOCK):
            phi[p, i] = 0.0
    for p in range(pairs.shape[0]):
        for other in range(pairs.shape[0]):
            for i in range(BLOCK):
                pairs[p, other, i] = 0.0
    is_vector = paths.values.shape[1] > 1
    for tree in range(paths.tree_output.shape[0]):
        if is_vector or paths.tree_output[tree] == output:
            explain_tree(paths, leaves, tree, output if is_vector else 0, work, member)


@kernel(
    "f32[:], i64, i64, TreePaths, LinearPaths, i64[:], i64[:], ShapWorkspace, i64[:], f64[:,:,:,:]",
    "f64[:], i64, i64, TreePaths, LinearPaths, i64[:], i64[:], ShapWorkspace, i64[:], f64[:,:,:,:]",
)
def explain_row_pairs(
    member, members, sync, x, row_stride, column_stride, paths, leaves, share_start, share_feature, work, bounds, out
):
    """Add interaction values of rows to ``out`` (rows, features, features, outputs); see ``explain_rows``."""
    begin, end, shift = bounds[ROW_BEGIN], bounds[ROW_END], bounds[OUT_OFFSET]
    n_blocks = (end - begin + BLOCK - 1) // BLOCK
    phi, pairs = work.phi[member], work.pairs[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * BLOCK
        n = min(BLOCK, end - start)
        fill_block(x, row_stride, column_stride, paths.features, start, n, work.blocks[member])
        for output in range(out.shape[3]):
            explain_block(paths, leaves, output, work, member)
            complete_pairs(phi, pairs)
            for i in range(n):
                share_pairs(pairs, i, share_start, share_feature, out[shift + start + i], output)
