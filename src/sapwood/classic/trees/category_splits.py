"""Splits of a categorical column: one child per category, or two sets of categories."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sapwood.classic.trees.entries import EntryBuffer, NodeEntries
from sapwood.classic.trees.settings import GrowSettings
from sapwood.classic.trees.splits import UNDECIDED, CategoryBranches, CategorySet, Split
from sapwood.kernels.split import impurity_scan as scan
from sapwood.kernels.split.absolute_error_scan import median_of_node
from sapwood.kernels.split.impurity import ABSOLUTE_ERROR, SQUARED_ERROR, category_losses, sum_categories
from sapwood.lazy_dataclass import dataclass

Scan = Callable[[NodeEntries, np.ndarray], np.ndarray]
FIRST_COLUMN = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class CategoryGroups:
    """The categories of a node: codes, sums and weights, and the entries of each, next to each other."""

    codes: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    weight: np.ndarray
    entries: np.ndarray

    def __len__(self) -> int:
        return len(self.codes)


class CategorySearch:
    """Finds the split of a categorical column in a node of some weight."""

    def __init__(self, settings: GrowSettings, limits: np.ndarray, weight: float, scan_node: Scan) -> None:
        self._settings, self._limits, self._weight, self._scan = settings, limits, weight, scan_node
        # Absolute error has no sums: means are taken to have some, and losses come from medians.
        self._is_absolute = settings.impurity == ABSOLUTE_ERROR
        self._impurity = SQUARED_ERROR if self._is_absolute else settings.impurity

    def find(self, node: NodeEntries, feature: int, n_codes: int) -> tuple[Split, float, tuple[float, ...]] | None:
        """Return the split, the decrease of the loss and the weights of the children, None if there is none."""
        groups = self._read_groups(node, feature, n_codes)
        if len(groups) < 2:
            return None
        if self._settings.is_multiway:
            return self._branches(node, feature, n_codes, groups)
        return self._best_set(node, feature, n_codes, groups)

    def _read_groups(self, node: NodeEntries, feature: int, n_codes: int) -> CategoryGroups:
        size = min(len(node), n_codes)
        counts, codes = np.empty(size + 1, dtype=np.int64), np.empty(size)
        sums = np.empty((size, self._settings.n_sums + 1))
        arrays, start, stop = node.span
        sum_categories(self._impurity, arrays, feature, start, stop, self._limits[scan.ORIGIN], counts, sums, codes)
        n = int(counts[-1])
        entries = arrays.order[feature, start:stop]
        first = 0
        if self._settings.is_fractional and codes[0] == 0.0:  # missing
            entries, first = entries[counts[0] :], 1
        part = slice(first, n)
        return CategoryGroups(codes[part].astype(np.intp), counts[part], sums[part], sums[part, -1], entries)

    def _branches(
        self, node: NodeEntries, feature: int, n_codes: int, groups: CategoryGroups
    ) -> tuple[Split, float, tuple[float, ...]] | None:
        is_small = (groups.counts < self._limits[scan.MIN_ENTRIES]) | (groups.weight < self._limits[scan.MIN_WEIGHT])
        if is_small.any():
            return None
        child_of_code = np.full(n_codes, UNDECIDED, dtype=np.int32)
        child_of_code[groups.codes] = np.arange(len(groups))
        if self._is_absolute:
            medians = self._medians(node, groups)
            parent, children = medians[-1, 1], medians[:-1, 1]
        else:
            total = np.cumsum(groups.sums, axis=0)[-1:]
            losses = np.empty(len(groups) + 1)
            category_losses(self._impurity, np.concatenate([groups.sums, total]), losses)
            parent, children = losses[-1], losses[:-1]
        weights = tuple(groups.weight.tolist())
        missing = self._weight - sum(weights)
        if self._settings.is_fractional and missing > 0.0:
            weights += (missing,)
        return CategoryBranches(feature, child_of_code, len(groups)), float(parent) - sum(children.tolist()), weights

    def _medians(self, node: NodeEntries, groups: CategoryGroups) -> np.ndarray:
        """Return weight, absolute error and median of each category, and of all of them last."""
        _, _, target, weight = node.buffer.arrays
        ends = np.cumsum(groups.counts).tolist()
        out = np.empty((len(groups) + 1, 3))
        for facts, start, stop in zip(out, [0, *ends[:-1], 0], [*ends, ends[-1]], strict=True):
            chosen = groups.entries[start:stop]
            one = EntryBuffer.of(np.empty((0, len(chosen))), target[chosen], weight[chosen])
            median_of_node(one.arrays, 0, len(chosen), facts)
        return out

    def _best_set(
        self, node: NodeEntries, feature: int, n_codes: int, groups: CategoryGroups
    ) -> tuple[Split, float, tuple[float, ...]] | None:
        """Return the best of the splits along orders of the categories.

        The order is that by the share of a class, tried for each class, or by the mean or median target. For two
        classes and for squared error, the best of all sets is among these (Breiman et al. 1984, section 4.2).
        """
        _, _, target, weight = node.buffer.arrays
        group_of = np.repeat(np.arange(len(groups)), groups.counts)
        best, best_rank = None, np.empty(0)
        for keys in self._orders(node, groups):
            rank = np.empty(len(groups))
            rank[np.argsort(keys, kind="stable")] = np.arange(len(groups))
            ordered = EntryBuffer.of(rank[group_of][None, :], target[groups.entries], weight[groups.entries])
            result = self._scan(NodeEntries(ordered, 0, len(group_of)), FIRST_COLUMN)[0].copy()
            if result[scan.LOSS] < np.inf and (best is None or result[scan.LOSS] < best[scan.LOSS]):
                best, best_rank = result, rank
        if best is None:
            return None
        left, total = float(best[scan.LEFT_WEIGHT]), float(best[scan.KNOWN_WEIGHT])
        goes_left = np.full(n_codes, left > total - left)  # categories that the node has not go with most rows
        goes_left[groups.codes] = best_rank <= best[scan.BELOW]
        split = CategorySet(feature, goes_left, tuple(groups.codes.tolist()), self._settings.is_fractional)
        weights: tuple[float, ...] = (left, total - left)
        if self._settings.is_fractional and self._weight > total:
            weights += (self._weight - total,)
        return split, float(best[scan.PARENT_LOSS] - best[scan.LOSS]), weights

    def _orders(self, node: NodeEntries, groups: CategoryGroups) -> list[np.ndarray]:
        """Return the numbers by which categories are ordered, one array per order."""
        if self._is_absolute:
            return [self._medians(node, groups)[:-1, 2]]
        shares = groups.sums[:, :-1] / groups.weight[:, None]
        return [shares[:, -1]] if shares.shape[1] <= 2 else list(shares.T)
