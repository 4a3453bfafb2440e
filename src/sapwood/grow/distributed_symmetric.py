"""Grow symmetric trees on rows or features that are split between workers: the trees that one worker would grow."""

from __future__ import annotations

import numpy as np

from sapwood.grow.distributed import DistributedGrower
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_search, leaf_batches
from sapwood.kernels.split.symmetric import BEST_SCORE


class DistributedSymmetricGrower(DistributedGrower):
    """Grows a tree level by level: each worker scores the splits of its features over all leaves, the best is taken."""

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, key: layout.RandomKey) -> GrownTree:
        state, n_leaves = self._state(rows, key), 1
        params = state.params
        self._init_root(state)
        max_depth = params.max_depth if self._can_split(np.zeros(1, np.int64))[0] else 0
        if max_depth > 0:
            self._build_root(state)
        for depth in range(max_depth):
            if 2 * n_leaves > params.max_leaves or not self._split_level(n_leaves, depth, state):
                break
            n_leaves *= 2
        self._set_values(n_leaves, self._with_weight_scale(gradients), rows)
        return GrownTree.read(self._nodes, self._leaves, rows.rows)

    def _split_level(self, n_leaves: int, depth: int, state: layout.GrowState) -> bool:
        """Split all leaves of a level by the best split of all workers; return whether there is one."""
        first_node = int(self._nodes.info[layout.N_NODES])
        if not self._set_best_split(n_leaves, depth, state):
            return False
        self._workers.begin(f"level {depth + 1}")
        max_leaves = self._size.max_leaves
        batch = np.zeros((n_leaves, 4), np.int64)
        batch[:, layout.BATCH_LEAF] = batch[:, layout.BATCH_ORDER] = np.arange(n_leaves)
        batch[:, layout.BATCH_CHILD] = max_leaves + 2 * np.arange(n_leaves)
        self._run(leaf_batches.expand_leaves, batch, first_node, *state)
        if depth + 1 < state.params.max_depth and 4 * n_leaves <= max_leaves:
            for start in range(0, n_leaves, self._exchange.capacity):
                self._build_children(batch[start : start + self._exchange.capacity], state)
        # The right children follow the left ones.
        children = max_leaves + np.arange(2 * n_leaves).reshape(n_leaves, 2).T.reshape(-1)
        for table in (*self._leaves, self._column_sampler.active_groups, self._column_sampler.usable):
            if len(table):
                table[: 2 * n_leaves] = table[children]
        self._n_rows[: 2 * n_leaves] = self._n_rows[children]
        return True

    def _set_best_split(self, n_leaves: int, depth: int, state: layout.GrowState) -> bool:
        """Give all leaves of a level the best split of all workers, of equals that of the first feature."""
        scores, bests = self._level_scores
        gain, n_planes = np.zeros(1), self._size.n_planes
        self._run(
            distributed_search.search_level,
            n_leaves, depth, state.features, state.params, state.scales, state.scratch, state.histograms, state.leaves,
            state.candidates, state.sampler, state.random_key, scores, bests, gain,
        )  # fmt: skip
        left = self._leaves.ints[:n_leaves, layout.LEAF_SUMS + n_planes :]
        split, sums = np.append(bests[0], gain), left.copy()
        if not self._exchange.is_whole:
            own = np.append(split.view(np.int64), sums)
            chosen = self._workers.communicator.choose(split[BEST_SCORE : BEST_SCORE + 1], own[None])[0]
            split, sums = chosen[: len(split)].view(np.float64), chosen[len(split) :].reshape(sums.shape)
        if split[-1] <= 0.0:
            return False
        distributed_search.split_level_nodes(
            n_leaves, split[:-1].copy(), float(split[-1]), self._features, self._histograms, self._leaves, self._nodes
        )  # fmt: skip
        left[:] = sums
        children = slice(int(self._nodes.info[layout.N_NODES]) - 2 * n_leaves, int(self._nodes.info[layout.N_NODES]))
        self._nodes.ints[children], self._nodes.ints[children, layout.NODE_FEATURE] = 0, -1
        self._nodes.floats[children, layout.NODE_GAIN] = 0.0
        return True
