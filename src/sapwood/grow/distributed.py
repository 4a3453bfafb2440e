"""Grow trees on rows or features that are split between workers: the trees that one worker would grow.

Leaves are expanded in batches: all that are likely to be split soon, also children of leaves that are not split yet. An
exchange sums the histograms of a batch over all workers; another one compares the best splits of its children.
"""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.errors import TrainingError
from sapwood.grow.distributed_scales import TreeRows, hessian_ranges, quantise_rows, set_hessian_ranges
from sapwood.grow.fixed_point import scale_for
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.histogram import HistogramGrower, is_wide
from sapwood.grow.histogram_exchange import MAX_COUNTED, HistogramExchange
from sapwood.grow.histogram_pool import HistogramPool
from sapwood.grow.workspace import make_leaf_table, make_split_candidates
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_search, distributed_steps, leaf_batches
from sapwood.kernels.histogram import gradient_scales
from sapwood.native.runtime.kernel import CallCache
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams

# The columns of a leaf's integers that workers exchange: its best split, with the sums of its sides.
SPLIT_COLUMNS = slice(layout.SPLIT_FEATURE, None)
# Limits of a batch: bytes of its histograms, and candidate splits of its children.
MAX_BATCH_BYTES, MAX_BATCH_CANDIDATES = 1 << 26, 1 << 19
MAX_DEFERRED_CANDIDATES = MAX_BATCH_CANDIDATES  # of all leaves of a tree, which are kept until their rows are counted
NO_COUNTS = np.zeros((0, 2), np.int64)
# Large leaves that the last tree did not split had at most some gain. In the next one, those of more than so many times
# as much are likely to be split.
LIKELY_GAIN = 1.1


