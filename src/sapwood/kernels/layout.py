"""The arrays that kernels share while a tree grows.

Notation: n rows, m of them in the tree, F features, K outputs, L leaves at most, N nodes at most, T members of the
team.

A gradient pair is quantised to integers, so that sums do not depend on their order. *Packed*: gradient in the high
and hessian in the low half of one int64, one plane per output. *Wide*: two planes per output, gradient then hessian.
P is the number of planes. A histogram is one int64 per plane and cell; the cells of feature f are ``start[f] + bin``.

Tables keep few arrays where many would be clearer to read: every array that a kernel hands on costs compile time.
"""

from typing import NamedTuple

from sapwood.native.runtime.kernel import layout

# Orders in which leaves are split.
LEAFWISE, LEVELWISE = 0, 1

SET_WORDS = 4  # words of a set of bins, 64 each; a category has at most MOST_LEVELS bins beside bin 0
MOST_LEVELS = 64 * SET_WORDS - 1
IS_SET = -1  # the bin of a split that sends a set of bins to the left
UNPENALISED = 2  # added to the side of missing where such a split pays no penalty: a set has its own place for bin 0
# Features whose bins are levels: how they are divided.
INTO_SETS, ONE_FROM_REST = 1, 2

# Columns of a leaf's integers; its sums and the left sums of its best split follow, P columns each. The set of bins
# that goes left counts where the feature is a category.
FIRST, LAST, NODE, DEPTH, SLOT, FEATURE, BIN, MISSING_LEFT, AHEAD, SET = range(10)
LEAF_SUMS = SET + SET_WORDS
NEXT_BIN = SLOT  # exact search has no histograms; it keeps the next bin that the leaf holds after its cut (0: none)
# Columns of a leaf's numbers: the gain of its best split (0: none) and the bounds of its value.
GAIN, LOW, HIGH = range(3)
LEAF_NUMBERS = 3

# Cells between features with many bins, so that code need not look places up. A little more than the 256
# that a feature takes: cells 4096 bytes apart would get into each other's way.
STRIDE = 264

# What members tell each other of leaves to expand: which is next for all of them (−1: none), whether members expand
# leaves alone, how many are at it, the next free slot, the size of leaves from which on members work together; and the
# slots of the leaves that the members expand.
TURN_LEAF, TURN_ALONE, N_TAKEN, FREE_SLOT, MOST_ALONE, TURN_SLOTS = range(6)
# How far a leaf's children are: not there, there, or a member is at it.
NOT_AHEAD, IS_AHEAD, IS_TAKEN = range(3)

# Columns of a candidate split; its left sums follow. Where a cut is still to be located, its limits are in place of
# the set.
CUT_BIN, CUT_SIDE, CUT_SURE, CUT_SET = range(4)
CUT_SUMS = CUT_SET + SET_WORDS
CUT_NEXT = CUT_SURE  # exact search is always sure; it keeps the next bin that the leaf holds

# Columns of a node's integers. The right child is the left child + 1; feature −1 is a leaf.
NODE_FEATURE, NODE_BIN, NODE_MISSING_LEFT, NODE_LEFT, NODE_COUNT, NODE_SET = range(6)
NODE_INTEGERS = NODE_SET + SET_WORDS
# Columns of a node's numbers; then G, H and value of each output.
NODE_GAIN, NODE_WEIGHT, NODE_LOW, NODE_HIGH, NODE_OUTPUTS = range(5)
PER_OUTPUT = 3

# What a call reports: sizes of the tree, and whether all gradients were finite.
N_NODES, N_LEAVES, STATUS = range(3)
FINE, NOT_FINITE = range(2)


