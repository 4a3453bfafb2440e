"""A drawing of one tree."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.errors import ParameterError
from sapwood.explain.fitted_model import FittedModel
from sapwood.explain.tree_layout import DrawnNode, checked_tree, layout
from sapwood.params.validators import is_integer
from sapwood.plot.axes import COLORS, color_map, escape, get_axes, label, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CALLER = "plot.tree"
LINE_WIDTH, LINES = 28, 3  # letters of a line of a node, lines of a condition
LEAF_HEIGHT, LINE_HEIGHT, COLUMN_WIDTH = 0.42, 0.15, 2.15  # inches; of a leaf, and of each more line of its branch
VALUES_SHOWN = 3  # of a vector leaf


def tree(model: Any, index: int = 0, *, max_depth: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw one tree from left to right.

    The upper branch of a node leads to the rows for which its condition holds. Nodes tell where missing values go and
    how many training rows they have; leaves are coloured by their value, from blue (lowest) to orange. In drawings of
    ``SapwoodTreeClassifier`` and ``SapwoodTreeRegressor``, which can have more than two branches, each node has the
    condition that leads to it, and what it predicts; leaves of several classes have the colour of their class.

    Parameters
    ----------
    model : estimator or Model
        The model that has the tree.
    index : int
        Number of the tree, in the order in which they are added to the scores; -1 is the last.
    max_depth : int, optional
        Depth at which the drawing ends; what lies below is counted. By default the whole tree is drawn.
    ax : matplotlib axes, optional
        Axes to plot into; by default those of a new figure that is as large as the tree needs.

    Returns
    -------
    matplotlib axes
    """
    if max_depth is not None and (not is_integer(max_depth) or max_depth < 0):
        raise ParameterError(f"{CALLER}: max_depth must be a number of splits, or None (all), got {max_depth!r}")
    if hasattr(model, "draw_nodes"):
        nodes, class_names, title = _single_tree(model, index, max_depth)
    else:
        fitted = FittedModel.of(model, CALLER)
        nodes = layout(fitted.model, checked_tree(fitted.model, index, CALLER), max_depth)
        class_names, title = fitted.class_names, _title(fitted, index)
    n_lines = 1 + max(node.position for node in nodes)
    depth = max(node.depth for node in nodes)
    height = LEAF_HEIGHT + LINE_HEIGHT * max(max(len(_branch_lines(node)) - 1, 0) for node in nodes)
    ax = get_axes(ax, (max(4.5, COLUMN_WIDTH * (depth + 1)), max(1.6, height * n_lines + 0.9)), CALLER)
    for node in nodes:
        if node.parent >= 0:
            _draw_branch(ax, nodes[node.parent], node, nodes[0].count)
    colors = _leaf_colors(nodes)
    for node in nodes:
        _draw_node(ax, node, colors, class_names)
    ax.set_xlim(-0.1, depth + 0.95)
    ax.set_ylim(n_lines - 0.4, -0.6)
    ax.set_axis_off()
    ax.set_title(title, loc="left", fontsize="medium")
    return ax


def _single_tree(tree: Any, index: int, max_depth: int | None) -> tuple[list[DrawnNode], list[str], str]:
    """Return nodes, class names (in their labels already) and title of the drawing of a single-tree estimator."""
    if index not in (0, -1):
        raise ParameterError(f"{CALLER}: tree {index!r} does not exist; {type(tree).__name__} has one tree, 0")
    n_leaves = tree.get_n_leaves()
    return tree.draw_nodes(max_depth), [], f"{type(tree).__name__}: {n_leaves} {'leaf' if n_leaves == 1 else 'leaves'}"


def _title(fitted: FittedModel, index: int) -> str:
    ensemble = fitted.model.ensemble
    k = index % ensemble.n_trees
    title = f"Tree {k} of {ensemble.n_trees} (round {int(ensemble.tree_round[k]) + 1}"
    if ensemble.n_outputs > 1 and ensemble.width == 1:
        output = int(ensemble.tree_output[k])
        title += f", {label(fitted.class_names[output]) if fitted.class_names else f'output {output}'}"
    return f"{title}); upper branch: the condition holds"


