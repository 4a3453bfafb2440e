"""Interaction values of trees by quadrature.

With the notation of ``kernels/explain/tree_shap.py``, the interaction of players i and j is the sum over leaves of

    v · (o_i − r_i) · (o_j − r_j) · ∫ Π_{k ≠ i, j} f_k(t) dt

and collapses to a sum over the splits of i, and over those of j: the terms of the split, before they are added over the
points, times (o − r)/f of the other player's last edge above. That edge is called active: the edges of a path that are
followed by no later one of the same player.
"""

import numpy as np

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
    SLOPE,
    record_size,
)
from sapwood.kernels.explain.tree_paths import EARLIER, FACTORS, GOES_LEFT, LEVEL, N_FACTORS, PLAYER, REMAINS, SQUARE
from sapwood.native.runtime.kernel import kernel


@kernel()
def activate(paths, parent, active):
    """List the active edges of the path to a child of a split: those of the path to it, without the player's last."""
    level, earlier = paths.splits[parent, LEVEL], paths.splits[parent, EARLIER]
    n = 0
    for k in range(active[level, 0]):
        other = active[level, 1 + k]
        if other != earlier:
            n += 1
            active[level + 1, n] = other
    active[level + 1, n + 1] = level + 1
    active[level + 1, 0] = n + 1


@kernel()
def fill_slopes(paths, parent, is_right, tree, records, child):
    """Write (o − r)/f of the edge from a split to a child at each point into the child's record."""
    fraction = paths.fractions[parent, GOES_LEFT]
    remains = paths.fractions[parent, REMAINS] * (1.0 - fraction if is_right == 1 else fraction)
    n_points = paths.n_points[tree]
    for q in range(n_points):
        t = paths.points[n_points, q]
        followed, missed = (1.0 - remains) / (t + (1.0 - t) * remains), -1.0 / (1.0 - t)
        slope = child + POINTS + q * POINT_SIZE + SLOPE
        for i in range(BLOCK):
            records[np.uint64(slope + i)] = followed if records[np.uint64(child + FOLLOWS + i)] > 0.0 else missed


@kernel()
def leave_pairs(paths, split, n_points, records, record, path, active, pairs):
    """Add the interactions of a split with the players of the active edges above it.

    Its left sums in the record are replaced by its terms.
    """
    fraction, remains = paths.fractions[split, GOES_LEFT], paths.fractions[split, REMAINS]
    factors, player, share = paths.splits[split, FACTORS], paths.splits[split, PLAYER], remains * fraction
    for q in range(n_points):
        square = paths.factors[factors + q * N_FACTORS + SQUARE]
        point = record + POINTS + q * POINT_SIZE
        for i in range(BLOCK):
            coefficient = records[np.uint64(record + OWN + i)] * remains - records[np.uint64(record + OLD + i)] * share
            difference = records[np.uint64(point + LEFT_SUM + i)] - records[np.uint64(point + RIGHT_SUM + i)]
            product = records[np.uint64(point + PRODUCT + i)]
            records[np.uint64(point + LEFT_SUM + i)] = coefficient * square * product * difference
    level = paths.splits[split, LEVEL]
    add_pairs(paths, player, level, n_points, records, record, path, active, pairs)


@kernel()
def add_pairs(paths, player, level, n_points, records, record, path, active, pairs):
    """Add the products of the terms in a record's left sums with the slopes of the active edges to ``pairs``."""
    size = record_size(n_points)
    for k in range(active[level, 0]):
        edge = active[level, 1 + k]
        other = paths.splits[path[edge - 1], PLAYER]
        if other != player:
            total = pairs[min(player, other), max(player, other)]
            for q in range(n_points):
                terms = record + POINTS + q * POINT_SIZE + LEFT_SUM
                slopes = edge * size + POINTS + q * POINT_SIZE + SLOPE
                for i in range(BLOCK):
                    total[np.uint64(i)] += records[np.uint64(terms + i)] * records[np.uint64(slopes + i)]


@kernel()
def complete_pairs(phi, pairs):
    """Divide interactions of pairs i < j between their two entries, and put the rest of ``phi`` on the diagonal."""
    n = pairs.shape[0]
    for p in range(n):
        for i in range(BLOCK):
            pairs[p, p, i] = phi[p, i]
    for p in range(n):
        for other in range(p + 1, n):
            for i in range(BLOCK):
                half = 0.5 * pairs[p, other, i]
                pairs[p, other, i] = half
                pairs[other, p, i] = half
                pairs[p, p, i] -= half
                pairs[other, other, i] -= half


@kernel()
def share_pairs(pairs, i, share_start, share_feature, out, output):
    """Add the interaction values of one row to ``out`` (features, features, outputs).

    Those of a combination with another player are divided equally among its columns, and so is its diagonal.
    """
    for p in range(pairs.shape[0]):
        for other in range(pairs.shape[0]):
            n = share_start[p + 1] - share_start[p]
            n_others = share_start[other + 1] - share_start[other]
            if p == other:
                for s in range(share_start[p], share_start[p + 1]):
                    out[share_feature[s], share_feature[s], output] += pairs[p, p, i] / np.float64(n)
            else:
                value = pairs[p, other, i] / np.float64(n * n_others)
                for s in range(share_start[p], share_start[p + 1]):
                    for r in range(share_start[other], share_start[other + 1]):
                        out[share_feature[s], share_feature[r], output] += value
