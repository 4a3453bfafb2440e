"""Exact greedy search written for reading: sets of rows, sums of floats, one leaf after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sapwood.kernels.layout import GrowParams
from sapwood.kernels.split import gain as formulas

NONE = -np.inf


class Data(NamedTuple):
    """Values (rows, features), weighted pairs (outputs, rows, 2), and a direction per feature."""

    X: np.ndarray
    pairs: np.ndarray
    monotone: np.ndarray


class Cut(NamedTuple):
    """A cut between two values of a leaf; None is above where all values go left and missing ones do not."""

    gain: float
    feature: int
    below: float
    above: float | None
    missing_left: bool


@dataclass
class Node:
    rows: np.ndarray
    depth: int = 0
    low: float = -np.inf
    high: float = np.inf
    cut: Cut | None = None
    children: list[Node] = field(default_factory=list)


def grow_slowly(data: Data, rules: GrowParams, level_by_level: bool) -> Node:
    """The whole tree; its nodes hold their rows and cuts."""
    root = Node(np.arange(len(data.X)))
    root.cut = best_cut(root, data, rules)
    leaves, made = [root], [root]
    while len(leaves) < rules.max_leaves:
        open_leaves = [leaf for leaf in leaves if leaf.cut is not None]
        if not open_leaves:
            break
        if level_by_level:
            chosen = min(open_leaves, key=lambda leaf: (leaf.depth, index_of(leaf, made)))
        else:
            chosen = max(open_leaves, key=lambda leaf: leaf.cut.gain)
        split(chosen, data, rules)
        at = index_of(chosen, leaves)
        leaves[at] = chosen.children[0]
        leaves.append(chosen.children[1])
        made += chosen.children
    return root


def index_of(node: Node, nodes: list[Node]) -> int:
    return next(k for k, other in enumerate(nodes) if other is node)


def split(node: Node, data: Data, rules: GrowParams) -> None:
    left = goes_left(data.X[node.rows, node.cut.feature], node.cut)
    bounds = [[node.low, node.high], [node.low, node.high]]
    direction = data.monotone[node.cut.feature]
    if direction != 0:
        values = [value_of(node, node.rows[side], 0, data, rules) for side in (left, ~left)]
        middle = 0.5 * values[0] + 0.5 * values[1]
        bounds[0 if direction > 0 else 1][1] = middle
        bounds[1 if direction > 0 else 0][0] = middle
    for side, (low, high) in zip((left, ~left), bounds, strict=True):
        child = Node(node.rows[side], node.depth + 1, low, high)
        child.cut = best_cut(child, data, rules)
        node.children.append(child)


def goes_left(x: np.ndarray, cut: Cut) -> np.ndarray:
    return np.where(np.isnan(x), cut.missing_left, x <= cut.below)


def best_cut(node: Node, data: Data, rules: GrowParams) -> Cut | None:
    """The first of the cuts with the largest gain, or None."""
    best = None
    if node.depth >= rules.max_depth:
        return None
    for f in range(data.X.shape[1]):
        for cut in cuts_of(node, f, data):
            gain = gain_of(node, cut, data, rules)
            if gain > 0.0 and (best is None or gain > best.gain):
                best = cut._replace(gain=gain)
    return best


def cuts_of(node: Node, f: int, data: Data) -> Iterator[Cut]:
    """All cuts of a feature, those that win a tie first."""
    x = data.X[node.rows, f]
    values = np.unique(x[~np.isnan(x)])
    ends = [*values.tolist(), None]
    has_missing = bool(np.isnan(x).any())
    rising = [Cut(0.0, f, ends[k], ends[k + 1], False) for k in range(len(values) - (0 if has_missing else 1))]
    if not np.isnan(data.X[:, f]).any():
        yield from reversed(rising)
        return
    yield from rising
    if has_missing:
        yield from (Cut(0.0, f, ends[k], ends[k + 1], True) for k in reversed(range(len(values) - 1)))


def gain_of(node: Node, cut: Cut, data: Data, rules: GrowParams) -> float:
    """The gain of a cut, or NONE where it breaks a rule."""
    left = goes_left(data.X[node.rows, cut.feature], cut)
    sides = [node.rows[left], node.rows[~left]]
    if min(map(len, sides)) < rules.min_child_samples:
        return NONE
    hessians = np.array([[data.pairs[k, rows, 1].sum() for k in range(len(data.pairs))] for rows in sides])
    if (hessians < rules.min_child_weight).any() or (hessians + rules.reg_lambda <= 0.0).any():
        return NONE
    if data.monotone[cut.feature] != 0:
        below, above = (value_of(node, rows, 0, data, rules) for rows in sides)
        if float(data.monotone[cut.feature]) * (above - below) < 0.0:
            return NONE
    score = score_of(node, sides[0], data, rules) + score_of(node, sides[1], data, rules)
    return formulas.split_gain(score, score_of(node, node.rows, data, rules), rules.min_split_gain)


def score_of(node: Node, rows: np.ndarray, data: Data, rules: GrowParams) -> float:
    score = 0.0
    for k in range(len(data.pairs)):
        g, h = data.pairs[k, rows].sum(axis=0)
        score += formulas.value_score(g, h, value_of(node, rows, k, data, rules), rules)
    return score


def value_of(node: Node, rows: np.ndarray, k: int, data: Data, rules: GrowParams) -> float:
    g, h = data.pairs[k, rows].sum(axis=0)
    return formulas.clip_value(formulas.leaf_value(g, h, rules), node.low, node.high)
