"""Grow a decision tree: depth first, or with a limited number of leaves best first."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sapwood.classic.trees.entries import EntryBuffer, NodeEntries
from sapwood.classic.trees.settings import GAIN_RATIO, GrowSettings
from sapwood.classic.trees.split_search import FoundSplit, SplitSearch
from sapwood.classic.trees.splits import UNDECIDED
from sapwood.classic.trees.tree import DecisionTree, Node
from sapwood.kernels.split.absolute_error_scan import median_of_node
from sapwood.kernels.split.impurity import ABSOLUTE_ERROR, SQUARED_ERROR, sum_node
from sapwood.native.runtime.kernel import RepeatedCall

SMALLEST_IMPURITY = float(np.finfo(np.float64).eps)  # a node with less is a leaf


@dataclass(eq=False)
class GrowingNode:
    """A node of a tree that is being grown, with its entries until it is split."""

    node: Node
    entries: NodeEntries | None
    number: int
    found: FoundSplit | None = None
    children: list[GrowingNode] = field(default_factory=list)


class TreeGrower:
    """Grows one tree; ``n_codes`` has the number of codes of each categorical column, 0 for a numeric one."""

    def __init__(self, settings: GrowSettings, n_codes: Sequence[int]) -> None:
        self._settings = settings
        self._search = SplitSearch(settings, n_codes)
        self._n_features = len(n_codes)
        self._n_nodes = 0
        self._total_weight = 0.0
        self._facts, self._sums = np.empty(3), np.empty(settings.n_sums)
        self._sum_node, self._median_of_node = RepeatedCall(sum_node), RepeatedCall(median_of_node)

    def grow(self, values: np.ndarray, target: np.ndarray, weight: np.ndarray) -> DecisionTree:
        """Return the tree of rows (columns, rows), their targets and positive weights."""
        buffer = EntryBuffer.of(values, target, weight)
        root = self._make_node(NodeEntries(buffer, 0, len(target)), 0)
        self._total_weight = root.node.weight
        self._find(root)
        if self._settings.max_leaf_nodes is None:
            pending = [root]
            while pending:
                pending += reversed(self._expand(pending.pop()))
        else:
            self._grow_best_first(root, self._settings.max_leaf_nodes)
        return DecisionTree(_in_preorder(root), self._n_features, self._settings.is_fractional)

    def _grow_best_first(self, root: GrowingNode, max_leaves: int) -> None:
        """Split the node with the largest decrease of the loss next, as long as leaves are left."""
        n_leaves, queue = 1, [(-_decrease(root), root.number, root)]
        while queue:
            _, _, node = heapq.heappop(queue)
            if node.found is None or n_leaves + node.found.split.n_children - 1 > max_leaves:
                continue
            n_leaves += node.found.split.n_children - 1
            for child in self._expand(node):
                heapq.heappush(queue, (-_decrease(child), child.number, child))

    def _make_node(self, entries: NodeEntries, depth: int) -> GrowingNode:
        settings = self._settings
        facts = self._facts
        if settings.impurity == ABSOLUTE_ERROR:
            self._median_of_node(*entries.span, facts)
            value = facts[2:].copy()
        else:
            self._sum_node(settings.impurity, *entries.span, self._sums, facts)
            value = self._sums / facts[0]
        node = Node(value, float(facts[0]), float(facts[1]), len(entries), depth)
        self._n_nodes += 1
        return GrowingNode(node, entries, self._n_nodes - 1)

    def _find(self, growing: GrowingNode) -> None:
        """Find the split of a node unless it must be a leaf."""
        settings, node, entries = self._settings, growing.node, growing.entries
        assert entries is not None
        if (
            node.depth >= settings.max_depth
            or node.count < max(settings.min_samples_split, 2 * settings.min_samples_leaf)
            or node.weight < 2.0 * settings.min_weight
            or node.impurity <= SMALLEST_IMPURITY
        ):
            return
        origin = float(node.value[0]) if settings.impurity == SQUARED_ERROR else 0.0
        found = self._search.find(entries, origin, node.weight, growing.number)
        if found is None:
            return
        decrease = found.decrease / self._total_weight
        if decrease + SMALLEST_IMPURITY >= settings.min_impurity_decrease and (
            found.decrease > 0.0 or settings.criterion != GAIN_RATIO
        ):
            growing.found = found

    def _expand(self, growing: GrowingNode) -> list[GrowingNode]:
        """Divide the entries of a node by its split, if it has one; return the children."""
        found, entries = growing.found, growing.entries
        growing.entries = None
        if found is None or entries is None:
            return []
        split = found.split
        arrays = entries.buffer.arrays
        child = split.children_of(arrays.values, entries.numbers)
        weights = found.weights[: split.n_children]
        known = sum(weights)
        shares = tuple(w / known for w in weights)
        assert self._settings.is_fractional or child.min() != UNDECIDED
        parts = entries.divide(child, shares)
        growing.node = replace(growing.node, split=split, shares=shares, decrease=max(found.decrease, 0.0))
        growing.children = [self._make_node(part, growing.node.depth + 1) for part in parts]
        for one in growing.children:
            self._find(one)
        return growing.children


def _decrease(node: GrowingNode) -> float:
    return 0.0 if node.found is None else node.found.decrease


def _in_preorder(root: GrowingNode) -> tuple[Node, ...]:
    """Return the nodes, numbered so that each comes before its children and these in their order."""
    nodes: list[Node] = []
    parents: list[int] = []
    children: list[list[int]] = []
    pending = [(root, -1)]
    while pending:
        growing, parent = pending.pop()
        if parent >= 0:
            children[parent].append(len(nodes))
        pending += [(child, len(nodes)) for child in reversed(growing.children)]
        nodes.append(growing.node)
        parents.append(parent)
        children.append([])
    return tuple(
        replace(node, children=tuple(numbers)) if numbers else node
        for node, numbers in zip(nodes, children, strict=True)
    )
