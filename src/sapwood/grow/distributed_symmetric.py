"""Grow symmetric trees on rows or features that are spread over ranks, the same trees as one rank would grow."""

from __future__ import annotations

import numpy as np

from sapwood.grow.constraints import allowed_features
from sapwood.grow.distributed import RankGrower
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_steps as steps
from sapwood.kernels.split.symmetric import BEST_BIN, BEST_FEATURE, BEST_MISSING_LEFT, BEST_SCORE


class SymmetricRankGrower(RankGrower):
    """Grows a tree level by level: each rank judges the cuts of its own features over all leaves, and the best wins."""

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, draws: layout.RandomKey) -> GrownTree:
        rules, n_leaves = self.rules(), 1
        self._plant(rows)
        is_open = self._can_split(0)
        if is_open:
            self._leaves.ints[0, layout.LEAF_HIST] = 0
            self._count_into(self._cells.pool[0], 0, rows)
        for depth in range(rules.max_depth if is_open else 0):
            if 2 * n_leaves > rules.max_leaves:
                break
            cut, gain = self._best_cut(n_leaves, depth, draws)
            if gain <= 0.0:
                break
            self._workers.begin(f"level {depth + 1}")
            self._set_cut(n_leaves, cut, gain)
            for leaf in range(n_leaves):
                self._move(leaf, n_leaves + leaf, rows)
            if depth + 1 < rules.max_depth and 4 * n_leaves <= rules.max_leaves:
                for leaf in range(n_leaves):
                    self._divide_histogram(leaf, n_leaves + leaf, rows)
            n_leaves *= 2
        self._finish(n_leaves, gradients, rows)
        return GrownTree.read(self._nodes, self._leaves, rows.rows)

    def _best_cut(self, n_leaves: int, depth: int, draws: layout.RandomKey) -> tuple[np.ndarray, float]:
        """The best cut of all ranks for a level, of equals that of the first feature, and its gain."""
        self._search.allowed[0] = allowed_features(self._choice, self._choice.active_groups[0], depth, depth, draws)
        worth, bests = self._worth
        gain = np.zeros(1)
        self._team.run(
            steps.search_level, n_leaves, self._own, self.rules(), self._scales, self._scratch, self._cells,
            self._leaves, self._search, worth, bests, gain,
        )  # fmt: skip
        every = np.concatenate(self._workers.communicator.gather(np.append(bests[0], gain)[None]))
        best = every[int(np.argmax(every[:, BEST_SCORE]))]
        return best[:-1], float(best[-1])

    def _set_cut(self, n_leaves: int, cut: np.ndarray, gain: float) -> None:
        """Give every leaf of the level the same split; whoever has the feature tells the sums of the left sides."""
        feature, limit, side = (int(cut[place]) for place in (BEST_FEATURE, BEST_BIN, BEST_MISSING_LEFT))
        integers, n_planes = self._leaves.ints[:n_leaves], self._shape.n_planes
        integers[:, layout.SPLIT_FEATURE : layout.SPLIT_MISSING_LEFT + 1] = feature, limit, side
        self._leaves.floats[:n_leaves, layout.LEAF_GAIN] = gain / n_leaves
        left = np.zeros((n_leaves, n_planes), dtype=np.int64)
        own, end = self._shares[self._workers.communicator.rank :][:2]
        if own <= feature < end:
            first = int(self._features.offset[feature])
            for leaf, slot in enumerate(integers[:, layout.LEAF_HIST].tolist()):
                cells = self._cells.pool[slot].reshape(n_planes, -1)[:, first : first + limit + 1]
                left[leaf] = cells[:, 1 - side :].sum(axis=1)
        integers[:, layout.LEAF_SUMS + n_planes :] = self._workers.communicator.sum(left)

    def _divide_histogram(self, leaf: int, new: int, rows: layout.RowPartition) -> None:
        """Build the histogram of the smaller child; the larger one's is what remains of the parent's."""
        integers = self._leaves.ints
        parent = int(integers[leaf, layout.LEAF_HIST])
        small, large = (leaf, new) if self._n_rows[leaf] <= self._n_rows[new] else (new, leaf)
        integers[small, layout.LEAF_HIST], integers[large, layout.LEAF_HIST] = new, parent
        self._count_into(self._cells.pool[new], small, rows)
        self._own_cells(self._cells.pool[parent])[:] -= self._own_cells(self._cells.pool[new])
