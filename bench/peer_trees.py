"""Read the trees of XGBoost and compare them with ours node by node."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sapwood.model.tree import LEAF, Tree

# Two cuts whose gains differ by less than this part are a tie: rounding decides between them.
TIE = 1e-6
# Leaf values may differ by this part of the largest.
SAME_VALUE = 1e-5
# XGBoost makes a leaf of a node whose best gain, twice ours, is not above this.
LEAST_GAIN = 1e-6


@dataclass(frozen=True, eq=False)
class PeerTree:
    """A tree of another library; feature -1 is a leaf. A value at the threshold goes left if ``closed``, else right."""

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    closed: bool

    def goes_left(self, node: int, X: np.ndarray) -> np.ndarray:
        """Return which rows a node sends left."""
        x = X[:, self.feature[node]].astype(np.float64)
        inside = x <= self.threshold[node] if self.closed else x < self.threshold[node]
        return np.where(np.isnan(x), self.missing_left[node], inside)

    @classmethod
    def of(cls, tree: Tree) -> PeerTree:
        """Return one of our trees in this form."""
        right = np.where(tree.feature == LEAF, 0, tree.left + 1)
        missing_left = tree.missing_left != 0
        return cls(tree.feature, tree.threshold, tree.left, right, missing_left, tree.value[:, 0], closed=True)


def read_xgboost(booster: Any) -> list[PeerTree]:
    """The trees of a booster of XGBoost's."""
    model = json.loads(bytes(booster.save_raw("json")))
    return [_from_xgboost(tree) for tree in model["learner"]["gradient_booster"]["model"]["trees"]]


def _from_xgboost(tree: dict[str, list[Any]]) -> PeerTree:
    left, right = np.array(tree["left_children"]), np.array(tree["right_children"])
    condition = np.array(tree["split_conditions"], dtype=np.float32).astype(np.float64)  # a leaf's is its value
    feature = np.where(left < 0, LEAF, tree["split_indices"])
    return PeerTree(feature, condition, left, right, np.array(tree["default_left"], bool), condition, closed=False)


class Rows(NamedTuple):
    """The rows of a tree: values, weighted gradients and hessians, and the L2 penalty of gains."""

    X: np.ndarray
    g: np.ndarray
    h: np.ndarray
    reg_lambda: float

    def score(self, rows: np.ndarray) -> float:
        """Return twice the decrease of the objective by a leaf of some rows."""
        return float(self.g[rows].sum() ** 2 / (self.h[rows].sum() + self.reg_lambda))


@dataclass
class Match:
    """Agreement of two trees: nodes of our tree, those below a tie, and a description of every difference."""

    nodes: int = 0
    skipped: int = 0
    differences: list[str] = field(default_factory=list)

    def add(self, other: Match) -> None:
        """Add the counts of another tree."""
        self.nodes += other.nodes
        self.skipped += other.skipped
        self.differences += other.differences


def match_trees(tree: Tree, theirs: PeerTree, rows: Rows, relative_to_score: float = 0.0) -> Match:
    """Compare two trees from their roots; subtrees below a tie are skipped.

    Gains count as equal within ``TIE`` of the larger, or within ``relative_to_score`` of the scores they come from.
    """
    ours = PeerTree.of(tree)
    found = Match(nodes=tree.n_nodes)
    largest = float(np.abs(ours.value[ours.feature == LEAF]).max())
    pending = [(0, 0, np.arange(len(rows.g)))]
    while pending:
        node, peer, inside = pending.pop()
        if ours.feature[node] == LEAF and theirs.feature[peer] == LEAF:
            if not abs(ours.value[node] - theirs.value[peer]) <= SAME_VALUE * largest:
                found.differences.append(f"leaf {node}: we answer {ours.value[node]}, they {theirs.value[peer]}")
            continue
        X = rows.X[inside]
        left = None if ours.feature[node] == LEAF else ours.goes_left(node, X)
        peer_left = None if theirs.feature[peer] == LEAF else theirs.goes_left(peer, X)
        if ours.feature[node] == theirs.feature[peer] and np.array_equal(left, peer_left):
            pending.append((int(ours.left[node]), int(theirs.left[peer]), inside[left]))
            pending.append((int(ours.right[node]), int(theirs.right[peer]), inside[~left]))
            continue
        found.skipped += _count_below(ours, node)
        whole, gains = _gains(rows, inside, left, peer_left)
        allowed = max(TIE * max(gains), relative_to_score * (whole + max(gains)))
        if left is None or peer_left is None:
            allowed += LEAST_GAIN
        if not abs(gains[0] - gains[1]) <= allowed:
            found.differences.append(f"node {node} of {len(inside)} rows: we gain {gains[0]}, they {gains[1]}")
    return found


def _gains(
    rows: Rows, inside: np.ndarray, left: np.ndarray | None, peer_left: np.ndarray | None
) -> tuple[float, list[float]]:
    """The score of a node, and what two splits of it (None: none) gain."""
    whole = rows.score(inside)
    sides = (None if one is None else rows.score(inside[one]) + rows.score(inside[~one]) for one in (left, peer_left))
    return whole, [0.0 if both is None else both - whole for both in sides]


def _count_below(tree: PeerTree, node: int) -> int:
    """The nodes of a subtree."""
    if tree.feature[node] == LEAF:
        return 1
    return 1 + _count_below(tree, int(tree.left[node])) + _count_below(tree, int(tree.right[node]))
