"""The best split of a node: thresholds of numeric columns, sets or branches of categories, hyperplanes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sapwood.classic.trees.category_splits import CategorySearch
from sapwood.classic.trees.entries import EntryBuffer, NodeEntries
from sapwood.classic.trees.hyperplanes import hyperplanes
from sapwood.classic.trees.settings import GAIN_RATIO, GrowSettings
from sapwood.classic.trees.splits import Split, Threshold
from sapwood.kernels.numeric.elementwise import apply_elementwise, log_values
from sapwood.kernels.numeric.random import NODE_COLUMNS, draw_many
from sapwood.kernels.split import impurity_scan as scan
from sapwood.kernels.split.absolute_error_scan import scan_columns_absolute
from sapwood.kernels.split.impurity import ABSOLUTE_ERROR
from sapwood.kernels.split.impurity_scan import scan_columns
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import RepeatedCall

SLIGHTLY_LESS = 1.0 - 1e-12
LN_2 = 0.6931471805599453


@dataclass(frozen=True, eq=False)
class FoundSplit:
    """A split and the decrease of the loss by it; ``weights`` are those of the children, and of missing values."""

    split: Split
    decrease: float
    weights: tuple[float, ...] = ()

    @property
    def split_information(self) -> float:
        """Entropy of the division into children, in bits."""
        weights = np.array([w for w in self.weights if w > 0.0])
        total = float(sum(weights.tolist()))
        return -sum((weights / total * apply_elementwise(log_values, weights / total)).tolist()) / LN_2


class SplitSearch:
    """Finds splits; ``n_codes`` has the number of codes of each categorical column, 0 for a numeric one."""

    def __init__(self, settings: GrowSettings, n_codes: Sequence[int]) -> None:
        self._settings = settings
        self._n_codes = n_codes
        self._limits = np.zeros(scan.LIMITS)
        self._limits[scan.MIN_ENTRIES] = settings.min_samples_leaf
        self._limits[scan.MIN_WEIGHT] = settings.min_weight
        self._limits[scan.KNOWN_ONLY] = float(settings.is_fractional)
        self._sums = np.empty((3, settings.n_sums))
        self._results: dict[int, np.ndarray] = {}
        self._scan_columns = RepeatedCall(scan_columns)
        self._numeric = np.array([f for f, n in enumerate(n_codes) if n == 0], dtype=np.int64)
        self._categorical = [f for f, n in enumerate(n_codes) if n > 0]
        self._all_columns = np.arange(len(n_codes), dtype=np.uint64)

    def find(self, node: NodeEntries, origin: float, weight: float, number: int) -> FoundSplit | None:
        """Return the best split of a node, None if there is none.

        ``origin`` is the mean target of the node, ``weight`` its weight, and columns are drawn by its ``number``.
        """
        self._limits[scan.ORIGIN], self._weight = origin, weight
        settings = self._settings
        if settings.max_features >= len(self._n_codes):
            found = self._find_among(node, self._numeric, self._categorical)
        else:
            found = self._find_among_drawn(node, number)
        if settings.is_oblique and len(self._numeric) > 1:
            found += self._find_hyperplanes(node, found)
        return self._best(found)

    def _find_among_drawn(self, node: NodeEntries, number: int) -> list[FoundSplit]:
        """Search ``max_features`` columns at random; as long as there is no split, the next one."""
        hashes = np.empty(len(self._n_codes), dtype=np.uint64)
        draw_many(self._settings.seed, NODE_COLUMNS, number, self._all_columns, hashes)
        order = np.argsort(hashes, kind="stable")
        n, found = self._settings.max_features, []
        for first, last in [(0, n), *((k, k + 1) for k in range(n, len(order)))]:
            chosen = np.sort(order[first:last])
            numeric = chosen[[self._n_codes[f] == 0 for f in chosen]]
            found = self._find_among(node, numeric, [int(f) for f in chosen if self._n_codes[f] > 0])
            if self._best(found) is not None:
                break
        return found

    def _find_among(self, node: NodeEntries, numeric: np.ndarray, categorical: list[int]) -> list[FoundSplit]:
        found = self._find_thresholds(node, numeric) if len(numeric) else []
        if categorical:
            search = CategorySearch(self._settings, self._limits, self._weight, self.scan)
            for f in categorical:
                one = search.find(node, f, self._n_codes[f])
                if one is not None:
                    found.append(FoundSplit(*one))
        return found

    def scan(self, node: NodeEntries, columns: np.ndarray) -> np.ndarray:
        """Return the best threshold of each column, as the kernels write it; the next call overwrites it."""
        out = self._results.setdefault(len(columns), np.empty((len(columns), scan.RESULT)))
        if self._settings.impurity == ABSOLUTE_ERROR:
            n = len(node)
            scratch = node.buffer.rank, np.empty(n), np.empty((n + 1, 2)), np.empty((n, 2))
            scan_columns_absolute(*node.span, columns, self._limits, *scratch, out)
        else:
            arguments = self._settings.impurity, *node.span, columns, self._limits, self._sums, out
            self._scan_columns(*arguments)
        return out

    def _find_thresholds(self, node: NodeEntries, columns: np.ndarray) -> list[FoundSplit]:
        """Return the best threshold of all columns, or with gain ratio that of each."""
        out = self.scan(node, columns)
        # All columns divide the same entries unless missing ones are left out: their loss is computed once, so that
        # rounding does not decide between columns.
        parent = out[:, scan.PARENT_LOSS] if self._settings.is_fractional else out[0, scan.PARENT_LOSS]
        decrease = parent - out[:, scan.LOSS]
        if self._settings.criterion == GAIN_RATIO:
            chosen = np.flatnonzero(out[:, scan.LOSS] < np.inf)
        else:
            best = int(np.argmax(decrease))
            chosen = np.array([best] if out[best, scan.LOSS] < np.inf else [], dtype=np.intp)
        return [self._threshold(node, int(columns[k]), out[k], float(decrease[k])) for k in chosen]

    def _threshold(self, node: NodeEntries, feature: int, result: np.ndarray, decrease: float) -> FoundSplit:
        left, known = float(result[scan.LEFT_WEIGHT]), float(result[scan.KNOWN_WEIGHT])
        threshold = middle(float(result[scan.BELOW]), float(result[scan.ABOVE]))
        order, values = node.buffer.arrays.order, node.buffer.arrays.values
        has_missing = bool(np.isnan(values[feature, order[feature, node.stop - 1]]))
        missing_left: bool | None = bool(result[scan.MISSING_LEFT])
        if self._settings.is_fractional:
            missing_left = None
        elif not has_missing:
            missing_left = bool(2 * np.count_nonzero(values[feature, node.numbers] <= threshold) > len(node))
        split = Threshold(feature, threshold, missing_left, has_missing)
        weights: tuple[float, ...] = (left, known - left)
        if self._settings.criterion == GAIN_RATIO and self._settings.is_fractional:
            weights += (self._weight - known,)
        return FoundSplit(split, decrease, weights)

    def _find_hyperplanes(self, node: NodeEntries, found: list[FoundSplit]) -> list[FoundSplit]:
        """Return oblique splits that decrease the loss more than the best split so far."""
        least = max((one.decrease for one in found), default=0.0)
        better = []
        for plane in hyperplanes(node, self._numeric, self._settings):
            z = plane.project(node.buffer.arrays.values, node.numbers)[None, :]
            _, _, target, weight = node.buffer.arrays
            projected = EntryBuffer.of(z, target[node.numbers], weight[node.numbers])
            result = self.scan(NodeEntries(projected, 0, z.shape[1]), np.zeros(1, dtype=np.int64))[0]
            decrease = float(result[scan.PARENT_LOSS] - result[scan.LOSS])
            if decrease > least and not np.isnan(result[scan.ABOVE]):
                threshold = middle(float(result[scan.BELOW]), float(result[scan.ABOVE]))
                left = float(result[scan.LEFT_WEIGHT])
                weights = (left, float(result[scan.KNOWN_WEIGHT]) - left)
                better.append(FoundSplit(plane.at(threshold), decrease, weights))
        return better

    def _best(self, found: list[FoundSplit]) -> FoundSplit | None:
        """Return the split with the largest decrease, or by gain ratio among those of at least average gain."""
        if self._settings.criterion != GAIN_RATIO:
            return max(found, key=lambda one: one.decrease, default=None)
        found = [one for one in found if one.decrease > 0.0 and one.split_information > 0.0]
        if not found:
            return None
        average = sum(one.decrease for one in found) / len(found) * SLIGHTLY_LESS
        return max(
            (one for one in found if one.decrease >= average), key=lambda one: one.decrease / one.split_information
        )


def middle(below: float, above: float) -> float:
    """Return the threshold between two values, at least the lower and less than the upper one; above all if NaN."""
    if np.isnan(above):
        return np.inf
    threshold = below / 2.0 + above / 2.0
    return threshold if below <= threshold < above else below
