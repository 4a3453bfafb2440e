"""Grow trees on rows or features that are spread over ranks, the same trees as one rank would grow.

A rank searches its own features. Where ranks have rows of their own, each counts a leaf's histogram over its rows, and
histograms are added up so that every rank gets the sums of its own features. All then compare their best cuts.
"""

from __future__ import annotations

import numpy as np

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.binning.bundling import BundleLayout
from sapwood.distributed.workers import Workers
from sapwood.errors import TrainingError
from sapwood.grow.constraints import allowed_features
from sapwood.grow.distributed_scales import Tables, quantise_rows
from sapwood.grow.fixed_point import scale_for
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.histogram import HistogramGrower, is_wide
from sapwood.kernels import layout
from sapwood.kernels.grow import distributed_steps as steps
from sapwood.kernels.histogram import quantised_gradients as quantise
from sapwood.kernels.split.best_split import draw_split_noise
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams

# What ranks tell each other of a leaf's best cut: of integers all that follows ``SLOT``.
TOLD = slice(layout.SPLIT_FEATURE, None)


class RankGrower(HistogramGrower):
    """Grows a tree step by step with other ranks."""

    def __init__(self, dataset: BinnedDataset, n_outputs: int, params: TreeParams, seed: int, team: Team) -> None:
        self._workers: Workers = dataset.workers
        self._n_total_rows = dataset.workers.count_rows(dataset.n_rows)
        super().__init__(dataset, n_outputs, params, seed, team)
        self._shares = _shares_of(self._features.offset, self._workers.communicator.size)
        self._own = _shared_out(self._features, self._shares, self._workers.communicator.rank, team.size)
        self._n_rows = np.zeros(self._shape.max_leaves, dtype=np.int64)  # of each leaf, in all ranks
        self._lines: dict[int, np.ndarray] = {}
        self._spare: list[np.ndarray] = list(self._cells.pool)
        self._status = layout.OK

    def _is_wide(self) -> bool:
        return is_wide(self._params.precision, self._n_total_rows)

    def _has_lines(self) -> bool:
        return False  # its own steps move rows and add them up

    def _make_tiling(self, dataset: BinnedDataset) -> BundleLayout:
        return BundleLayout.unbundled(
            dataset.n_features
        )  # columns may exclude each other in the rows of one rank alone

    # --- quantising -----------------------------------------------------------------------------------------------

    def _weight_scale(self, weight: np.ndarray) -> float:
        if not self._workers.splits_rows or len(weight) == 0:
            return super()._weight_scale(weight)
        top, n = self._workers.max(np.array([weight.max()])), self._n_total_rows
        return scale_for(quantise.EXACT_LIMIT, float(top[0]) * n, n)

    def _quantise(self, rows: layout.RowPartition, gradients: layout.Gradients, draws: layout.RandomKey) -> None:
        if not self._workers.splits_rows:
            super()._quantise(rows, gradients, draws)
            return
        tables = Tables(rows, self._scales, self._scratch, self._nodes.info)
        wide = int(self._shape.wide)
        self._status = quantise_rows(tables, gradients, wide, draws, self._team, self._workers)

    def _check(self, round: int, gradients: layout.Gradients, rows: np.ndarray | None) -> None:
        super()._check(round, gradients, rows)
        if self._status != layout.OK:
            raise TrainingError(f"round {round + 1}: a rank has a gradient that cannot be added up, and says which")

    # --- growing ----------------------------------------------------------------------------------------------------

    def _grow_tree(self, gradients: layout.Gradients, rows: layout.RowPartition, draws: layout.RandomKey) -> GrownTree:
        self._spare.extend(self._lines.values())
        self._lines.clear()
        self._plant(rows)
        if self._can_split(0):
            self._count(0, rows)
            self._pick(0, rows, draws)
        n_leaves, rules = 1, self.rules()
        while n_leaves < rules.max_leaves and (leaf := self._next_leaf(n_leaves, rules.growth)) is not None:
            self._split(leaf, n_leaves, rows, draws)
            n_leaves += 1
        self._finish(n_leaves, gradients, rows)
        return GrownTree.read(self._nodes, self._leaves, rows.rows)

    def _plant(self, rows: layout.RowPartition) -> None:
        """Make the root a leaf."""
        self._workers.begin("level 0")
        local = rows.pairs[:, rows.rows].sum(axis=1)
        self._n_rows[0] = self._workers.sum(np.array([len(rows.rows)]))[0]
        self._enter(0, 0, (0, len(rows.rows)), self._workers.sum(local), (-np.inf, np.inf))
        self._leaves.ints[0, layout.LEAF_DEPTH] = 0

    def _next_leaf(self, n_leaves: int, order: int) -> int | None:
        """The leaf to split next: the largest gain, or level by level the first that has any."""
        gains = self._leaves.floats[:n_leaves, layout.LEAF_GAIN]
        if not (gains > 0.0).any():
            return None
        if order != layout.LEVELWISE:
            return int(np.argmax(gains))
        places = self._leaves.ints[:n_leaves]
        open_leaves = np.flatnonzero(gains > 0.0)
        return int(min(open_leaves, key=lambda leaf: (places[leaf, layout.LEAF_DEPTH], places[leaf, layout.LEAF_NODE])))

    def _split(self, leaf: int, new: int, rows: layout.RowPartition, draws: layout.RandomKey) -> None:
        """Split a leaf in two, the right child becoming leaf ``new``."""
        depth = int(self._leaves.ints[leaf, layout.LEAF_DEPTH]) + 1
        self._workers.begin(f"level {depth}")
        self._move(leaf, new, rows)
        children = [child for child in (leaf, new) if new + 1 < self._shape.max_leaves and self._can_split(child)]
        parent = self._lines.pop(leaf, None)
        if children:
            self._count_children(leaf, new, parent, rows)
        elif parent is not None:
            self._spare.append(parent)
        for child in children:
            self._pick(child, rows, draws)

    def _move(self, leaf: int, new: int, rows: layout.RowPartition) -> None:
        """Send the rows of a leaf to its children, and write these down."""
        integers, nodes = self._leaves.ints, self._nodes
        first, last = span = integers[leaf, layout.LEAF_BEGIN : layout.LEAF_END + 1].copy()
        feature, limit, missing_left = integers[leaf, layout.SPLIT_FEATURE : layout.SPLIT_MISSING_LEFT + 1].tolist()
        bins = self._dataset.columns[feature][rows.rows[first:last]]
        marks = (bins <= limit) & ((bins > 0) | bool(missing_left))
        steps.partition_marked(marks.view(np.uint8), rows.rows, rows.scratch, span)
        middle, n_planes = int(span[1]), self._shape.n_planes
        n_left = self._workers.sum(np.array([middle - first]))[0]
        self._n_rows[[leaf, new]] = n_left, self._n_rows[leaf] - n_left
        sums = integers[leaf, layout.LEAF_SUMS :].copy()
        left = sums[n_planes:]
        right = sums[:n_planes] - left
        low, high = self._child_bounds(leaf, left, right, int(self._features.monotone[feature]))
        self._choice.active_groups[new] = self._choice.active_groups[leaf] = (
            self._choice.active_groups[leaf] & self._choice.groups[:, feature]
        )
        node, child = int(integers[leaf, layout.LEAF_NODE]), int(nodes.info[layout.N_NODES])
        nodes.info[layout.N_NODES] += 2
        nodes.ints[node, [layout.NODE_FEATURE, layout.NODE_BIN, layout.NODE_MISSING_LEFT, layout.NODE_LEFT]] = (
            feature, limit, missing_left, child,
        )  # fmt: skip
        nodes.floats[node, layout.NODE_GAIN] = self._leaves.floats[leaf, layout.LEAF_GAIN]
        integers[[leaf, new], layout.LEAF_DEPTH] = integers[leaf, layout.LEAF_DEPTH] + 1
        self._enter(leaf, child, (first, middle), left, low)
        self._enter(new, child + 1, (middle, last), right, high)

    def _enter(
        self, leaf: int, node: int, span: tuple[int, int], sums: np.ndarray, bounds: tuple[float, float]
    ) -> None:  # fmt: skip
        """Write down a leaf with no split yet, and its node."""
        integers, nodes = self._leaves.ints[leaf], self._nodes
        integers[layout.LEAF_BEGIN : layout.LEAF_END + 1] = span
        integers[layout.LEAF_NODE] = node
        integers[layout.LEAF_SUMS :][: len(sums)] = sums
        self._leaves.floats[leaf] = (0.0, *bounds)
        nodes.ints[node] = 0
        nodes.ints[node, layout.NODE_FEATURE] = -1
        nodes.floats[node, layout.NODE_GAIN] = 0.0

    def _child_bounds(
        self, leaf: int, left: np.ndarray, right: np.ndarray, direction: int
    ) -> tuple[tuple[float, float], tuple[float, float]]:  # fmt: skip
        """The bounds of the values of two children: of their parent, and of the middle if the split is monotone."""
        low, high = self._leaves.floats[leaf, layout.LEAF_LOWER : layout.LEAF_UPPER + 1].tolist()
        if direction == 0:
            return (low, high), (low, high)
        out = np.empty(1)
        steps.find_midpoint(left, right, low, high, self.rules(), self._scales.histogram, out)
        below, above = (low, float(out[0])), (float(out[0]), high)
        return (below, above) if direction > 0 else (above, below)

    def _can_split(self, leaf: int) -> bool:
        rules, depth = self.rules(), self._leaves.ints[leaf, layout.LEAF_DEPTH]
        return bool(depth < rules.max_depth and self._n_rows[leaf] >= max(2 * rules.min_child_samples, 2))

    # --- histograms -------------------------------------------------------------------------------------------------

    def _count_children(self, leaf: int, new: int, parent: np.ndarray | None, rows: layout.RowPartition) -> None:
        """Build the histogram of the smaller child; the other's is what remains of the parent's, if that was kept."""
        small, large = (leaf, new) if self._n_rows[leaf] <= self._n_rows[new] else (new, leaf)
        self._count(small, rows)
        if parent is None:
            self._count(large, rows, small)
        else:
            self._own_cells(parent)[:] -= self._own_cells(self._lines[small])
            self._lines[large] = parent

    def _count(self, leaf: int, rows: layout.RowPartition, sibling: int | None = None) -> None:
        """Build the histogram of a leaf, for the rank's own features."""
        line = self._take_line(sibling)
        self._count_into(line, leaf, rows)
        self._lines[leaf] = line

    def _count_into(self, line: np.ndarray, leaf: int, rows: layout.RowPartition) -> None:
        first, last = (int(place) for place in self._leaves.ints[leaf, layout.LEAF_BEGIN : layout.LEAF_END + 1])
        features, target = (self._features, self._cells.partial[0]) if self._workers.splits_rows else (self._own, line)
        self._team.run(
            steps.build_slice, self._bins.tiles, rows.rows, rows.pairs, first, last, features.slices,
            features.log2_bin_bits, features.offset, target,
        )  # fmt: skip
        if self._workers.splits_rows:
            cells, n_planes = self._features.offset[self._shares], len(rows.pairs)
            self._own_cells(line)[:] = self._workers.communicator.reduce_scatter(target.reshape(n_planes, -1), cells)

    def _own_cells(self, line: np.ndarray) -> np.ndarray:
        """The cells of the rank's own features (planes, cells)."""
        first, last = self._features.offset[self._shares[self._workers.communicator.rank :][:2]]
        return line.reshape(self._shape.n_planes, -1)[:, first:last]

    def _take_line(self, sibling: int | None) -> np.ndarray:
        """Room for a histogram; if there is none, that of the leaf of least gain is given up, but not a sibling's."""
        if not self._spare:
            others = [leaf for leaf in self._lines if leaf != sibling]
            weakest = min(others, key=lambda leaf: self._leaves.floats[leaf, layout.LEAF_GAIN])
            self._spare.append(self._lines.pop(weakest))
        return self._spare.pop()

    # --- splits -----------------------------------------------------------------------------------------------------

    def _pick(self, leaf: int, rows: layout.RowPartition, draws: layout.RandomKey) -> None:
        """Give a leaf the best split of all ranks, counting rows where sums do not tell that sides have enough."""
        again = steps.ALL_FEATURES
        depth, node = (int(self._leaves.ints[leaf, place]) for place in (layout.LEAF_DEPTH, layout.LEAF_NODE))
        self._search.allowed[0] = allowed_features(self._choice, self._choice.active_groups[leaf], depth, node, draws)
        while True:
            is_sure = np.zeros(1, dtype=np.int64)
            self._team.run(
                steps.search_leaf, self._lines[leaf], leaf, again, int(self._n_rows[leaf]), self._own, self.rules(),
                self._scales, self._scratch, self._cells.bin_counts[0], self._leaves, self._search, is_sure,
            )  # fmt: skip
            if self._adopt(leaf, int(is_sure[0])):
                return
            again = int(self._leaves.ints[leaf, layout.SPLIT_FEATURE])
            first, last = self._leaves.ints[leaf, layout.LEAF_BEGIN : layout.LEAF_END + 1]
            bins = self._dataset.columns[again][rows.rows[first:last]]
            n_bins = int(self._features.n_bins[again])
            self._cells.bin_counts[0, : n_bins + 1] = self._workers.sum(np.bincount(bins, minlength=n_bins + 1))

    def _adopt(self, leaf: int, is_sure: int) -> bool:
        """Make the best cut of all ranks the leaf's, the first of equals; tell whether it surely leaves enough rows."""
        integers, numbers = self._leaves.ints[leaf], self._leaves.floats[leaf]
        gain, rules = float(numbers[layout.LEAF_GAIN]), self.rules()
        worth = gain if gain > 0.0 else -np.inf
        if rules.split_noise > 0.0 and gain > 0.0:
            with np.errstate(over="ignore"):  # random bits go around
                worth += draw_split_noise(rules, integers[layout.LEAF_NODE], integers[layout.SPLIT_FEATURE])
        told = np.concatenate([integers[TOLD], np.array([gain, worth]).view(np.int64), [is_sure]])
        every = np.concatenate(self._workers.communicator.gather(told[None]))
        gains, worths = every[:, -3:-1].copy().view(np.float64).T
        best = int(np.argmax(worths))
        integers[TOLD], numbers[layout.LEAF_GAIN] = every[best, :-3], gains[best]
        return bool(every[best, -1]) or gains[best] <= 0.0

    # --- leaf values ------------------------------------------------------------------------------------------------

    def _finish(self, n_leaves: int, gradients: layout.Gradients, rows: layout.RowPartition) -> None:
        """Give the nodes their true sums and values."""
        self._workers.begin("leaves")
        scratch, width = self._scratch, 2 * self._shape.n_outputs + 1
        self._team.run(
            steps.sum_leaf_rows, n_leaves, gradients, rows.rows, self._scales.exact, self._leaves.ints,
            scratch.leaf_sums,
        )  # fmt: skip
        used = slice(None, n_leaves * width)
        scratch.leaf_sums[0, used] = self._workers.sum(scratch.leaf_sums[:, used].sum(axis=0))
        everywhere = self._leaves.ints[:n_leaves].copy()
        everywhere[:, layout.LEAF_BEGIN], everywhere[:, layout.LEAF_END] = 0, self._n_rows[:n_leaves]
        steps.set_true_values(
            everywhere, gradients.weight_scale, self._features.monotone, self.rules(), self._scales.exact,
            scratch.leaf_sums, self._nodes,
        )  # fmt: skip


def _shares_of(start: np.ndarray, size: int) -> np.ndarray:
    """The first feature of each rank, and the number of features: about as many cells for each."""
    shares = np.searchsorted(start, [start[-1] * r // size for r in range(size + 1)]).astype(np.int64)
    shares[-1] = len(start) - 1
    return shares


def _shared_out(features: layout.FeatureMeta, shares: np.ndarray, rank: int, members: int) -> layout.FeatureMeta:
    """The features of a rank, shared out among the members of its team."""
    first, last = int(shares[rank]), int(shares[rank + 1])
    share = first + np.arange(members + 1) * (last - first) // members
    return features._replace(slices=share)
