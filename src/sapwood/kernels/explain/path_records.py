"""Memory of a path: a record per level, for a block of rows."""

# ruff: noqa: F821 (types in the language of signatures)

from typing import NamedTuple

import numpy as np

from sapwood.kernels.explain.tree_paths import EARLIER, FACTORS, GOES_LEFT, N_FACTORS
from sapwood.native.runtime.kernel import kernel, layout

BLOCK = 64  # rows that are explained together

# The record of a level, in units of BLOCK numbers: o of the left child of its split, o' of the split, o of the edge to
# its node, a sum over points; then for each point P, G of the left and of the right child, and (o − r)/f of the edge.
# Offsets within a record are constants, so that the compiler sees which arrays of a loop are distinct.
OWN, OLD, FOLLOWS, TOTAL, POINTS = range(0, 5 * BLOCK, BLOCK)
PRODUCT, LEFT_SUM, RIGHT_SUM, SLOPE = range(0, 4 * BLOCK, BLOCK)
POINT_SIZE = 4 * BLOCK


@layout
class ShapWorkspace(NamedTuple):
    """Arrays for one block of rows and one path, the first axis counts the members of the team."""

    blocks: "f64[:,:,:]"  # (slots, rows) values
    phi: "f64[:,:,:]"  # (players, rows) Shapley values
    pairs: "f64[:,:,:,:]"  # (players, players, rows) interactions, empty if they are not wanted
    records: "f64[:,:]"  # one record after the other, by level
    path: "i64[:,:]"  # (levels) split
    active: "i64[:,:,:]"  # (levels, levels) number of active edges of the path to a level, and their levels


@kernel()
def record_size(n_points):
    """Return the size of the record of a level."""
    return POINTS + POINT_SIZE * n_points


@kernel()
def enter_child(paths, parent, is_right, n_points, records, record, child):
    """Write o of the edge to a child, and the products above it, into the record ``child``."""
    for i in range(BLOCK):
        own, old = records[np.uint64(record + OWN + i)], records[np.uint64(record + OLD + i)]
        records[np.uint64(child + FOLLOWS + i)] = old - own if is_right == 1 else own
    fraction = paths.fractions[parent, GOES_LEFT]
    outside = 1.0 - fraction if is_right == 1 else fraction
    factors = paths.splits[parent, FACTORS] + (2 if is_right == 1 else 0)
    is_first = paths.splits[parent, EARLIER] == 0
    for q in range(n_points):
        # A row that goes left misses the right child.
        a = paths.factors[factors + q * N_FACTORS + (0 if is_right == 1 else 1)]
        b = paths.factors[factors + q * N_FACTORS + (1 if is_right == 1 else 0)]
        above, below = record + POINTS + q * POINT_SIZE, child + POINTS + q * POINT_SIZE
        if is_first:
            for i in range(BLOCK):
                factor = a if records[np.uint64(record + OWN + i)] > 0.0 else b
                records[np.uint64(below + i)] = records[np.uint64(above + i)] * factor
        else:
            for i in range(BLOCK):
                factor = b if records[np.uint64(record + OLD + i)] > 0.0 else outside
                factor = a if records[np.uint64(record + OWN + i)] > 0.0 else factor
                records[np.uint64(below + i)] = records[np.uint64(above + i)] * factor
