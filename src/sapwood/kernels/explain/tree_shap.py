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

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.explain.tree_paths import (
    BIT,
    EARLIER,
    GOES_LEFT,
    IS_RIGHT,
    LEFT,
    LEFT_IS_LEAF,
    LEVEL,
    MISSING_LEFT,
    PLAYER,
    REMAINS,
    RIGHT_IS_LEAF,
    SLOT,
)
from sapwood.kernels.predict.packed_forest import OUT_OFFSET, ROW_BEGIN, ROW_END, bitset_word
from sapwood.native.runtime.kernel import kernel, layout

BLOCK = 16  # rows that are explained together

U1 = np.uint64(1)


@layout
class ShapWorkspace(NamedTuple):
    """Arrays for one block of rows and one path, the first axis counts the members of the team."""

    blocks: "f64[:,:,:]"  # (slots, rows) values
    phi: "f64[:,:,:]"  # (players, rows) Shapley values
    edges: "f64[:,:,:,:]"  # (3, levels, rows) follows the left edge of the split; follows the edge; totals in level 0
    products: "f64[:,:,:,:]"  # (levels, points, rows) P
    sums: "f64[:,:,:,:,:]"  # (levels, 2, points, rows) G of the left and the right child
    path: "i64[:,:]"  # (levels) split


@kernel()
def fill_block(x, row_stride, column_stride, features, start, n, block):
    """Copy n rows from row ``start`` on into ``block``, one slot per feature; the last row fills up the block."""
    for s in range(features.shape[0]):
        for i in range(BLOCK):
            row = start + min(i, n - 1)
            block[s, i] = x[row * row_stride + features[s] * column_stride]


@kernel()
def follow_left(paths, split, block, earlier, out):
    """Write ``earlier`` where a row goes left, else 0."""
    values = block[paths.splits[split, SLOT]]
    bit = paths.splits[split, BIT]
    threshold = paths.thresholds[split]
    if bit >= 0:
        for i in range(BLOCK):
            out[i] = 0.0 if (bitset_word(values[i]) >> np.uint64(bit)) & U1 else earlier[i]
    elif paths.splits[split, MISSING_LEFT] == 1:
        for i in range(BLOCK):
            out[i] = 0.0 if values[i] > threshold else earlier[i]
    else:
        for i in range(BLOCK):
            out[i] = earlier[i] if values[i] <= threshold else 0.0


@kernel()
def edge_factor(own, earlier, followed, missed, outside):
    """Return the factor of an edge: whether the row follows it, else whether it followed the player's edges above."""
    return followed if own > 0.0 else (missed if earlier > 0.0 else outside)


@kernel()
def enter_split(paths, parent, is_right, t, n_points, own, follows, products):
    """Write whether rows follow the edge from ``parent`` to a child, and the products above the child.

    ``follows`` (levels, rows) and ``products`` (levels, points, rows) have entries up to the parent's level, ``own``
    (levels, rows) whether rows follow the left edge of the split of each level.
    """
    level, earlier = paths.splits[parent, LEVEL], paths.splits[parent, EARLIER]
    fraction, remains = paths.fractions[parent, GOES_LEFT], paths.fractions[parent, REMAINS]
    fraction = 1.0 - fraction if is_right == 1 else fraction
    left, old, new = own[level], follows[earlier], follows[level + 1]
    for i in range(BLOCK):
        new[i] = old[i] - left[i] if is_right == 1 else left[i]
    for q in range(n_points):
        above = 1.0 / (t[q] + (1.0 - t[q]) * remains)
        missed = (1.0 - t[q]) * remains * fraction * above
        followed = missed + t[q] * above
        before, after = products[level, q], products[level + 1, q]
        for i in range(BLOCK):
            after[i] = before[i] * edge_factor(new[i], old[i], followed, missed, fraction)


