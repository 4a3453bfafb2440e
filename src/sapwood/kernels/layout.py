"""The arrays that kernels share while a tree grows.

Notation: n rows, m of them in the tree, F features, K outputs, L the maximum number of leaves, N the maximum number of
nodes, T members of the team.

A gradient pair is quantised to integers, so that sums do not depend on their order. *Packed*: gradient in the high
and hessian in the low half of one int64, one plane per output. *Wide*: two planes per output, gradient then hessian.
P is the number of planes. A histogram has one int64 per plane and cell; the cell of feature f and bin b is
``offset[f] + b``.

With ordered scoring (``n_prefixes`` above 0) more planes follow those of the outputs, as if there were more outputs:
for each output and each prefix of the permuted rows, the pairs of the rows of the prefix, then those of the rows from
its end to the end of the next prefix, both at the scores of the model that is fitted to the prefix. Rows outside have
pairs of 0. In the shapes of arrays K counts all of these, except in ``Gradients`` while leaf values are computed, and
in ``TreeNodes``.

Tables of integers and of floats hold many columns in few arrays, because every array that one kernel passes to another
costs compile time. The columns are named by the constants below.
"""

from typing import NamedTuple

from sapwood.native.runtime.kernel import layout

# Values of ``growth``: the order in which leaves are split.
LEAFWISE, LEVELWISE = 0, 1

BITSET_WORDS = 4  # 64-bit words of a set of bins; a category has at most MAX_CATEGORY_BINS bins beside bin 0
MAX_CATEGORY_BINS = 64 * BITSET_WORDS - 1
BITSET_SPLIT = -1  # in place of the bin of a split that sends a set of bins to the left
# Added to the missing side of a bitset split whose children pay no ``category_lambda``: the set itself says where bin 0
# goes.
UNPENALISED = 2
# Values of ``category_kind``: how the categories of a feature are split; 0 is a numeric feature.
CATEGORY_PARTITION, CATEGORY_ONE_HOT = 1, 2

# Columns of ``LeafTable.ints``: the positions of the leaf's rows, its node, depth and histogram (-1: not kept), its
# best split, and how far it is expanded. The sums of the leaf and of the left side of its best split follow, P columns
# each.
(
    LEAF_BEGIN, LEAF_END, LEAF_NODE, LEAF_DEPTH, LEAF_HIST,
    SPLIT_FEATURE, SPLIT_BIN, SPLIT_MISSING_LEFT, LEAF_STATE, SPLIT_BITSET,
) = range(10)  # fmt: skip
LEAF_SUMS = SPLIT_BITSET + BITSET_WORDS
SPLIT_WORDS = slice(SPLIT_BITSET, LEAF_SUMS)  # the words of the bitset
# Exact search has no histograms; the column holds the next bin that the leaf holds after its split (0: none).
SPLIT_NEXT_BIN = LEAF_HIST
LEAF_ALONE = LEAF_STATE  # symmetric trees have no LEAF_STATE; the column is 1 if one member splits the leaf alone
# Growers that exchange batches of leaves keep the children of an expanded leaf in any two rows of the leaf table; the
# column holds the row of the left one, 0 while the leaf is not expanded.
LEAF_CHILD = LEAF_STATE
# Columns of such a batch: the row of a leaf, its number in the order of splits to come, the row of its left child, and
# the child whose histogram is built (0 left, 1 right).
BATCH_LEAF, BATCH_ORDER, BATCH_CHILD, BATCH_SMALLER = range(4)
# Columns of ``LeafTable.floats``: the gain of the leaf's best split (0: none) and the bounds of its value.
LEAF_GAIN, LEAF_LOWER, LEAF_UPPER = range(3)
LEAF_FLOATS = 3
# Values of LEAF_STATE: whether the two children of the leaf are computed, or a member is computing them.
UNEXPANDED, EXPANDED, EXPANDING = range(3)

# Cells between the first bins of features with many bins, so that code need not look offsets up. A little more than the
# 256 that a feature takes: cells 4096 bytes apart would compete for the same cache lines.
FEATURE_STRIDE = 264

