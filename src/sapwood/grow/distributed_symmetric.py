"""Grow symmetric trees on rows or features that are split between workers: the trees that one worker would grow."""

from __future__ import annotations

import numpy as np

from sapwood.grow.distributed import DistributedGrower
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_search
from sapwood.kernels.split.symmetric import BEST_FEATURE, BEST_SCORE


class DistributedSymmetricGrower(DistributedGrower):
    """Grows a tree level by level: each worker scores the splits of its features over all leaves, the best is taken."""

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, key: layout.RandomKey) -> GrownTree:
        rules, n_leaves, gradients = self.grow_params(), 1, self._with_weight_scale(gradients)
        self._init_root(rows)
        max_depth = rules.max_depth if self._can_split(0) else 0
        if max_depth > 0:
            self._build_histogram(0, rows)
        for depth in range(max_depth):
            if 2 * n_leaves > rules.max_leaves:
                break
            split, gain = self._best_split(n_leaves, depth, key)
            if gain <= 0.0:
                break
            self._workers.begin(f"level {depth + 1}")
            child = int(self._nodes.info[layout.N_NODES])
            self._set_split(n_leaves, split, gain)
            for leaf in range(n_leaves):
                self._split_leaf(leaf, n_leaves + leaf, rows, child + 2 * leaf)
            if depth + 1 < max_depth and 4 * n_leaves <= rules.max_leaves:
                for leaf in range(n_leaves):
                    self._build_child_histograms(leaf, n_leaves + leaf, n_leaves + leaf, rows)
            n_leaves *= 2
        self._set_values(n_leaves, gradients, rows)
        return GrownTree.read(self._nodes, self._leaves, rows.rows)

    def _best_split(self, n_leaves: int, depth: int, key: layout.RandomKey) -> tuple[np.ndarray, float]:
        """Return the best split of all workers for a level, of equals that of the first feature, and its gain."""
        scores, bests = self._level_scores
        gain = np.zeros(1)
        self._team.run(
            distributed_search.search_level,
            n_leaves, depth, self._own_features, self.grow_params(), self._scales, self._scratch,
            self._histograms, self._leaves, self._candidates, self._column_sampler, key, scores, bests, gain,
        )  # fmt: skip
        splits = np.concatenate(self._workers.communicator.gather(np.append(bests[0], gain)[None]))
        best = splits[int(np.argmax(splits[:, BEST_SCORE]))]
        return best[:-1], float(best[-1])

    def _set_split(self, n_leaves: int, split: np.ndarray, gain: float) -> None:
        """Give every leaf of the level the same split; the worker that has the feature knows the sums of left sides."""
        distributed_search.split_level_nodes(
            n_leaves, split, gain, self._features, self._histograms, self._leaves, self._nodes
        )  # fmt: skip
        slices = self._own_features.slices
        left = self._leaves.ints[:n_leaves, layout.LEAF_SUMS + self._size.n_planes :]
        is_own = slices[0] <= split[BEST_FEATURE] < slices[-1]
        left[:] = self._workers.communicator.sum(left.copy() if is_own else np.zeros_like(left))
