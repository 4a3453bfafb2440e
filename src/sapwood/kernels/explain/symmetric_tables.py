"""Shapley values of symmetric trees: a table per tree.

All rows of a leaf of a symmetric tree have passed every split alike, so they share the Shapley values of the tree. They
are computed once per leaf, as those of a row that has the outcomes of the splits as its values; a row then adds one
line of the table.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.explain.path_records import BLOCK
from sapwood.kernels.explain.tree_shap import explain_tree, fill_block
from sapwood.kernels.predict.packed_forest import OUT_OFFSET, ROW_BEGIN, ROW_END
from sapwood.native.runtime.kernel import kernel, layout


@layout
class SymmetricTables(NamedTuple):
    """The splits of each depth of symmetric trees, and the Shapley values of their leaves."""

    split_start: "i64[:]"  # (T + 1) first split of each tree
    slot: "i64[:]"  # (D) slot of the split's value in a block of rows
    threshold: "f64[:]"  # (D)
    missing_left: "i64[:]"  # (D)
    player_start: "i64[:]"  # (T + 1) first player of each tree
    player: "i64[:]"  # players of each tree
    table_start: "i64[:]"  # (T) start of its table
    output: "i64[:]"  # (T)
    features: "i64[:]"  # per slot of a block: the column of the table
    table: "f64[:]"  # (outputs of a leaf, players, leaves) of each tree; bit k of a leaf is the outcome at depth k


@kernel("TreePaths, LinearPaths, ShapWorkspace, SymmetricTables, f64[:]")
def fill_tables(member, members, sync, paths, leaves, work, tables, out):
    """Write the tables of trees whose split of depth k has slot k and threshold 1/2, with players from 0 on."""
    n_trees, width = tables.output.shape[0], paths.values.shape[1]
    phi, block = work.phi[member], work.blocks[member]
    for tree in range(member * n_trees // members, (member + 1) * n_trees // members):
        depth = tables.split_start[tree + 1] - tables.split_start[tree]
        n_players = tables.player_start[tree + 1] - tables.player_start[tree]
        n_leaves = 1 << depth
        for first in range(0, n_leaves, BLOCK):
            for k in range(depth):
                for i in range(BLOCK):
                    block[k, i] = np.float64(((first + i) >> k) & 1)
            for output in range(width):
                for p in range(n_players):
                    for i in range(BLOCK):
                        phi[p, i] = 0.0
                explain_tree(paths, leaves, tree, output, work, member)
                start = tables.table_start[tree] + output * n_players * n_leaves + first
                for p in range(n_players):
                    for i in range(min(BLOCK, n_leaves - first)):
                        out[start + p * n_leaves + i] = phi[p, i]


@kernel()
def find_outcomes(tables, tree, block, outcomes):
    """Write the leaf of each row of a block: bit k is the outcome at depth k."""
    for i in range(BLOCK):
        outcomes[np.uint64(i)] = 0
    begin = tables.split_start[tree]
    for k in range(tables.split_start[tree + 1] - begin):
        values, threshold, bit = block[tables.slot[begin + k]], tables.threshold[begin + k], 1 << k
        if tables.missing_left[begin + k] == 1:
            for i in range(BLOCK):
                outcomes[np.uint64(i)] |= bit if values[np.uint64(i)] > threshold else 0
        else:
            for i in range(BLOCK):
                outcomes[np.uint64(i)] |= 0 if values[np.uint64(i)] <= threshold else bit


@kernel(
    "f32[:], i64, i64, SymmetricTables, i64[:], i64[:], f64[:,:,:], f64[:,:,:], i64[:,:], i64[:], f64[:,:,:]",
    "f64[:], i64, i64, SymmetricTables, i64[:], i64[:], f64[:,:,:], f64[:,:,:], i64[:,:], i64[:], f64[:,:,:]",
)
def add_table_values(
    member, members, sync, x, row_stride, column_stride, tables, share_start, share_feature, blocks, phi, outcomes,
    bounds, out
):  # fmt: skip
    """Add Shapley values of rows to ``out`` (rows, features, outputs); see ``explain_rows`` for the arguments.

    ``blocks`` (slots, rows), ``phi`` (outputs · players, rows) and ``outcomes`` (rows) are workspaces, with one entry
    per member.
    """
    begin, end, shift = bounds[ROW_BEGIN], bounds[ROW_END], bounds[OUT_OFFSET]
    n_blocks = (end - begin + BLOCK - 1) // BLOCK
    n_outputs, n_players = out.shape[2], share_start.shape[0] - 1
    sums, leaf = phi[member], outcomes[member]
    for b in range(member * n_blocks // members, (member + 1) * n_blocks // members):
        start = begin + b * BLOCK
        n = min(BLOCK, end - start)
        fill_block(x, row_stride, column_stride, tables.features, start, n, blocks[member])
        for p in range(sums.shape[0]):
            for i in range(BLOCK):
                sums[p, i] = 0.0
        for tree in range(tables.output.shape[0]):
            find_outcomes(tables, tree, blocks[member], leaf)
            first, last = tables.player_start[tree], tables.player_start[tree + 1]
            n_leaves = 1 << (tables.split_start[tree + 1] - tables.split_start[tree])
            is_vector = tables.output[tree] < 0
            for k in range(n_outputs if is_vector else 1):
                output = k if is_vector else tables.output[tree]
                line = tables.table_start[tree] + k * (last - first) * n_leaves
                for p in range(last - first):
                    total = sums[output * n_players + tables.player[first + p]]
                    for i in range(BLOCK):
                        total[np.uint64(i)] += tables.table[np.uint64(line + p * n_leaves + leaf[np.uint64(i)])]
        for output in range(n_outputs):
            for p in range(n_players):
                share = 1.0 / np.float64(share_start[p + 1] - share_start[p])
                for s in range(share_start[p], share_start[p + 1]):
                    for i in range(n):
                        out[shift + start + i, share_feature[s], output] += sums[output * n_players + p, i] * share