# Words of ``SplitCandidates.schedule``: the leaf that all members expand next (-1: none), whether each member expands
# leaves alone, how many are expanding one, the first histogram never used, the number of rows times members below which
# one member expands a leaf alone; then the histogram that each member takes for the smaller child.
NEXT_LEAF, IS_ALONE, N_EXPANDING, FREE_HIST, MAX_ALONE_ROWS, NEW_HISTS = range(6)

# Columns of a candidate split; the sums of its left side follow. CANDIDATE_COUNTED says whether rows were counted, so
# that both children are known to be large enough. While the bin of a candidate is 0, still to be located, the limits of
# its bin are in place of the bitset.
CANDIDATE_BIN, CANDIDATE_MISSING_LEFT, CANDIDATE_COUNTED, CANDIDATE_BITSET = range(4)
CANDIDATE_SUMS = CANDIDATE_BITSET + BITSET_WORDS
CANDIDATE_WORDS = slice(CANDIDATE_BITSET, CANDIDATE_SUMS)  # the words of the bitset
CANDIDATE_NEXT_BIN = CANDIDATE_COUNTED  # exact search always counts; the column holds the next bin of the leaf

# Columns of ``TreeNodes.ints``. The right child is the left child + 1; feature -1 is a leaf.
NODE_FEATURE, NODE_BIN, NODE_MISSING_LEFT, NODE_LEFT, NODE_COUNT, NODE_BITSET = range(6)
NODE_INTS = NODE_BITSET + BITSET_WORDS
# Columns of ``TreeNodes.floats``; then G, H and value of each output.
NODE_GAIN, NODE_WEIGHT, NODE_LOWER, NODE_UPPER, NODE_OUTPUTS = range(5)
NODE_PER_OUTPUT = 3

# Words of ``TreeNodes.info``: the size of the tree, and whether all gradients were finite.
N_NODES, N_LEAVES, STATUS = range(3)
OK, NOT_FINITE = range(2)


@layout
class BinMatrix(NamedTuple):
    """The bins of the rows, row by row and column by column; of the columns, one of the two types is filled."""

    tiles: "u64[:,:,:]"  # (tiles, n, 1, 2 or 4) the bins of a row, packed into words
    bins_u8: "u8[:,:]"  # (columns, n) where no feature has more than 255 bins
    bins_u16: "u16[:,:]"  # (columns, n) where one has
    decoded: "u16[:,:]"  # (T, n, or none without sparse features) scratch: a sparse feature, decoded by a member


@layout
class FeatureMeta(NamedTuple):
    """The bins, cells and kinds of the features, and the slices of them that members work on."""

    n_bins: "i64[:]"  # (F) value bins, numbered from 1; bin 0 is missing
    offset: "i64[:]"  # (F + 1) first cell; the last entry is the number of cells
    slices: "i64[:]"  # (T + 3) member t searches features slices[t] to slices[t + 1]; from T + 1 on: all of them
    monotone: "i64[:]"  # (F) 1 increasing, -1 decreasing, 0 free
    log2_bits: "i64"  # a bin takes 2^log2_bits bits
    category_kind: "i64[:]"  # (F) 0, CATEGORY_PARTITION or CATEGORY_ONE_HOT
    ids: "i64[:]"  # (F) number of the feature in the table: ties and random draws go by it
    column: "i64[:]"  # (F) its column in BinMatrix; -1: a sparse feature
    default_bin: "i64[:]"  # (F) the bin that is not stored, of a sparse or bundled feature; -1: none, or never split
    tile_offset: "i64[:]"  # (columns + 1) first cell of each column of the tiles; the last entry is the number of cells
    tile_slices: "i64[:]"  # (T + 3) ``slices`` for columns of the tiles
    csr_start: "i64[:]"  # (n + 1) sparse features by row: first entry of each row; empty if there are none
    csr_cells: "u32[:]"  # the cells in which rows differ from default bins, ascending in each row
    csc_start: "i64[:]"  # (cells + 1) sparse features by cell: first entry of each cell
    csc_rows: "u32[:]"  # the rows of each cell
    all_active: "i32[:]"  # (T + F) all features that have cells, laid out as a row of ``Histograms.active``


