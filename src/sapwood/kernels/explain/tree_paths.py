"""Prepare trees for Shapley values: their splits in depth-first order, each with what its path says about its player.

A player is a column of the user, or several that are combined: all splits on columns computed from it belong to it. The
level of a node is the number of splits above it. Level h > 0 also stands for the edge that leads to a node of level h.
"""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

from sapwood.native.runtime.kernel import kernel, layout

# Columns of ``TreePaths.splits``: slot of the split's value in a block of rows; the bit of a category bitset, -1 for a
# threshold; whether missing values go left; player; level; level of the last edge of the same player above, 0 if there
# is none; whether the node is the right child of its parent; left child; whether the left and the right child are
# leaves; start of its factors.
SLOT, BIT, MISSING_LEFT, PLAYER, LEVEL, EARLIER, IS_RIGHT, LEFT, LEFT_IS_LEAF, RIGHT_IS_LEAF, FACTORS = range(11)
N_SPLIT_COLUMNS = 11
# Columns of ``TreePaths.fractions``: the fraction of the node's cover that goes left; the fraction of all rows that the
# splits of the same player above leave.
GOES_LEFT, REMAINS = range(2)
# Factors of a split at a point: of the left edge for rows that miss it and rows that follow it, of the right edge, and
# the reciprocal square of the factor of the player's last edge above.
LEFT_MISSED, LEFT_FOLLOWED, RIGHT_MISSED, RIGHT_FOLLOWED, SQUARE = range(5)
N_FACTORS = 5


@layout
class TreePaths(NamedTuple):
    """The splits of all trees, the root first, every left subtree before the right one."""

    tree_start: "i64[:]"  # (T + 1) first split of each tree
    tree_output: "i32[:]"  # (T)
    n_points: "i64[:]"  # (T) points of the quadrature that are exact for the tree
    splits: "i64[:,:]"  # (S, N_SPLIT_COLUMNS)
    thresholds: "f64[:]"  # (S)
    fractions: "f64[:,:]"  # (S, 2)
    factors: "f64[:]"  # N_FACTORS for each split and point
    values: "f64[:,:]"  # (N, width) of all nodes
    features: "i64[:]"  # per slot of a block: the column of the table
    points: "f64[:,:]"  # (n, q): point q of the quadrature with n points, between 0 and 1
    weights: "f64[:,:]"  # (n, q): its weight


@kernel("i64[:], i32[:], i32[:], f64[:], i64[:], i64[:,:], f64[:,:], i64[:,:], f64[:,:], i64[:], i64[:], i64[:]")
def list_paths(
    tree_start,
    feature,
    left,
    cover,
    players,
    stack,
    remains,
    splits,
    fractions,
    nodes,
    split_start,
    n_distinct,
):
    """Write the splits of trees in depth-first order, and the largest number of distinct players on a path of each.

    ``feature`` and ``left`` are those of an ensemble, ``cover`` is the weight of each node, ``players`` has the player
    of each feature. ``nodes`` receives the node of each split. ``stack`` (levels + 2, 6) and ``remains``
    (levels + 2, 2) are workspaces.
    """
    # Columns of ``stack``, at the position of a node that waits: node, level, whether it is a right child. At the
    # position of a level: player of the split there, player of the edge to it, distinct players on the path to it.
    # ``remains``: of the edge to the waiting node, and of the edge at the level, what its player's splits leave.
    n = 0
    for tree in range(tree_start.shape[0] - 1):
        split_start[tree] = n
        n_distinct[tree] = 0
        root = tree_start[tree]
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 4], stack[0, 5] = root, 0, 0, -1, 0
        remains[0, 0] = 1.0
        n_waiting = 1 if feature[root] >= 0 else 0
        while n_waiting > 0:
            n_waiting -= 1
            node, level, is_right = stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2]
            remains[level, 1] = remains[n_waiting, 0]
            player = players[feature[node]]
            if level > 0:
                stack[level, 4] = stack[level - 1, 3]
            stack[level, 3] = player
            earlier = level
            while earlier > 0 and stack[earlier, 4] != player:
                earlier -= 1
            before = remains[earlier, 1] if earlier > 0 else 1.0
            distinct = stack[level, 5] + (1 if earlier == 0 else 0)
            stack[level + 1, 5] = distinct
            n_distinct[tree] = max(n_distinct[tree], distinct)
            child = root + left[node]
            total = cover[child] + cover[child + 1]
            goes_left = cover[child] / total if total > 0.0 else 0.5
            nodes[n] = node
            splits[n, PLAYER], splits[n, LEVEL], splits[n, EARLIER] = player, level, earlier
            splits[n, IS_RIGHT], splits[n, LEFT] = is_right, child
            splits[n, LEFT_IS_LEAF] = 1 if feature[child] < 0 else 0
            splits[n, RIGHT_IS_LEAF] = 1 if feature[child + 1] < 0 else 0
            fractions[n, GOES_LEFT], fractions[n, REMAINS] = goes_left, before
            n += 1
            if feature[child + 1] >= 0:
                stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2] = child + 1, level + 1, 1
                remains[n_waiting, 0] = before * (1.0 - goes_left)
                n_waiting += 1
            if feature[child] >= 0:
                stack[n_waiting, 0], stack[n_waiting, 1], stack[n_waiting, 2] = child, level + 1, 0
                remains[n_waiting, 0] = before * goes_left
                n_waiting += 1
    split_start[tree_start.shape[0] - 1] = n