class DistributedGrower(HistogramGrower):
    """Grows a tree together with other workers, leaf by leaf or level by level, many leaves per exchange."""

    is_one_call = False

    def __init__(
        self, dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team, n_prefixes: int = 0
    ) -> None:
        self._workers = dataset.workers
        self._n_total_rows = dataset.workers.count_rows(dataset.n_rows)
        super().__init__(dataset, n_outputs, params, seed, team, n_prefixes)
        max_leaves, n_features = self._size.max_leaves, dataset.n_features
        n_bytes = 8 * self._size.n_planes * int(self._features.offset[-1])
        capacity = min(max_leaves, MAX_BATCH_BYTES // n_bytes, MAX_BATCH_CANDIDATES // (2 * n_features))
        self._run = CallCache(team.run)
        self._exchange = HistogramExchange(
            self._workers, self._features, self._size.n_planes, max(2, capacity), self._run
        )
        self._leaves = make_leaf_table(self._size, is_one_call=False)
        table_size, sampler = len(self._leaves.ints), self._column_sampler
        # With counts, the gain of a set of categories may rise, so that it does not tell what is split next.
        self._can_defer = (
            self._exchange.is_whole and not self._has_bitsets and table_size * n_features <= MAX_DEFERRED_CANDIDATES
        )
        n_candidates = table_size if self._can_defer else 2 * self._exchange.capacity
        self._candidates = make_split_candidates(self._size, n_features, n_candidates)
        self._scores, self._uncounted = np.empty(n_candidates), np.full((n_candidates, MAX_COUNTED), -1)
        self._all_rows = np.arange(n_candidates)
        self._column_sampler = sampler._replace(
            active_groups=np.ones((table_size, len(sampler.groups)), np.uint8),
            usable=np.ones((table_size if len(sampler.extends) else 0, n_features), np.uint8),
        )
        self._n_rows = np.zeros(table_size, np.int64)  # of each row of the leaf table, at all workers
        self._table_rows = np.zeros(max_leaves, np.int64)
        self._plan_scratch = np.zeros(2 * max_leaves, np.int64), np.zeros(2 * max_leaves)
        self._n_table_rows = 0
        self._large_gains: dict[int, float] = {}  # of the last tree of each output: see find_large_gain
        self._pool = HistogramPool(self._leaves, len(self._histograms.pool))
        self._tree_rows = TreeRows(layout.OK, dataset.n_rows, 0.0)
        self._hessian_ranges = np.empty((0, 0), np.int64)

    def _is_wide(self) -> bool:
        return is_wide(self._params.precision, self._n_total_rows)

    def _make_bundle_layout(self, dataset: BinnedDataset) -> BundleLayout:
        # Columns that exclude each other in the rows of one worker need not do so in the rows of others.
        return BundleLayout.unbundled(dataset.n_features)

    # --- quantising -------------------------------------------------------------------------------------------------

    def _weight_scale(self, weight: np.ndarray) -> float:
        return 1.0 if self._workers.splits_rows else super()._weight_scale(weight)  # set when gradients are quantised

    def _with_weight_scale(self, gradients: layout.Gradients) -> layout.Gradients:
        """Return the gradients with the scale at which the weights of all workers are summed exactly."""
        top, n = self._tree_rows.max_weight, self._n_total_rows
        if top == 0.0:
            return gradients
        return gradients._replace(weight_scale=scale_for(gradient_scales.EXACT_LIMIT, top * n, n))

    def _quantise(self, rows: layout.RowPartition, gradients: layout.Gradients, key: layout.RandomKey) -> None:
        if not self._workers.splits_rows:
            super()._quantise(rows, gradients, key)
            self._tree_rows = TreeRows(layout.OK, len(rows.rows), 0.0)
            return
        arrays = (rows, gradients, int(self._size.wide), key, self._scales, self._scratch, self._nodes.info)
        self._tree_rows = quantise_rows(arrays, self._run, self._workers)
        self._hessian_ranges = hessian_ranges(len(self._scales.exact), self._scratch, self._workers)

    def _check_gradients(self, round: int, gradients: layout.Gradients, rows: np.ndarray | None) -> None:
        super()._check_gradients(round, gradients, rows)
        if self._tree_rows.status != layout.OK:
            raise TrainingError(
                f"round {round + 1}: a gradient on another worker is not finite or too large; the error of that worker "
                "names the row"
            )

    # --- growing ----------------------------------------------------------------------------------------------------

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, key: layout.RandomKey) -> GrownTree:
        state = self._state(rows, key)
        self._init_root(state)
        if self._can_split(np.zeros(1, np.int64))[0]:
            self._build_root(state)
            self._search(np.zeros(1, np.int64), state)
        while True:
            self._run(leaf_batches.commit_leaves, state.params, self._leaves, self._nodes, self._table_rows)
            used = np.arange(self._n_table_rows)
            if self._pool.n_free < 2 and len(pending := used[self._is_pending(used)]):
                self._count_pending(pending, state)  # before they lose their histograms
                continue
            batch, are_last = self._plan_batch(state)
            if len(batch) == 0:
                break
            is_pending = self._is_pending(batch[:, layout.BATCH_LEAF])
            pending = batch[is_pending, layout.BATCH_LEAF]
            if len(pending) == len(batch) or (are_last and len(pending) > 0):
                self._count_pending(pending, state)
            else:
                self._expand(batch[~is_pending], are_last, pending, state)
        n_leaves = int(self._nodes.info[layout.N_LEAVES])
        gain = np.zeros(1)
        leaf_batches.find_large_gain(n_leaves, self._leaves, self._table_rows, self._n_rows, gain)
        self._large_gains[self._output] = float(gain[0])
        self._run(
            leaf_batches.undo_expansions, n_leaves, self._n_table_rows, self._table_rows, rows, self._leaves
        )  # fmt: skip
        self._leaves.ints[:n_leaves] = self._leaves.ints[self._table_rows[:n_leaves]]
        self._set_values(n_leaves, self._with_weight_scale(gradients), rows)
        return GrownTree.read(self._nodes, self._leaves, rows.rows, self._has_bitsets)

    def _state(self, rows: layout.RowPartition, key: layout.RandomKey) -> layout.GrowState:
        """Return the arrays that kernels work on; features are those that this worker searches."""
        return layout.GrowState(
            self._bins, self._exchange.own_features, self.grow_params(), rows, self._scales, self._scratch,
            self._histograms, self._leaves, self._candidates, self._column_sampler, key, self._nodes,
        )  # fmt: skip

    def _init_root(self, state: layout.GrowState) -> None:
        """Make the root, with the rows of this worker, the only leaf."""
        self._run(
            distributed_steps.init_root_step, state.partition, self._scratch, self._leaves, self._nodes
        )  # fmt: skip
        self._n_rows[0], self._n_table_rows, self._table_rows[0] = self._tree_rows.n_rows, 1, 0
        self._pool.begin_tree()
        self._uncounted[:] = -1

    def _can_split(self, leaves: np.ndarray) -> np.ndarray:
        """Return which leaves are large enough, and not too deep, to be split."""
        params, depth = self.grow_params(), self._leaves.ints[leaves, layout.LEAF_DEPTH]
        can_be_split: np.ndarray = self._n_rows[leaves] >= max(2 * params.min_child_samples, 2)
        return can_be_split & (depth < params.max_depth)

    def _is_drawn(self, params: layout.GrowParams) -> bool:
        """Return whether columns or noise are drawn by the numbers of nodes."""
        return self._column_sampler.n_per_node > 0 or params.split_noise > 0.0

    def _plan_batch(self, state: layout.GrowState) -> tuple[np.ndarray, bool]:
        """Return the leaves to expand next, and whether their children stay leaves."""
        params, n_left = state.params, self._size.max_leaves - int(self._nodes.info[layout.N_LEAVES])
        # Two rows of the leaf table must be left for every split to come.
        n_spare = max(0, (len(self._leaves.ints) - self._n_table_rows) // 2 - n_left)
        # The numbers of nodes are known ahead only for trees grown levelwise.
        if self._is_drawn(params) and params.growth != layout.LEVELWISE:
            n_spare = 0
        batch = np.zeros((min(self._exchange.capacity, 1 + n_spare), 4), np.int64)
        out = np.zeros(2, np.int64)
        min_large_gain = 0.0 if params.growth == layout.LEVELWISE else self._large_gains.get(self._output, 0.0)
        self._run(
            leaf_batches.plan_batch,
            params, self._leaves, self._nodes, self._table_rows, self._n_rows,
            LIKELY_GAIN * min_large_gain, *self._plan_scratch, batch, out,
        )  # fmt: skip
        batch, are_last = batch[: out[0]], bool(out[1])
        if len(batch) == 0 or are_last:
            return batch, are_last
        # A leaf that has lost its histogram needs two new ones.
        n_needed = np.cumsum(2 - self._pool.has(batch[:, layout.BATCH_LEAF]))
        self._pool.reserve(int(n_needed[0]), int(batch[0, layout.BATCH_LEAF]), self._n_table_rows)
        n_fitting = np.searchsorted(n_needed, min(self._pool.n_free, self._exchange.capacity), "right")
        return batch[:n_fitting], False

    def _expand(self, batch: np.ndarray, are_last: bool, pending: np.ndarray, state: layout.GrowState) -> None:
        """Expand a batch of leaves; their children get splits unless they stay leaves.

        The exchange of their histograms also counts the rows of the leaves ``pending``.
        """
        depth = int(self._leaves.ints[batch[0, layout.BATCH_LEAF], layout.LEAF_DEPTH])
        self._workers.begin(f"level {depth + 1}")
        first, self._n_table_rows = self._n_table_rows, self._n_table_rows + 2 * len(batch)
        batch[:, layout.BATCH_CHILD] = np.arange(first, self._n_table_rows, 2)
        self._run(leaf_batches.expand_leaves, batch, int(self._nodes.info[layout.N_NODES]), *state)
        if are_last:
            return
        pairs, counts = self._count_here(self._all_rows, pending, state)
        counts = self._build_children(batch, state, counts)
        children = np.arange(first, self._n_table_rows)
        can_be_split = self._can_split(children)
        if can_be_split.any():
            self._search(children[can_be_split], state)
        if len(pairs):
            self._search_counted(self._all_rows, pairs, counts, state)
        self._pool.release(children[self._leaves.floats[children, layout.LEAF_GAIN] <= 0.0])

    # --- histograms -------------------------------------------------------------------------------------------------

    def _build_root(self, state: layout.GrowState) -> None:
        """Build the histogram of the root; the same exchange sums the root and combines the ranges of hessians."""
        self._workers.begin("level 0")
        root, n_planes = np.zeros(1, np.int64), self._size.n_planes
        sums = self._leaves.ints[0, layout.LEAF_SUMS : layout.LEAF_SUMS + n_planes]
        shared = np.append(sums, self._hessian_ranges)
        summed, shared = self._exchange.build(root, state, shared)
        sums[:] = shared[:n_planes]
        if self._workers.splits_rows:
            of_workers = shared[n_planes:].reshape(self._hessian_ranges.shape)
            set_hessian_ranges(of_workers, self._scales, self._scratch)
        self._store(root, np.full(1, -1), summed)

    def _build_children(self, batch: np.ndarray, state: layout.GrowState, counts: np.ndarray = NO_COUNTS) -> np.ndarray:
        """Build the histograms of the lighter children of a batch of leaves; those of the others by subtraction.

        The same exchange sums the ``counts``; return their sums.
        """
        ints = self._leaves.ints
        leaf, child = batch[:, layout.BATCH_LEAF], batch[:, layout.BATCH_CHILD]
        small = child + batch[:, layout.BATCH_SMALLER]
        large = 2 * child + 1 - small
        is_lost = ~self._pool.has(leaf)
        self._pool.hand_over(leaf, large)
        built = np.concatenate([small, large[is_lost]])
        self._pool.give(built)
        siblings = np.concatenate([np.where(is_lost, -1, large), np.full(is_lost.sum(), -1)])
        n_left = ints[child, layout.LEAF_END] - ints[child, layout.LEAF_BEGIN]
        summed, shared = self._exchange.build(built, state, np.append(n_left, counts))
        n_left, counts = shared[: len(child)], shared[len(child) :].reshape(counts.shape)
        self._n_rows[child], self._n_rows[child + 1] = n_left, self._n_rows[leaf] - n_left
        self._store(built, siblings, summed)
        return counts

    def _store(self, built: np.ndarray, siblings: np.ndarray, summed: np.ndarray) -> None:
        self._run(
            distributed_steps.store_histograms,
            built, siblings, np.ascontiguousarray(summed), self._exchange.own_features, self._histograms, self._leaves,
        )  # fmt: skip

    # --- splits -----------------------------------------------------------------------------------------------------

    def _search(self, searched: np.ndarray, state: layout.GrowState) -> None:
        """Give leaves the best splits of all workers; rows are counted where sums do not prove that they suffice.

        Where all workers find the same splits, leaves of which rows have to be counted stay pending. Their gains are
        too high, if anything, so that no leaf comes before them that should not.
        """
        if self._can_defer and not self._is_drawn(state.params):
            self._run(
                distributed_search.search_leaves, self._all_rows, searched, *state, self._scores, self._uncounted
            )  # fmt: skip
            return
        rows = np.arange(len(searched))
        self._run(distributed_search.search_leaves, searched, rows, *state, self._scores, self._uncounted)
        while len(rows := self._adopt_best(searched, rows)):
            pairs, counts = self._count_here(searched, rows, state)
            self._search_counted(searched, pairs, self._exchange.sum_rows_of(pairs[:, 1], counts), state)
        self._uncounted[: len(searched)] = -1

    def _is_pending(self, leaves: np.ndarray) -> np.ndarray:
        """Return which leaves have splits that are not known before rows are counted."""
        if not self._can_defer:
            return np.zeros(len(leaves), bool)
        is_pending: np.ndarray = self._uncounted[leaves, 0] >= 0
        return is_pending

    def _count_pending(self, pending: np.ndarray, state: layout.GrowState) -> None:
        """Count rows of leaves that are pending, and search them again."""
        pairs, counts = self._count_here(self._all_rows, pending, state)
        self._search_counted(self._all_rows, pairs, self._workers.sum(counts), state)

    def _count_here(
        self, searched: np.ndarray, rows: np.ndarray, state: layout.GrowState
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of a searched leaf (its position) and a feature to be counted, and the rows per bin here."""
        if len(rows) == 0:
            return NO_COUNTS, NO_COUNTS
        position, column = np.nonzero(self._uncounted[rows] >= 0)
        pairs = np.column_stack([rows[position], self._uncounted[rows[position], column]])
        counts = np.zeros((len(pairs), self._histograms.bin_counts.shape[1]), np.int64)
        self._run(distributed_search.count_split_rows, searched, pairs, *state, counts)
        return pairs, counts

    def _search_counted(
        self, searched: np.ndarray, pairs: np.ndarray, counts: np.ndarray, state: layout.GrowState
    ) -> None:
        """Search leaves again by the rows per bin of all workers, for pairs of a leaf and a feature."""
        self._run(
            distributed_search.search_counted,
            searched, pairs, *state, self._n_rows, counts, self._scores, self._uncounted,
        )  # fmt: skip

    def _adopt_best(self, searched: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Give some of the searched leaves the splits of the highest scores of all workers, the first of equals.

        Return those whose children are not known to be large enough.
        """
        scores, uncounted = self._scores, self._uncounted
        if not self._exchange.is_whole:
            leaves, ints, gain = searched[rows], self._leaves.ints, self._leaves.floats[:, layout.LEAF_GAIN]
            records = np.column_stack([ints[leaves, SPLIT_COLUMNS], gain[leaves].view(np.int64), uncounted[rows]])
            best = self._workers.communicator.choose(np.ascontiguousarray(scores[rows]), records)
            n_ints = best.shape[1] - MAX_COUNTED - 1
            ints[leaves, SPLIT_COLUMNS], uncounted[rows] = best[:, :n_ints], best[:, n_ints + 1 :]
            gain[leaves] = np.ascontiguousarray(best[:, n_ints]).view(np.float64)
        return rows[uncounted[rows, 0] >= 0]

    # --- leaf values ------------------------------------------------------------------------------------------------

    def _set_values(self, n_leaves: int, gradients: layout.Gradients, rows: layout.RowPartition) -> None:
        """Give the nodes their true sums and values."""
        self._workers.begin("leaves")
        leaf_sums, n_sums = self._scratch.leaf_sums, n_leaves * (2 * self._n_outputs + 1)
        exact, leaf_ints = self._scales.exact[: self._n_outputs], self._leaves.ints[:n_leaves].copy()
        self._run(
            distributed_steps.sum_leaf_rows, n_leaves, gradients, rows, exact, leaf_ints, leaf_sums
        )  # fmt: skip
        counts = leaf_ints[:, layout.LEAF_END] - leaf_ints[:, layout.LEAF_BEGIN]
        total = self._workers.sum(np.append(leaf_sums[:, :n_sums].sum(axis=0), counts))
        leaf_sums[0, :n_sums] = total[:n_sums]
        leaf_ints[:, layout.LEAF_BEGIN], leaf_ints[:, layout.LEAF_END] = 0, total[n_sums:]
        distributed_steps.set_true_values(
            leaf_ints, gradients.weight_scale, self._features.monotone, self.grow_params(), exact, leaf_sums,
            self._nodes,
        )  # fmt: skip