@kernel()
def leave_split(paths, split, output, t, n_points, own, follows, products, sums, totals, phi):
    """Add a split's terms to ``phi`` (players, rows), and write the sums G of its node for the parent.

    ``sums`` (levels, 2, points, rows) are those of the children of the split of each level, ``totals`` (rows) is a
    workspace.
    """
    level, earlier, child = paths.splits[split, LEVEL], paths.splits[split, EARLIER], paths.splits[split, LEFT]
    fraction, remains = paths.fractions[split, GOES_LEFT], paths.fractions[split, REMAINS]
    left, old = own[level], follows[earlier]
    for i in range(BLOCK):
        totals[i] = 0.0
    for q in range(n_points):
        above = 1.0 / (t[q] + (1.0 - t[q]) * remains)
        missed = (1.0 - t[q]) * remains * fraction * above
        followed = missed + t[q] * above
        square = above * above
        product, lefts, rights = products[level, q], sums[level, 0, q], sums[level, 1, q]
        result = sums[max(level - 1, 0), paths.splits[split, IS_RIGHT], q]
        if paths.splits[split, LEFT_IS_LEAF] == 1:
            value = paths.values[child, output]
            for i in range(BLOCK):
                lefts[i] = value
        if paths.splits[split, RIGHT_IS_LEAF] == 1:
            value = paths.values[child + 1, output]
            for i in range(BLOCK):
                rights[i] = value
        for i in range(BLOCK):
            right = rights[i]
            difference = lefts[i] - right
            totals[i] += product[i] * difference * square
            result[i] = right + edge_factor(left[i], old[i], followed, missed, fraction) * difference
    values = phi[paths.splits[split, PLAYER]]
    for i in range(BLOCK):
        values[i] += (left[i] * remains - old[i] * (remains * fraction)) * totals[i]


@kernel()
def explain_tree(paths, tree, output, work, member):
    """Add the Shapley values of one tree for the block of rows of a member to its ``phi``."""
    n_points = paths.n_points[tree]
    t = paths.points[n_points]
    begin, end = paths.tree_start[tree], paths.tree_start[tree + 1]
    block, path, phi = work.blocks[member], work.path[member], work.phi[member]
    own, follows, totals = work.edges[member, 0], work.edges[member, 1], work.edges[member, 2, 0]
    products, sums = work.products[member], work.sums[member]
    for i in range(BLOCK):
        follows[0, i] = 1.0
    for q in range(n_points):
        for i in range(BLOCK):
            products[0, q, i] = paths.weights[n_points, q]
    for split in range(begin, end):
        level = paths.splits[split, LEVEL]
        if level > 0:
            enter_split(paths, path[level - 1], paths.splits[split, IS_RIGHT], t, n_points, own, follows, products)
        path[level] = split
        follow_left(paths, split, block, follows[paths.splits[split, EARLIER]], own[level])
        # The nodes at the level of the next split, and below, are complete.
        last = paths.splits[split + 1, LEVEL] if split + 1 < end else 0
        for done in range(level - last + 1):
            leave_split(paths, path[level - done], output, t, n_points, own, follows, products, sums, totals, phi)


@kernel(
    "f32[:], i64, i64, TreePaths, i64[:], i64[:], ShapWorkspace, i64[:], f64[:,:,:]",
    "f64[:], i64, i64, TreePaths, i64[:], i64[:], ShapWorkspace, i64[:], f64[:,:,:]",
)
def explain_rows(
    member, members, sync, x, row_stride, column_stride, paths, share_start, share_feature, work, bounds, out
):
    """Add Shapley values of rows to ``out`` (rows, features, outputs).

    Column j of row i is ``x[i * row_stride + j * column_stride]``. ``bounds`` holds the rows (begin, end) and the row
    of ``out`` for row 0. The value of player p is divided equally among the features from ``share_start[p]`` to
    ``share_start[p + 1]`` of ``share_feature``.
    """
    begin, end, shift = bounds[ROW_BEGIN], bounds[ROW_END], bounds[OUT_OFFSET]
    n_blocks = (end - begin + BLOCK - 1) // BLOCK
    is_vector = paths.values.shape[1] > 1
    phi = work.phi[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * BLOCK
        n = min(BLOCK, end - start)
        fill_block(x, row_stride, column_stride, paths.features, start, n, work.blocks[member])
        for output in range(out.shape[2]):
            for p in range(phi.shape[0]):
                for i in range(BLOCK):
                    phi[p, i] = 0.0
            for tree in range(paths.tree_output.shape[0]):
                if is_vector or paths.tree_output[tree] == output:
                    explain_tree(paths, tree, output if is_vector else 0, work, member)
            for p in range(phi.shape[0]):
                share = 1.0 / np.float64(share_start[p + 1] - share_start[p])
                for s in range(share_start[p], share_start[p + 1]):
                    for i in range(n):
                        out[shift + start + i, share_feature[s], output] += phi[p, i] * share