@kernel("i64[:], i64[:], f64[:,:], i64[:,:], f64[:,:], f64[:]")
def list_factors(tree_start, n_points, points, splits, fractions, factors):
    """Write the factors of the edges of each split at the points of its tree, and where they start."""
    k = 0
    for tree in range(tree_start.shape[0] - 1):
        for split in range(tree_start[tree], tree_start[tree + 1]):
            splits[split, FACTORS] = k
            goes_left, remains = fractions[split, GOES_LEFT], fractions[split, REMAINS]
            for q in range(n_points[tree]):
                t = points[n_points[tree], q]
                above = 1.0 / (t + (1.0 - t) * remains)
                followed = t * above
                factors[k + LEFT_MISSED] = (1.0 - t) * remains * goes_left * above
                factors[k + LEFT_FOLLOWED] = factors[k + LEFT_MISSED] + followed
                factors[k + RIGHT_MISSED] = (1.0 - t) * remains * (1.0 - goes_left) * above
                factors[k + RIGHT_FOLLOWED] = factors[k + RIGHT_MISSED] + followed
                factors[k + SQUARE] = above * above
                k += N_FACTORS


@kernel("i64[:], i64[:,:], f64[:,:], i64[:], i64[:], i64[:], i64[:], i64[:], f64[:]")
def list_leaf_edges(tree_start, splits, fractions, start, player, path, level, edge, remains):
    """Write the level of each linear leaf, and of each coefficient its player's last edge and what that leaves.

    Node n has the coefficients ``start[n]`` to ``start[n + 1]``, which belong to ``player``. ``path`` (levels) is a
    workspace.
    """
    for tree in range(tree_start.shape[0] - 1):
        for split in range(tree_start[tree], tree_start[tree + 1]):
            depth = splits[split, LEVEL]
            path[depth] = split
            for side in range(2):
                node = splits[split, LEFT] + side
                is_leaf = splits[split, RIGHT_IS_LEAF if side == 1 else LEFT_IS_LEAF] == 1
                level[node] = depth + 1
                for k in range(start[node], start[node + 1] if is_leaf else start[node]):
                    edge[k], remains[k] = 0, 1.0
                    for e in range(1, depth + 2):
                        above = path[e - 1]
                        if splits[above, PLAYER] == player[k]:
                            is_right = side if e == depth + 1 else splits[path[e], IS_RIGHT]
                            goes_left = fractions[above, GOES_LEFT]
                            fraction = 1.0 - goes_left if is_right == 1 else goes_left
                            edge[k], remains[k] = e, fractions[above, REMAINS] * fraction


@kernel("i64[:], i64[:,:], f64[:,:], i64[:]")
def list_remains(tree_start, splits, fractions, path):
    """Write what the splits of the same player above leave, by the fractions that go left; ``path`` is a workspace."""
    for tree in range(tree_start.shape[0] - 1):
        for split in range(tree_start[tree], tree_start[tree + 1]):
            path[splits[split, LEVEL]] = split
            earlier = splits[split, EARLIER]
            fractions[split, REMAINS] = 1.0
            if earlier > 0:
                above, is_right = path[earlier - 1], splits[path[earlier], IS_RIGHT]
                fraction = fractions[above, GOES_LEFT]
                fraction = 1.0 - fraction if is_right == 1 else fraction
                fractions[split, REMAINS] = fractions[above, REMAINS] * fraction
