"""A decision tree in words: rules as text, and the nodes of a drawing."""

from __future__ import annotations

import numpy as np

from sapwood.classic.trees.splits import Names
from sapwood.classic.trees.tree import DecisionTree, Node
from sapwood.errors import ParameterError
from sapwood.explain.tree_layout import DrawnNode, drawn_leaves, node_positions
from sapwood.params.validators import is_integer

INDENT = "|   "
WEIGHT_DECIMALS = 3


class TreeRules:
    """Writes a tree; ``classes`` are None for regression."""

    def __init__(self, tree: DecisionTree, names: Names, classes: np.ndarray | None, decimals: int) -> None:
        if not is_integer(decimals) or decimals < 0:
            raise ParameterError(f"decimals must be an integer of at least 0, got {decimals!r}")
        self._tree, self._names, self._classes, self._decimals = tree, names, classes, int(decimals)

    def write(self, max_depth: int | None = None) -> str:
        """Return one line per branch, that of a leaf with its prediction."""
        ends = drawn_leaves(self._children, _checked_depth(max_depth))
        if 0 in ends:
            return self._end(0, ends)
        lines: list[str] = []
        pending = self._branches(0)
        while pending:
            number, condition = pending.pop()
            indent = INDENT * (self._tree.nodes[number].depth - 1)
            is_end = number in ends
            lines.append(f"{indent}{condition}{f': {self._end(number, ends)}' if is_end else ''}")
            if not is_end:
                pending += self._branches(number)
        return "\n".join(lines)

    def draw(self, max_depth: int | None = None) -> list[DrawnNode]:
        """Return the nodes of a drawing down to ``max_depth``, each parent before its children."""
        ends = drawn_leaves(self._children, _checked_depth(max_depth))
        positions = node_positions(self._children, ends)
        drawn: list[DrawnNode] = []
        pending = [(0, -1, "")]
        while pending:
            number, parent, condition = pending.pop()
            node = self._tree.nodes[number]
            drawn.append(
                DrawnNode(
                    node=number,
                    parent=parent,
                    is_left=True,
                    depth=node.depth,
                    position=positions[number],
                    value=self._color_value(node) if node.is_leaf else (),
                    count=node.count,
                    gain=node.decrease,
                    condition=None,
                    hidden_leaves=ends[number] if number in ends and not node.is_leaf else 0,
                    branch=condition,
                    label=self._prediction(node),
                )
            )
            if number not in ends:
                pending += [(child, len(drawn) - 1, text) for child, text in self._branches(number)]
        return drawn

    @property
    def _children(self) -> list[tuple[int, ...]]:
        return [node.children for node in self._tree.nodes]

    def _branches(self, number: int) -> list[tuple[int, str]]:
        """Return the children of a node and the conditions that lead to them, the last one first."""
        node = self._tree.nodes[number]
        assert node.split is not None
        conditions = [node.split.condition(k, self._names) for k in range(len(node.children))]
        return list(zip(node.children, conditions, strict=True))[::-1]

    def _end(self, number: int, ends: dict[int, int]) -> str:
        node = self._tree.nodes[number]
        hidden = "" if node.is_leaf else f", {ends[number]} leaves below"
        n_rows = _rounded(node.weight, WEIGHT_DECIMALS) if self._tree.is_fractional else str(node.count)
        return f"{self._prediction(node)} ({n_rows} {'row' if n_rows == '1' else 'rows'}{hidden})"

    def _prediction(self, node: Node) -> str:
        """Return the value of a node, or its most probable class and the probability of it."""
        if self._classes is None:
            return _rounded(node.value[0], self._decimals)
        best = int(np.argmax(node.value))
        share = node.value[best]
        return f"{self._classes[best]}{'' if share == 1.0 else f' {share:.{max(self._decimals - 2, 0)}%}'}"

    def _color_value(self, node: Node) -> tuple[float, ...]:
        """Return the distance of a value, or of the probability of the second class, from that of the root.

        Of several classes it is the probabilities.
        """
        if len(node.value) > 2:
            return tuple(node.value.tolist())
        return (float(node.value[-1] - self._tree.nodes[0].value[-1]),)


def _rounded(value: float, decimals: int) -> str:
    """Return a number with up to as many decimals, without zeros at the end."""
    text = f"{value:.{decimals}f}"
    if decimals:
        text = text.rstrip("0").removesuffix(".")
    return "0" if text == "-0" else text


def _checked_depth(max_depth: int | None) -> int | None:
    if max_depth is not None and (not is_integer(max_depth) or max_depth < 0):
        raise ParameterError(f"max_depth must be a number of splits, or None (all), got {max_depth!r}")
    return max_depth