@layout
class Bins(NamedTuple):
    """The rows in bins, by rows and by columns; of the columns, those of the type that holds all bins are there."""

    words: "u64[:,:,:]"  # (tiles, n, 1, 2 or 4) the bins of a row, packed
    bytes: "u8[:,:]"  # (columns, n) where no feature has more than 255 bins
    halves: "u16[:,:]"  # (columns, n) where one has
    unpacked: "u16[:,:]"  # (T, n, or none without lists) room of the members for the bins of a listed feature


@layout
class Features(NamedTuple):
    """What the search knows of each feature."""

    n_bins: "i64[:]"  # (F) value bins, numbered from 1; bin 0 is missing
    start: "i64[:]"  # (F + 1) first cell; the last entry is the number of cells
    share: "i64[:]"  # (T + 3) member t searches features share[t] to share[t + 1]; from T + 1 on: all of them
    monotone: "i64[:]"  # (F) 1 rising, -1 falling, 0 free
    bits: "i64"  # a bin takes 2^bits bits
    levels: "i64[:]"  # (F) 0, or how bins are divided that are levels of a category, which have no order
    number: "i64[:]"  # (F) its number in the table: what ties and draws go by
    column: "i64[:]"  # (F) its place among the columns; -1: rows list where it differs from its usual bin
    usual: "i64[:]"  # (F) that bin, or that of a feature which shares a tile's column; -1: neither, or never split
    tile_start: "i64[:]"  # (columns + 1) first cell of each column; the last entry is the number of cells
    tile_share: "i64[:]"  # (T + 3) the same for columns of the tiles
    row_start: "i64[:]"  # (n + 1) where the lists of rows begin; empty if there are none
    entries: "u32[:]"  # cells that the rows list, ascending in each row
    cell_start: "i64[:]"  # (cells + 1) where the rows that list each cell begin
    listers: "u32[:]"  # those rows
    every: "i32[:]"  # (T + F) all features that have cells, as a line of live ones


@layout
class Rules(NamedTuple):
    """When and how a leaf may be split."""

    order: "i64"
    wide: "i64"
    constrained: "i64"  # 1 if any feature is monotone
    cosine: "i64"  # 1 if symmetric trees are judged by cosine
    max_leaves: "i64"
    max_depth: "i64"
    min_child_samples: "i64"
    min_child_weight: "f64"
    reg_lambda: "f64"
    reg_alpha: "f64"
    min_split_gain: "f64"
    max_delta_step: "f64"
    max_levels: "i64"  # of a category, on one side of a split
    level_smoothing: "f64"
    level_lambda: "f64"
    level_rows: "i64"  # that a level must have to be moved by itself
    group_rows: "i64"  # by which sets of levels must grow from one that is judged to the next
    noise: "f64"  # standard deviation of what is added to the gains that features are chosen by
    noise_key: "i64"  # what it is drawn from, another for every tree


@layout
class Draws(NamedTuple):
    """Where random numbers come from."""

    seed: "i64"
    round: "i64"


@layout
class Gradients(NamedTuple):
    """The true gradients and what multiplies them."""

    pairs: "f32[:,:]"  # (K, 2 n) gradient and hessian of each row, one after the other: a step the compiler knows
    weight: "f64[:]"  # (n) sample weight times sampling factor, or empty when all are 1
    ids: "u64[:]"  # (n) row numbers in the user's table, or empty when they are 0, 1, 2 ...
    weight_scale: "f64"  # integers per unit of weight in exact sums


@layout
class Rows(NamedTuple):
    """The rows in the order of their leaves, and the quantised pairs of all rows."""

    order: "u32[:]"  # (m) row numbers; a leaf owns a range
    spare: "u32[:]"  # (m)
    pairs: "i64[:,:]"  # (P, n) by row, of which those in the tree count
    lines: "i64[:,:]"  # (n, P rounded up to fours) the pairs of all planes by row; none where there is one output


@layout
class Scales(NamedTuple):
    """How numbers become integers, per output: gradient, hessian."""

    quantum: "f64[:,:]"  # (K, 2) integers per unit in the histograms
    exact: "f64[:,:]"  # (K, 2) integers per unit in the sums of true gradients
    hessian_range: "i64[:,:]"  # (K, 2) least and largest quantised hessian of a row


