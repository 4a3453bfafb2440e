"""Slow twin of ``kernels/grow/forest_tree.py``: one tree of a forest, node by node, with lists of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sapwood.kernels.grow.forest_tree import ForestParams
from sapwood.kernels.numeric.random import NODE_COLUMNS, THRESHOLDS, draw, stream_key


@dataclass
class Node:
    """A node: its rows with weights and amounts, and its split."""

    rows: list[int]
    depth: int
    feature: int = -1
    bin: int = 0
    missing_left: int = 0
    left: int = 0


@dataclass
class SlowTree:
    """Grows a tree on integer weights and amounts by row; see the kernel for their meaning."""

    columns: np.ndarray
    edges: list[np.ndarray]
    params: ForestParams
    number: int
    weights: dict[int, int]
    amounts: dict[int, int]
    nodes: list[Node] = field(default_factory=list)

    def grow(self) -> list[Node]:
        self.order = list(range(len(self.columns)))
        self.nodes = [Node(sorted(self.weights), 0)]
        stack = [0]
        while stack:
            i = stack.pop()
            split = self.best_split(i)
            if split is None:
                continue
            _, feature, last, following, missing_left = split
            node, column, edges = self.nodes[i], self.columns[split[1]], self.edges[split[1]]
            if following is not None and last + 1 < following:
                halfway = 0.5 * edges[last - 1] + 0.5 * edges[following - 2]
                last = min(range(last, following), key=lambda b: (abs(edges[b - 1] - halfway), b))
            goes_left = [b <= last and (b > 0 or missing_left == 1) for b in column[node.rows].tolist()]
            sides = [[r for r, is_left in zip(node.rows, goes_left, strict=True) if is_left == side] for side in (1, 0)]
            if missing_left == 2:
                missing_left = int(2 * len(sides[0]) > len(node.rows))
            node.feature, node.bin, node.missing_left, node.left = feature, last, missing_left, len(self.nodes)
            stack += [len(self.nodes) + 1, len(self.nodes)]
            self.nodes += [Node(side, node.depth + 1) for side in sides]
        return self.nodes

    def best_split(self, i: int) -> tuple | None:
        node, params = self.nodes[i], self.params
        n = len(node.rows)
        is_pure = len({self.target(r) for r in node.rows}) == 1
        if n < max(params.min_samples_split, 2 * params.min_samples_leaf) or node.depth >= params.max_depth or is_pure:
            return None
        best = None
        with np.errstate(over="ignore"):
            key = stream_key(params.seed, NODE_COLUMNS, self.number)
            threshold_key = stream_key(params.seed, THRESHOLDS, self.number)
            for visit in range(len(self.order)):
                if visit >= params.max_features and best is not None:
                    break
                other = visit + int(draw(key, np.uint64((i << 24) + visit)) % np.uint64(len(self.order) - visit))
                self.order[visit], self.order[other] = self.order[other], self.order[visit]
                f = self.order[visit]
                bits = int(draw(threshold_key, np.uint64((i << 24) + f)))
                for candidate in self.candidates(node, f, bits):
                    score = self.score(node, f, candidate)
                    if score is not None and (best is None or score > best[0]):
                        best = (score, f, *candidate)
        return best

    def candidates(self, node: Node, f: int, bits: int) -> list[tuple[int, int | None, int]]:
        """Return triples: last bin on the left, next bin that occurs, and the side of missing values."""
        bins = sorted({int(b) for b in self.columns[f][node.rows]})
        has_missing = bins[0] == 0
        bins = bins[1:] if has_missing else bins
        if not bins or (len(bins) == 1 and not has_missing):
            return []
        sides = [0, 1] if has_missing else [2]
        if self.params.random_thresholds:
            if len(bins) == 1:
                return [(bins[0], None, 0)]
            low, high, edges = bins[0], bins[-1], self.edges[f]
            value = edges[low - 1] + (bits >> 11) * 2.0**-53 * (edges[high - 2] - edges[low - 1])
            drawn = min(range(low, high), key=lambda b: (abs(edges[b - 1] - value), b))
            return [(drawn, None, side) for side in sides]
        pairs = [(last, following, side) for last, following in pairwise(bins) for side in sides]
        return [*pairs, (bins[-1], None, 0)] if has_missing else pairs

    def score(self, node: Node, f: int, candidate: tuple[int, int | None, int]) -> float | None:
        last, _, missing_left = candidate
        left = [r for r in node.rows if self.columns[f][r] <= last and (self.columns[f][r] > 0 or missing_left == 1)]
        right = sorted(set(node.rows) - set(left))
        if min(len(left), len(right)) < self.params.min_samples_leaf:
            return None
        if min(sum(self.weights[r] for r in side) for side in (left, right)) < self.params.min_weight_leaf:
            return None
        return sum(self.side_score(side) for side in (left, right))

    def side_score(self, rows: list[int]) -> float:
        weight = float(sum(self.weights[r] for r in rows))
        if self.params.n_outputs == 1:
            sums = [sum(self.amounts[r] for r in rows)]
        else:
            sums = [sum(self.weights[r] for r in rows if self.amounts[r] == k) for k in range(self.params.n_outputs)]
        total = 0.0
        for s in sums:
            total += float(s) * float(s)
        return total / weight

    def target(self, row: int) -> int:
        """Return the target without weights: amounts are multiples of it, codes are themselves."""
        return self.amounts[row] if self.params.n_outputs > 1 else self.amounts[row] // self.weights[row]
