"""The trees of a training, in bins, turned into those of a model, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.boost.category_sets import CategorySets
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.grow.grown_tree import FittedTree, join_nodes, thresholds
from sapwood.model.ensemble_builder import join_trees
from sapwood.model.linear_leaves import join_coefficients

# What a model keeps of the nodes as they are.
COLUMNS = ("feature", "missing_left", "left", "count", "gain", "weight", "gradient", "hessian")


class TreeAssembler:
    """Gives trees the units of the user's table; ``sets`` numbers the sets of levels that they split by."""

    def __init__(self, encoder: BinMapper, sets: CategorySets) -> None:
        self._encoder = encoder
        self.sets = sets

    def join(self, trees: Sequence[FittedTree], width: int) -> dict[str, Any]:
        """The arrays of the trees, one behind the other, and where each begins."""
        if not trees:
            return join_trees((), width)
        grown = [tree.grown for tree in trees]
        joined = join_nodes(grown)
        nodes = {name: getattr(joined, name) for name in COLUMNS}
        cuts = [tree.threshold for tree in grown if tree.threshold is not None]
        nodes["threshold"] = np.concatenate(cuts) if cuts else thresholds(joined.feature, joined.bin, self._encoder)
        nodes["value"] = np.concatenate([tree.value for tree in trees])
        if width == 1:
            nodes |= {name: nodes[name][:, 0] for name in ("gradient", "hessian")}
        sets = [tree.sets for tree in grown if tree.sets is not None]
        if sets:
            self.sets.name(nodes, joined.bin, np.concatenate(sets))
        return {
            **nodes,
            "tree_start": np.cumsum([0, *(len(tree.value) for tree in trees)]),
            "leaf_coefficients": join_coefficients([(tree.grown.leaf_coefficients, tree.value) for tree in trees]),
        }
