"""Convert a decision tree whose splits are thresholds and sets of categories into a ``Model``."""

from __future__ import annotations

from typing import Any

import numpy as np

import sapwood
from sapwood.classic.trees.columns import TreeColumns
from sapwood.classic.trees.splits import CategoryBranches, CategorySet, Hyperplane, Split, Threshold
from sapwood.classic.trees.tree import DecisionTree
from sapwood.data.categories.derived_feature import MEMBER, DerivedFeature
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.info import N_ROWS, PARAMS, TRAINING
from sapwood.model.model import Model
from sapwood.model.tree import LEAF, Tree
from sapwood.model.tree_text import COLUMNS_WITH_MISSING

INDICATOR_THRESHOLD = 0.5
# Parameters of boosting with which one round is this tree; they decide what ``refit_leaves`` does.
ONE_TREE: dict[str, Any] = {"learning_rate": 1.0, "reg_lambda": 0.0}


def why_no_model(tree: DecisionTree) -> str | None:
    """Return why a tree cannot be a ``Model``; None if it can."""
    if tree.is_fractional:
        return "missing='fractional' sends a row to several leaves"
    for node in tree.nodes:
        if isinstance(node.split, CategoryBranches):
            return "it has splits with one branch per category (category_splits='binary' has none)"
        if isinstance(node.split, Hyperplane):
            return "it has oblique splits (oblique=False has none)"
    return None


class TreeConversion:
    """The conversion of one tree; ``number_of_node`` are the numbers in the model of the tree's nodes."""

    def __init__(self, tree: DecisionTree, columns: TreeColumns) -> None:
        self._tree, self._columns = tree, columns
        self._first_of: dict[int, DerivedFeature] = {}
        self._more: list[DerivedFeature] = []
        self.number_of_node = _breadth_first(tree)

    @property
    def node_of_number(self) -> np.ndarray:
        """Number in the tree of each node of the model."""
        return np.argsort(self.number_of_node)

    def model(self, classes: np.ndarray | None, objective: dict[str, Any], metadata: dict[str, Any]) -> Model:
        """Return the model; with ``classes``, its scores are probabilities."""
        values = self._tree.values
        if classes is not None:
            values = values if len(classes) > 2 else values[:, 1:] if len(classes) == 2 else np.zeros_like(values)
        tree = self._engine_tree(values)
        width = values.shape[1]
        builder = EnsembleBuilder(width, width)
        builder.append(tree)
        return Model(
            schema=self._columns.schema,
            ensemble=builder.build(),
            base_scores=np.zeros(width),
            link="frequencies" if width > 1 else "identity",
            classes=classes,
            objective=objective,
            metadata=metadata,
            transformer=self._transformer(),
        )

    def _engine_tree(self, values: np.ndarray) -> Tree:
        order, nodes = self.node_of_number, self._tree.nodes
        per_output = (len(nodes),) if values.shape[1] == 1 else values.shape
        weight = np.array([nodes[k].weight for k in order])
        hessian = weight if values.shape[1] == 1 else np.repeat(weight[:, None], values.shape[1], axis=1)
        splits = [self._engine_split(nodes[k].split) for k in order]
        first_children = [self.number_of_node[nodes[k].children[0]] if nodes[k].children else 0 for k in order]
        return Tree(
            feature=np.array([feature for feature, _, _ in splits]),
            threshold=np.array([threshold for _, threshold, _ in splits]),
            left=np.array(first_children),
            missing_left=np.array([missing_left for _, _, missing_left in splits]),
            value=values[order],
            gain=np.array([nodes[k].decrease for k in order]),
            gradient=np.zeros(per_output),
            hessian=hessian,
            weight=weight,
            count=np.array([nodes[k].count for k in order]),
        )

    def _engine_split(self, split: Split | None) -> tuple[int, float, bool]:
        """Return feature, threshold and side of missing values of a node of the model."""
        if split is None:
            return LEAF, 0.0, False
        if isinstance(split, CategorySet):
            return self._indicator(split), INDICATOR_THRESHOLD, False
        assert isinstance(split, Threshold)
        return split.feature, split.threshold, bool(split.missing_left)

    def _indicator(self, split: CategorySet) -> int:
        """Return the number of the feature that is 0 for the categories of the left child, 1 for the others."""
        number = len(self._first_of) + len(self._more) + 1
        feature = _indicator_feature(split.feature, (~split.goes_left).astype(np.float64), f"set {number}")
        if split.feature not in self._first_of:  # it has the number of the column itself
            self._first_of[split.feature] = feature
            return split.feature
        self._more.append(feature)
        return self._columns.schema.n_features + len(self._more) - 1

    def _transformer(self) -> FeatureTransformer | None:
        vocabularies = self._columns.vocabularies
        if not vocabularies:
            return None
        columns: list[int | DerivedFeature] = []
        for f in range(self._columns.schema.n_features):
            if f not in vocabularies:
                columns.append(f)
            else:
                unused = _indicator_feature(f, np.zeros(vocabularies[f].n_codes), "unused")
                columns.append(self._first_of.get(f, unused))
        return FeatureTransformer(dict(vocabularies), (*columns, *self._more))


def _indicator_feature(source: int, is_right: np.ndarray, part: str) -> DerivedFeature:
    return DerivedFeature((source,), MEMBER, is_right, np.zeros_like(is_right), part=part)


def _breadth_first(tree: DecisionTree) -> np.ndarray:
    """Return the number of each node when siblings are numbered one after the other, parents before children."""
    number = np.zeros(len(tree.nodes), dtype=np.int64)
    order = [0]
    for node in order:
        order += tree.nodes[node].children
    number[order] = np.arange(len(order))
    return number


def tree_metadata(params: dict[str, Any], n_rows: int, columns_with_missing: list[int]) -> dict[str, Any]:
    """Return the facts about training that a model keeps."""
    return {
        N_ROWS: n_rows,
        PARAMS: {**ONE_TREE, **params},
        TRAINING: {"trained_with": f"sapwood {sapwood.__version__}"},
        COLUMNS_WITH_MISSING: columns_with_missing,
    }
