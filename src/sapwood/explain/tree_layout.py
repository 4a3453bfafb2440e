"""Positions of the nodes of a tree that is drawn from left to right: the root on the left, one line per leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.errors import ParameterError
from sapwood.explain.split_condition import SplitCondition, SplitConditions
from sapwood.model.model import Model
from sapwood.model.tree import LEAF, Tree
from sapwood.params.validators import is_integer


@dataclass(frozen=True)
class DrawnNode:
    """A node of a drawing.

    ``position`` is its place from top to bottom, in leaves; ``parent`` is the index of its parent in the list of drawn
    nodes, −1 for the root. ``hidden_leaves`` counts the leaves below a node at which the drawing ends. ``condition``
    is None for leaves.
    """

    node: int
    parent: int
    is_left: bool
    depth: int
    position: float
    value: tuple[float, ...]
    count: int
    gain: float
    condition: SplitCondition | None
    formula: str = ""
    hidden_leaves: int = 0


def checked_tree(model: Model, index: int, caller: str) -> Tree:
    """Return tree ``index`` of a model; raise a ParameterError if it has no such tree."""
    n_trees = model.ensemble.n_trees
    if not is_integer(index) or not -n_trees <= index < n_trees:
        allowed = f"0 to {n_trees - 1}" if n_trees else "none: the model has no trees"
        raise ParameterError(f"{caller}: tree {index!r} does not exist; allowed is {allowed}")
    return model.ensemble[int(index)]


def layout(model: Model, tree: Tree, max_depth: int | None = None) -> list[DrawnNode]:
    """Return the nodes of a tree down to ``max_depth``, each parent before its children."""
    ends = _drawn_leaves(tree, max_depth)
    positions = _positions(tree, ends)
    names, conditions = model.column_names, SplitConditions(model)
    drawn: list[DrawnNode] = []
    pending = [(0, -1, True, 0)]
    while pending:
        node, parent, is_left, depth = pending.pop()
        is_leaf = bool(tree.feature[node] == LEAF)
        drawn.append(
            DrawnNode(
                node=node,
                parent=parent,
                is_left=is_left,
                depth=depth,
                position=positions[node],
                value=tuple(tree.value[node].tolist()),
                count=int(tree.count[node]),
                gain=float(tree.gain[node]),
                condition=None if is_leaf else _condition(conditions, tree, node),
                formula="" if tree.leaf_coefficients is None else tree.leaf_coefficients.describe(node, names),
                hidden_leaves=ends[node] if node in ends and not is_leaf else 0,
            )
        )
        if node not in ends:
            left, here = int(tree.left[node]), len(drawn) - 1
            pending += [(left + 1, here, False, depth + 1), (left, here, True, depth + 1)]
    return drawn


def _condition(conditions: SplitConditions, tree: Tree, node: int) -> SplitCondition:
    return conditions.of(int(tree.feature[node]), float(tree.threshold[node]), bool(tree.missing_left[node]))


def _drawn_leaves(tree: Tree, max_depth: int | None) -> dict[int, int]:
    """Return the nodes at which the drawing ends, from top to bottom, with the number of leaves below each."""
    depths = tree.node_depths()
    n_leaves = (tree.feature == LEAF).astype(np.int64)
    for node in np.argsort(-depths, kind="stable"):
        if tree.feature[node] != LEAF:
            n_leaves[node] = n_leaves[tree.left[node]] + n_leaves[tree.left[node] + 1]
    ends: dict[int, int] = {}
    pending = [0]
    while pending:
        node = pending.pop()
        if tree.feature[node] == LEAF or (max_depth is not None and depths[node] >= max_depth):
            ends[node] = int(n_leaves[node])
        else:
            pending += [int(tree.left[node]) + 1, int(tree.left[node])]
    return ends


def _positions(tree: Tree, ends: dict[int, int]) -> dict[int, float]:
    """Return the position of each drawn node: ends in order, a parent in the middle of its children."""
    positions = {node: float(k) for k, node in enumerate(ends)}
    order = [0]
    for node in order:
        if node not in ends:
            order += [int(tree.left[node]), int(tree.left[node]) + 1]
    for node in reversed(order):
        if node not in ends:
            left = int(tree.left[node])
            positions[node] = (positions[left] + positions[left + 1]) / 2.0
    return positions
