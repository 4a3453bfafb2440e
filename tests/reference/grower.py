"""Growing a tree the slow way, to be read: lists of rows, exact integers and fractions, every cut tried.

Where two cuts or two leaves are so close that rounding decides between them, ``TooCloseError`` is raised: such tables
say nothing about the fast grower.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from sapwood.params.declaration import TreeParams
from tests.reference.quantise import Quantised

CLOSE = Fraction(1, 10**10)
Sums = tuple[int, int]


class TooCloseError(Exception):
    """Rounding decides what happens next."""


@dataclass(frozen=True)
class Cut:
    """A split of a leaf: feature, last bin on the left, side of the missing; and what it brings."""

    feature: int
    bin: int
    missing_left: bool
    gain: Fraction
    sides: tuple[Sums, ...]


@dataclass
class Node:
    """A node with its rows, in the order of the table."""

    rows: list[int]
    depth: int
    cut: Cut | None = None
    above: tuple[int, ...] = ()  # the features of the cuts above
    left: int = 0
    gradient: float = 0.0
    hessian: float = 0.0
    weight: float = 0.0
    value: float = 0.0


@dataclass
class SlowTree:
    """The nodes in the order in which they were made."""

    nodes: list[Node] = field(default_factory=list)


class SlowGrower:
    """Grows one tree on a table of bins (rows, features), bin 0 missing."""

    def __init__(self, bins: np.ndarray, n_bins: np.ndarray, quantised: Quantised, params: TreeParams) -> None:
        self.bins = bins
        self.n_bins = n_bins
        self.quantised = quantised
        self.params = params
        self.reg_lambda = Fraction(params.reg_lambda)
        self.reg_alpha = Fraction(params.reg_alpha)

    # --- formulas -----------------------------------------------------------------------------------------------------

    def sums(self, rows: list[int]) -> Sums:
        """G and H in steps."""
        return sum(self.quantised.gradient[i] for i in rows), sum(self.quantised.hessian[i] for i in rows)

    def exact(self, sums: Sums) -> tuple[Fraction, Fraction, Fraction]:
        """G and H of a leaf and its best value (X1)."""
        g, h = sums[0] / self.quantised.unit[0], sums[1] / self.quantised.unit[1]
        if h + self.reg_lambda <= 0:
            return g, h, Fraction(0)
        shrunk = max(abs(g) - self.reg_alpha, Fraction(0)) * (1 if g > 0 else -1)
        value = -shrunk / (h + self.reg_lambda)
        limit = Fraction(self.params.max_delta_step)
        return g, h, min(max(value, -limit), limit) if limit else value

    def score(self, sums: Sums) -> Fraction:
        """Twice the decrease of the objective when these rows become a leaf (X1)."""
        g, h, value = self.exact(sums)
        return -(2 * g * value + (h + self.reg_lambda) * value**2) - 2 * self.reg_alpha * abs(value)

    def gain(self, after: Fraction, before: Fraction) -> Fraction:
        """What a split brings, given the scores of what comes of it and of what was there (X2); 0 for nothing."""
        if after == before:
            return Fraction(0)
        if abs(after - before) <= CLOSE * (after + before):
            raise TooCloseError
        gain = (after - before) / 2 - Fraction(self.params.min_split_gain)
        if abs(gain) <= CLOSE * (after + before):
            raise TooCloseError
        return gain

    def is_allowed(self, rows: list[int]) -> bool:
        """Tell whether these rows may be a leaf."""
        h = self.sums(rows)[1] / self.quantised.unit[1]
        enough = len(rows) >= self.params.min_child_samples and h >= Fraction(self.params.min_child_weight)
        return enough and h + self.reg_lambda > 0

    # --- splits -------------------------------------------------------------------------------------------------------

    def part(self, rows: list[int], feature: int, bin: int, missing_left: bool) -> tuple[list[int], list[int]]:
        """The rows that go left and those that go right, each in their order."""

        def goes_left(row: int) -> bool:
            own = self.bins[row, feature]
            return missing_left if own == 0 else own <= bin

        return [i for i in rows if goes_left(i)], [i for i in rows if not goes_left(i)]

    def cuts(self, rows: list[int], feature: int):
        """All cuts of a feature in the order of preference: missing right before left, then by bin."""
        has_missing = any(self.bins[i, feature] == 0 for i in rows)
        for missing_left in (False, True) if has_missing else (False,):
            for bin in range(1, self.n_bins[feature] + (0 if missing_left or not has_missing else 1)):
                left, right = self.part(rows, feature, bin, missing_left)
                if left and right and self.is_allowed(left) and self.is_allowed(right):
                    sides = self.sums(left), self.sums(right)
                    gain = self.gain(sum(map(self.score, sides)), self.score(self.sums(rows)))
                    yield Cut(feature, bin, missing_left, gain, sides), has_missing, left, right

    def features_of(self, node: Node) -> Sequence[int]:
        """The features that a leaf may be split on."""
        return range(self.bins.shape[1])

    def best_cut(self, node: Node) -> Cut | None:
        """The cut of the largest gain; of equals the first feature, then missing right, then the first bin."""
        params = self.params
        if len(node.rows) < 2 or (params.max_depth is not None and node.depth >= params.max_depth):
            return None
        found = [each for f in self.features_of(node) for each in self.cuts(node.rows, f)]
        found = [each for each in found if each[0].gain > 0]
        if not found:
            return None
        best = max(found, key=lambda each: each[0].gain)  # the first of the largest
        for cut, *_ in found:
            if cut.gain >= best[0].gain * (1 - CLOSE) and cut.sides != best[0].sides:
                raise TooCloseError
        cut, has_missing, left, right = best
        if has_missing:
            return cut
        heavier_left = self.sums(left)[1] >= self.sums(right)[1]  # where missing values of other rows will go
        return Cut(cut.feature, cut.bin, heavier_left, cut.gain, cut.sides)

    # --- growth -------------------------------------------------------------------------------------------------------

    def grow(self) -> SlowTree:
        """Split leaf after leaf until no gain or room is left."""
        tree = SlowTree([Node(list(range(len(self.bins))), 0)])
        tree.nodes[0].cut = self.best_cut(tree.nodes[0])
        leaves = [0]
        assert self.params.max_leaves is not None
        while len(leaves) < self.params.max_leaves:
            place = self.next_leaf(tree, leaves)
            if place is None:
                break
            node = tree.nodes[leaves[place]]
            assert node.cut is not None
            node.left = len(tree.nodes)
            for rows in self.part(node.rows, node.cut.feature, node.cut.bin, node.cut.missing_left):
                tree.nodes.append(Node(rows, node.depth + 1, above=(*node.above, node.cut.feature)))
            leaves[place] = node.left
            leaves.append(node.left + 1)
            if len(leaves) < self.params.max_leaves:
                for child in tree.nodes[-2:]:
                    child.cut = self.best_cut(child)
        for node in (tree.nodes[leaf] for leaf in leaves):
            node.cut = None
        return tree

    def next_leaf(self, tree: SlowTree, leaves: list[int]) -> int | None:
        """The place of the leaf to split next: the largest gain, or level by level."""
        open_places = [k for k, leaf in enumerate(leaves) if tree.nodes[leaf].cut is not None]
        if not open_places:
            return None
        if self.params.growth == "levelwise":
            return min(open_places, key=lambda k: (tree.nodes[leaves[k]].depth, leaves[k]))
        cuts = {k: tree.nodes[leaves[k]].cut for k in open_places}
        best = max(open_places, key=lambda k: cuts[k].gain)
        for k in open_places:
            if cuts[k].gain >= cuts[best].gain * (1 - CLOSE) and cuts[k].sides != cuts[best].sides:
                raise TooCloseError
        return best

    def answer(self, tree: SlowTree, pairs: np.ndarray, weight: np.ndarray | None, weight_scale: float) -> None:
        """Give every node the sums of its true gradients, in fixed point, and its value."""
        scales = [float(unit) for unit in self.quantised.exact_unit]
        for node in reversed(tree.nodes):
            if node.left:
                below = tree.nodes[node.left], tree.nodes[node.left + 1]
                node.gradient = below[0].gradient + below[1].gradient
                node.hessian = below[0].hessian + below[1].hessian
                node.weight = below[0].weight + below[1].weight
            else:
                own = [1.0 if weight is None else float(weight[i]) for i in node.rows]
                weighted = [
                    (w * float(pairs[i, 0]), w * float(pairs[i, 1])) for i, w in zip(node.rows, own, strict=True)
                ]
                node.gradient = fixed_sum([g for g, _ in weighted], scales[0])
                node.hessian = fixed_sum([h for _, h in weighted], scales[1])
                node.weight = fixed_sum(own, weight_scale)
            node.value = self.value(node.gradient, node.hessian)

    def value(self, g: float, h: float) -> float:
        """The best value of a leaf (X1)."""
        if h + self.params.reg_lambda <= 0:
            return 0.0
        shrunk = g - self.params.reg_alpha if g > self.params.reg_alpha else g + self.params.reg_alpha
        if abs(g) <= self.params.reg_alpha:
            shrunk = 0.0
        value = -shrunk / (h + self.params.reg_lambda)
        limit = self.params.max_delta_step
        return min(max(value, -limit), limit) if limit else value


def fixed_sum(values: list[float], scale: float) -> float:
    """The sum in steps of 1 / scale, each value rounded to the nearest."""
    return sum(round(value * scale) for value in values) / scale