@layout
class GrowParams(NamedTuple):
    """Parameters of growing a tree."""

    growth: "i64"  # LEAFWISE or LEVELWISE
    wide: "i64"
    has_monotone: "i64"  # 1 if any feature is monotone
    cosine_score: "i64"  # 1 if the splits of symmetric trees are scored by cosine
    max_leaves: "i64"
    max_depth: "i64"
    min_child_samples: "i64"
    min_child_weight: "f64"
    reg_lambda: "f64"
    reg_alpha: "f64"
    min_split_gain: "f64"
    max_delta_step: "f64"
    max_categories: "i64"  # on one side of a split
    category_smoothing: "f64"
    category_lambda: "f64"
    min_category_rows: "i64"  # of a category that may be in the set
    min_group_rows: "i64"  # added between two sets of categories that are scored
    split_noise: "f64"  # standard deviation of the noise added to the gains that features are chosen by
    split_noise_key: "i64"  # random key of the noise, another for every tree
    shared_hessian: "i64"  # 1 if all outputs of a histogram have the same hessians, but for their rounding
    random_thresholds: "i64"  # 1 if one threshold per feature and leaf is drawn at random
    n_prefixes: "i64"  # prefixes of the permuted rows whose leaf values the rows behind them are scored with; 0: none


@layout
class RandomKey(NamedTuple):
    """Key of the random numbers of a tree."""

    seed: "i64"
    round: "i64"


@layout
class Gradients(NamedTuple):
    """The true gradient pairs and weights of the rows."""

    pairs: "f32[:,:]"  # (K, 2 n) gradient and hessian of each row, interleaved: a stride that the compiler knows
    weight: "f64[:]"  # (n) sample weight times sampling factor, or empty when all are 1
    row_ids: "u64[:]"  # (n) row numbers in the user's table, or empty when they are 0, 1, 2 ...
    weight_scale: "f64"  # integers per unit of weight in exact sums


@layout
class RowPartition(NamedTuple):
    """The rows of the tree grouped by leaf, and the quantised pairs of all rows."""

    rows: "u32[:]"  # (m) row numbers; a leaf owns a range of positions
    scratch: "u32[:]"  # (m)
    pairs: "i64[:,:]"  # (P, n) by row; those of rows in the tree are filled
    pairs_by_row: "i64[:,:]"  # (n, P rounded up to fours) the planes of a row side by side; none with one output


@layout
class Scales(NamedTuple):
    """Integers per unit of gradient and of hessian, for each output."""

    histogram: "f64[:,:]"  # (K, 2) in histograms
    exact: "f64[:,:]"  # (K, 2) in the sums of true gradients
    hessian_range: "i64[:,:]"  # (K, 2) smallest and largest quantised hessian of a row


@layout
class Scratch(NamedTuple):
    """Scratch memory, a row for each member."""

    floats: "f64[:,:]"  # (T, 4 K + 8)
    # (T, 4 P + 4 K + 8, and what a search needs): the sums of two children (2 P), two histograms, a buffer
    ints: "i64[:,:]"
    leaf_sums: "i64[:,:]"  # (T, L * (2 K + 1)) exact sums of leaves: G and H of each output, then the weight


@layout
class Histograms(NamedTuple):
    """Histograms of leaves, in a pool, and what is kept with each; if the pool is small, some leaves have none."""

    pool: "i64[:,:]"  # (histograms, P * cells)
    partial: "i64[:,:]"  # (T, P * cells, P rounded up to fours with pairs_by_row) histograms of the members' rows
    bin_counts: "i64[:,:]"  # (T, largest number of bins + 1) scratch: rows per bin, for exact leaf sizes
    sparse_counts: "i32[:,:]"  # (histograms, cells, or none if not needed) rows of the leaf stored in each sparse cell
    active: "i32[:,:]"  # (histograms, T + F) features on which the leaf, or one below it, may be split
    sorted_rows: "u32[:,:]"  # (2 F + T, n), or none: rows sorted by each feature, in place of histograms