@layout
class Scratch(NamedTuple):
    """Room of the members' own, a line each."""

    numbers: "f64[:,:]"  # (T, 4 K + 8)
    integers: "i64[:,:]"  # (T, 4 P + 4 K + 8, and what the search of a feature needs)
    partial: "i64[:,:]"  # (T, L * (2 K + 1)) exact sums of leaves: G and H of each output, then the weight


@layout
class Cells(NamedTuple):
    """Histograms: one line of work per member, one of the pool per leaf; if lines are fewer, some leaves have none."""

    pool: "i64[:,:]"  # (slots, P * cells)
    work: "i64[:,:]"  # (T, P * cells, P rounded up to fours where rows have lines)
    counts: "i64[:,:]"  # (T, most bins of a feature + 1) rows per bin, for exact leaf sizes
    listed: "i32[:,:]"  # (slots, cells, or none where nobody asks) rows of each leaf that list each cell
    live: "i32[:,:]"  # (slots, T + F) the features on which each leaf, or one below it, may be split (kernels/live)
    sorted: (
        "u32[:,:]"  # (2 F + T, n), or none: rows sorted by each feature, in place of histograms (kernels/sorted_rows)
    )


@layout
class Lists(NamedTuple):
    """What exact search has instead of histograms: every column's rows in the order of their values."""

    sorted: "u32[:,:]"  # (F, n) all rows, missing values first
    rows: "u32[:,:]"  # (F, n) the rows of the tree, sorted inside each leaf
    spare: "u32[:,:]"  # (T, n)
    marked: "u8[:]"  # (n) the rows that go left
    pairs: "i64[:,:]"  # (n, P) quantised pairs by row
    next_bin: "i64[:]"  # (N) the next bin that the node holds after its cut, 0 where no value is on the right


@layout
class Leaves(NamedTuple):
    """The leaves while the tree grows, each with its best split; the children of leaf l wait at L + 2 l."""

    integers: "i64[:,:]"  # (3 L, LEAF_SUMS + 2 P)
    numbers: "f64[:,:]"  # (3 L, LEAF_NUMBERS)


@layout
class Search(NamedTuple):
    """The best split of each feature for the two children of a leaf; features are shared out among members.

    Members that work each on a leaf of its own have two lines each.
    """

    gain: "f64[:,:]"  # (2 T, F)
    cut: "i64[:,:,:]"  # (2 T, F, CUT_SUMS + P)
    limits: "i64[:,:]"  # (T + 1, 8) bins after which a cut is allowed, for each side of missing; in the last line: any
    allowed: "u8[:,:]"  # (2 T, F) 1 if the leaf may use the feature
    n_left: "i64[:,:]"  # (T, 8) rows that a member's part of a leaf sent left; one cache line each
    turn: "i64[:]"  # (TURN_SLOTS + T) the leaves that are expanded next


@layout
class Choice(NamedTuple):
    """Which features a leaf may use: those of the tree, fewer by level and node, and by interaction constraints."""

    tree: "u8[:]"  # (F) 1 if the tree may use the feature
    n_level: "i64"  # how many of those each level draws, 0: all
    n_node: "i64"  # how many of those each node draws, 0: all
    groups: "u8[:,:]"  # (groups, F) 1 if the feature may appear together with the others of the group
    active: "u8[:,:]"  # (L, groups) 1 if every feature above the leaf belongs to the group
    hashes: "u64[:,:]"  # (T, F) scratch


@layout
class Nodes(NamedTuple):
    """The finished tree."""

    integers: "i64[:,:]"  # (N, NODE_INTEGERS)
    numbers: "f64[:,:]"  # (N, NODE_OUTPUTS + PER_OUTPUT * K)
    info: "i64[:]"  # (3)
