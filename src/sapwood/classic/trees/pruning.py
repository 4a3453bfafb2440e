"""Minimal cost-complexity pruning (Breiman et al. 1984, chapter 3), for nodes with any number of children.

R(t) is the weight of a node, as a fraction of all rows, times its impurity; R(T_t) is the sum over the leaves below it.
The node with the least (R(t) - R(T_t)) / (leaves below - 1), its effective alpha, becomes a leaf next.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sapwood.classic.trees.tree import DecisionTree, Node


class Pruning:
    """A tree that loses one subtree after the other, the weakest first."""

    def __init__(self, tree: DecisionTree) -> None:
        self._nodes = tree.nodes
        total = tree.nodes[0].weight
        self._risk = [max(node.loss, 0.0) / total for node in tree.nodes]
        self._parent = [-1] * len(tree.nodes)
        self._leaf_risk, self._n_leaves = list(self._risk), [1] * len(tree.nodes)
        for number in range(len(tree.nodes) - 1, -1, -1):
            children = tree.nodes[number].children
            for child in children:
                self._parent[child] = number
            if children:
                self._leaf_risk[number] = sum(self._leaf_risk[child] for child in children)
                self._n_leaves[number] = sum(self._n_leaves[child] for child in children)
        self.pruned: set[int] = set()
        self._queue = [(self._alpha(k), k) for k, node in enumerate(tree.nodes) if not node.is_leaf]
        heapq.heapify(self._queue)

    @property
    def impurity(self) -> float:
        """Sum of R over the leaves."""
        return self._leaf_risk[0]

    def next_alpha(self) -> float | None:
        """Return the least effective alpha of the tree, None if nothing is left to prune."""
        while self._queue and not self._is_current(*self._queue[0]):
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def prune(self) -> None:
        """Make a leaf of the node with the least effective alpha; of equal ones the first."""
        _, node = heapq.heappop(self._queue)
        fewer, more = self._n_leaves[node] - 1, self._risk[node] - self._leaf_risk[node]
        self.pruned.add(node)
        while node >= 0:
            self._n_leaves[node] -= fewer
            self._leaf_risk[node] += more
            if self._n_leaves[node] > 1:
                heapq.heappush(self._queue, (self._alpha(node), node))
            node = self._parent[node]

    def _alpha(self, node: int) -> float:
        return (self._risk[node] - self._leaf_risk[node]) / (self._n_leaves[node] - 1)

    def _is_current(self, alpha: float, node: int) -> bool:
        """Return whether an entry of the queue is of an inner node and not outdated by a later one."""
        if self._n_leaves[node] <= 1 or alpha != self._alpha(node):
            return False
        while node >= 0:
            if node in self.pruned:
                return False
            node = self._parent[node]
        return True


def pruning_path(tree: DecisionTree) -> tuple[np.ndarray, np.ndarray]:
    """Return the effective alphas of the subtrees of pruning, and the impurity of their leaves."""
    pruning = Pruning(tree)
    alphas, impurities = [0.0], [pruning.impurity]
    while (alpha := pruning.next_alpha()) is not None:
        pruning.prune()
        alphas.append(alpha)
        impurities.append(pruning.impurity)
    return np.array(alphas), np.array(impurities)


def prune(tree: DecisionTree, alpha: float) -> DecisionTree:
    """Return the smallest subtree whose last effective alpha is at most ``alpha``."""
    pruning = Pruning(tree)
    while (weakest := pruning.next_alpha()) is not None and weakest <= alpha:
        pruning.prune()
    return replace(tree, nodes=_without_subtrees(tree.nodes, pruning.pruned))


def _without_subtrees(nodes: Sequence[Node], pruned: set[int]) -> tuple[Node, ...]:
    """Return the nodes that are left when the given ones become leaves, in preorder."""
    kept: list[Node] = []
    new_children: list[list[int]] = []
    pending = [(0, -1)]
    while pending:
        number, parent = pending.pop()
        if parent >= 0:
            new_children[parent].append(len(kept))
        node = nodes[number]
        if number in pruned:
            node = replace(node, split=None, children=(), shares=(), decrease=0.0)
        pending += [(child, len(kept)) for child in reversed(node.children)]
        kept.append(node)
        new_children.append([])
    return tuple(
        replace(node, children=tuple(children)) for node, children in zip(kept, new_children, strict=True)
    )  # fmt: skip
