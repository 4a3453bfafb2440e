"""The region of every leaf, from which constraints are checked for all inputs at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sapwood.model.tree import LEAF, Tree


@dataclass(frozen=True, eq=False)
class Box:
    """What reaches a leaf: low < x <= high of every feature, or a missing value; and the features on the way."""

    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray
    path: frozenset[int]
    value: np.ndarray

    def meets(self, other: Box, besides: int) -> bool:
        """Whether some row reaches both, were it not for one feature."""
        overlap = np.maximum(self.low, other.low) < np.minimum(self.high, other.high)
        together = overlap | (self.missing & other.missing)
        together[besides] = True
        return bool(together.all())

    def has_numbers(self, feature: int) -> bool:
        """Whether a row whose value is not missing gets here."""
        return bool(self.low[feature] < self.high[feature])


def boxes(tree: Tree, n_features: int) -> list[Box]:
    """The box of each leaf."""
    found: list[Box] = []
    everywhere = np.full(n_features, -np.inf), np.full(n_features, np.inf), np.ones(n_features, dtype=bool)
    todo = [(0, *everywhere, frozenset[int]())]
    while todo:
        node, low, high, missing, path = todo.pop()
        feature = int(tree.feature[node])
        if feature == LEAF:
            found.append(Box(low, high, missing, path, tree.value[node]))
            continue
        for side in (0, 1):
            new_low, new_high, new_missing = low.copy(), high.copy(), missing.copy()
            if side == 0:
                new_high[feature] = min(high[feature], tree.threshold[node])
            else:
                new_low[feature] = max(low[feature], tree.threshold[node])
            new_missing[feature] &= bool(tree.missing_left[node]) == (side == 0)
            todo.append((int(tree.left[node]) + side, new_low, new_high, new_missing, path | {feature}))
    return found


def steps_against(tree: Tree, feature: int, direction: int, n_features: int) -> int:
    """Count the pairs of leaves where raising one feature alone moves the answer against its direction."""
    leaves = [box for box in boxes(tree, n_features) if box.has_numbers(feature)]
    return sum(
        bool((direction * (upper.value - lower.value) < 0).any())
        for lower in leaves
        for upper in leaves
        if lower is not upper and lower.low[feature] < upper.low[feature] and lower.meets(upper, besides=feature)
    )
