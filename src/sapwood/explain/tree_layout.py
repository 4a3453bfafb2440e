"""Positions of the nodes of a tree that is drawn from left to right: the root on the left, one line per leaf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    is None for leaves. In trees with any number of children, ``branch`` is the condition that leads to the node,
    ``label`` its prediction, and ``value`` the number that decides its colour, empty for inner nodes.
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
    branch: str = ""
    label: str = ""


def checked_tree(model: Model, index: int, caller: str) -> Tree:
    """Return tree ``index`` of a model; raise a ParameterError if it has no such tree."""
    n_trees = model.ensemble.n_trees
    if not is_integer(index) or not -n_trees <= index < n_trees:
        allowed = f"0 to {n_trees - 1}" if n_trees else "none: the model has no trees"
        raise ParameterError(f"{caller}: tree {index!r} does not exist; allowed is {allowed}")
    return model.ensemble[int(index)]


def layout(model: Model, tree: Tree, max_depth: int | None = None) -> list[DrawnNode]:
    """Return the nodes of a tree down to ``max_depth``, each parent before its children."""
    children = [(left, left + 1) if left else () for left in tree.left.tolist()]
    ends = drawn_leaves(children, max_depth)
    positions = node_positions(children, ends)
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


def drawn_leaves(children: Sequence[tuple[int, ...]], max_depth: int | None) -> dict[int, int]:
    """Return the nodes at which a drawing ends, from top to bottom, with the number of leaves below each.

    ``children`` are those of each node; the root is node 0, and every node has a higher number than its parent.
    """
    n_leaves = [0 if below else 1 for below in children]
    for node in range(len(children) - 1, -1, -1):
        n_leaves[node] += sum(n_leaves[child] for child in children[node])
    ends: dict[int, int] = {}
    pending = [(0, 0)]
    while pending:
        node, depth = pending.pop()
        if not children[node] or (max_depth is not None and depth >= max_depth):
            ends[node] = n_leaves[node]
        else:
            pending += [(child, depth + 1) for child in reversed(children[node])]
    return ends


def node_positions(children: Sequence[tuple[int, ...]], ends: dict[int, int]) -> dict[int, float]:
    """Return the position of each drawn node: ends in order, a parent in the middle of its first and last child."""
    positions = {node: float(k) for k, node in enumerate(ends)}
    order = [0]
    for node in order:
        if node not in ends:
            order += children[node]
    for node in reversed(order):
        if node not in ends:
            positions[node] = (positions[children[node][0]] + positions[children[node][-1]]) / 2.0
    return positions