@layout
class PresortedRows(NamedTuple):
    """The rows of every column in the order of their values, for exact search."""

    all_rows: "u32[:,:]"  # (F, n) all rows, missing values first
    tree_rows: "u32[:,:]"  # (F, n) the rows of the tree, sorted inside each leaf
    scratch: "u32[:,:]"  # (T, n)
    goes_left: "u8[:]"  # (n) 1 for rows that go left
    pairs: "i64[:,:]"  # (n, P) quantised pairs by row
    next_bin: "i64[:]"  # (N) the next bin that the node holds after its split, 0 where no value is on the right


@layout
class LeafTable(NamedTuple):
    """The leaves while the tree grows, each with its best split; the children of an expanded leaf l are at L + 2 l."""

    ints: "i64[:,:]"  # (3 L, LEAF_SUMS + 2 P)
    floats: "f64[:,:]"  # (3 L, LEAF_FLOATS)


@layout
class SplitCandidates(NamedTuple):
    """The best split of each feature for the two children of a leaf, and the words that members expand leaves by.

    Rows 2 t and 2 t + 1 are those of a leaf that member t expands alone; all members together use rows 0 and 1.
    """

    gain: "f64[:,:]"  # (2 T, F)
    split: "i64[:,:,:]"  # (2 T, F, CANDIDATE_SUMS + P)
    limits: "i64[:,:]"  # (T + 1, 8) first and last bin of a split, missing right then left; in the last row: any
    allowed: "u8[:,:]"  # (2 T, F) 1 if the leaf may use the feature
    n_left: "i64[:,:]"  # (T, 8) rows that a member's slice of a leaf sends left; one cache line each
    schedule: "i64[:]"  # (NEW_HISTS + T) the leaves that are expanded next


@layout
class ColumnSampler(NamedTuple):
    """Features that leaves may use: those of the tree, fewer by level and node, and by interaction constraints.

    Combinations that grow inside the tree may be used below a split on one of their parts.
    """

    in_tree: "u8[:]"  # (F) 1 if the tree may use the feature
    n_per_level: "i64"  # features drawn by each level, 0: all
    n_per_node: "i64"  # features drawn by each node, 0: all
    groups: "u8[:,:]"  # (groups, F) 1 if the feature is in the interaction group
    active_groups: "u8[:,:]"  # (L, groups) 1 if all features above the leaf are in the group
    hashes: "u64[:,:]"  # (T, F) scratch
    inverse_weights: "f64[:]"  # (F) smallest weight of a feature over its own, empty if all are equal
    extends: "u8[:,:]"  # (F, F, or none) 1 in row f for the combinations that a split on feature f makes usable
    usable: "u8[:,:]"  # (L, F) 1 if the feature needs no part, or one is above the leaf


@layout
class TreeNodes(NamedTuple):
    """The nodes of the finished tree."""

    ints: "i64[:,:]"  # (N, NODE_INTS)
    floats: "f64[:,:]"  # (N, NODE_OUTPUTS + NODE_PER_OUTPUT * K)
    info: "i64[:]"  # (3)


@layout
class GrowState(NamedTuple):
    """The arrays that the steps of growing a tree on histograms work on, passed between kernels as one argument."""

    bins: BinMatrix
    features: FeatureMeta
    params: GrowParams
    partition: RowPartition
    scales: Scales
    scratch: Scratch
    histograms: Histograms
    leaves: LeafTable
    candidates: SplitCandidates
    sampler: ColumnSampler
    random_key: RandomKey
    nodes: TreeNodes


@layout
class NewLeaf(NamedTuple):
    """A leaf that is not yet in the leaf table."""

    begin: "i64"  # positions of its rows
    end: "i64"
    node: "i64"
    depth: "i64"
    hist: "i64"
    sums: "i64[:]"  # (P)
    lower: "f64"  # bounds of its value
    upper: "f64"


@layout
class Children(NamedTuple):
    """The two children of a leaf that is being expanded."""

    left: NewLeaf
    right: NewLeaf
    left_open: "i64"  # whether the left child may be split
    right_open: "i64"
    smaller: "i64"  # the child with fewer rows: 0 left, 1 right