def _draw_branch(ax: Axes, parent: DrawnNode, node: DrawnNode, n_rows: int) -> None:
    """Draw a line from a parent to a child, the wider the more rows take it."""
    fraction = node.count / max(n_rows, 1)
    x = [parent.depth + 0.05, parent.depth + 0.05, node.depth]
    y = [parent.position, node.position, node.position]
    ax.plot(x, y, color="#808080", alpha=0.55, linewidth=0.8 + 5.0 * fraction**0.5, solid_joinstyle="round", zorder=1)


def _leaf_colors(nodes: list[DrawnNode]) -> dict[int, Any]:
    """Return the colour of each leaf.

    With one value zero is grey, the largest distance from it a full colour. In single trees of several classes, whose
    values are probabilities, it is the colour of the class, the stronger the more probable it is.
    """
    leaves = [node for node in nodes if node.condition is None and len(node.value) == 1]
    if not leaves:
        return {node.node: _class_color(node.value) for node in nodes if node.label and node.value}
    largest = max(abs(node.value[0]) for node in leaves) or 1.0
    shade = color_map(diverging=True)
    return {node.node: shade(0.5 + 0.5 * node.value[0] / largest) for node in leaves}


def _class_color(probabilities: tuple[float, ...]) -> tuple[float, float, float, float]:
    best = int(np.argmax(probabilities))
    strength = 0.15 + 0.55 * (probabilities[best] - 1.0 / len(probabilities)) / (1.0 - 1.0 / len(probabilities))
    color = COLORS[best % len(COLORS)]
    red, green, blue = (1.0 - strength * (1.0 - int(color[k : k + 2], 16) / 255.0) for k in (1, 3, 5))
    return red, green, blue, 1.0


def _draw_node(ax: Axes, node: DrawnNode, colors: dict[int, Any], class_names: list[str]) -> None:
    color = colors.get(node.node, "#FFFFFF")
    box = {"boxstyle": "round,pad=0.25", "facecolor": color, "edgecolor": "#808080", "linewidth": 0.6}
    text = _node_text(node, class_names)
    ink = "#FFFFFF" if node.node in colors and _is_dark(color) else "#1A1A1A"
    ax.text(node.depth, node.position, text, va="center", ha="left", fontsize=8, color=ink, bbox=box, zorder=2)


def _is_dark(color: Any) -> bool:
    red, green, blue = np.asarray(color)[:3]
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)


def _node_text(node: DrawnNode, class_names: list[str]) -> str:
    rows = f"{node.count:,} {'row' if node.count == 1 else 'rows'}"
    if node.label:
        branch = _branch_lines(node)
        hidden = f"\n{node.hidden_leaves} leaves below" if node.hidden_leaves else ""
        return "\n".join([*map(escape, branch), f"{label(node.label, LINE_WIDTH)} · {rows}{hidden}"])
    if node.hidden_leaves:
        return f"{node.hidden_leaves} leaves below\n{rows}"
    if node.condition is None:
        return f"{_leaf_text(node, class_names)}\n{rows}"
    condition = f"{shorten(node.condition.name, LINE_WIDTH - 2)} {node.condition.left}"
    lines = textwrap.wrap(condition, LINE_WIDTH, max_lines=LINES, placeholder=" …")
    side = {True: " · missing: yes", False: " · missing: no", None: ""}[node.condition.missing_left]
    return "\n".join([*map(escape, lines), f"{rows}{side}"])


def _branch_lines(node: DrawnNode) -> list[str]:
    return textwrap.wrap(node.branch, LINE_WIDTH, max_lines=LINES, placeholder=" …") if node.branch else []


def _leaf_text(node: DrawnNode, class_names: list[str]) -> str:
    if node.formula:
        return label(node.formula, 2 * LINE_WIDTH)
    if len(node.value) == 1:
        return f"{node.value[0]:+.4g}"
    order = np.argsort([-abs(value) for value in node.value], kind="stable")[:VALUES_SHOWN]
    names = class_names or [str(k) for k in range(len(node.value))]
    return ", ".join(f"{label(names[k], 12)} {node.value[k]:+.3g}" for k in order)
