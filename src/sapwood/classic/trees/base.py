"""Base class of the tree classifier and the tree regressor."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.utils import Bunch

from sapwood.classic.parameter_names import TREE_HINTS, ExplainedParameters
from sapwood.classic.trees.columns import TreeColumns
from sapwood.classic.trees.fitted_tree import FittedTreeEstimator
from sapwood.classic.trees.grower import TreeGrower
from sapwood.classic.trees.model import TreeConversion, tree_metadata, why_no_model
from sapwood.classic.trees.parameters import resolve_settings
from sapwood.classic.trees.pruning import prune, pruning_path
from sapwood.classic.trees.tree import DecisionTree
from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.table import Table, read_table
from sapwood.data.tables.targets import check_weight

Estimator = TypeVar("Estimator", bound="SapwoodTree")


class SapwoodTree(ExplainedParameters, FittedTreeEstimator):
    """A single decision tree."""

    criteria: ClassVar[tuple[str, ...]]
    parameter_hints: ClassVar[dict[str, str]] = TREE_HINTS
    criterion: str
    ccp_alpha: float
    categorical_features: Any

    @abstractmethod
    def _read_target(self, y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the target as float64, and the classes (None for numbers)."""

    @abstractmethod
    def _class_weight(
        self, target: np.ndarray, classes: np.ndarray | None, weight: np.ndarray | None
    ) -> np.ndarray | None:
        """Return the weight of each row, class weights included; None if all are 1."""

    def fit(self: Estimator, X: Any, y: Any, sample_weight: Any = None) -> Estimator:
        """Grow the tree, and prune it with ``ccp_alpha``.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows; NaN is missing. Columns of strings and of a categorical type are categories.
        y : array-like
            Target of each row.
        sample_weight : array-like, optional
            Weight of each row; rows of weight 0 are left out.

        Returns
        -------
        self
            The fitted estimator.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeClassifier
        >>> SapwoodTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "a", "b"]).get_n_leaves()
        2
        """
        tree, columns, table, classes = self._grow(X, y, sample_weight)
        if self.ccp_alpha > 0.0:
            tree = prune(tree, self.ccp_alpha)
        self._set_fitted(tree, columns, table, classes)
        return self

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
        """Return the subtrees of minimal cost-complexity pruning of the tree that ``fit`` would grow.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows to train on.
        y : array-like
            Target of each row.
        sample_weight : array-like, optional
            Weight of each row.

        Returns
        -------
        Bunch
            ``ccp_alphas``, the effective alphas of the subtrees from the whole tree (0) to the root, and
            ``impurities``, the total impurity of their leaves.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeClassifier
        >>> SapwoodTreeClassifier().cost_complexity_pruning_path([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).ccp_alphas
        array([0. , 0.5])
        """
        alphas, impurities = pruning_path(self._grow(X, y, sample_weight)[0])
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def _grow(self, X: Any, y: Any, sample_weight: Any) -> tuple[DecisionTree, TreeColumns, Table, np.ndarray | None]:
        """Return the tree, the columns, the table and the classes; the estimator stays as it is."""
        table = read_table(unwrap_dataset(X))
        target, classes = self._read_target(y, table.n_rows)
        weight = self._class_weight(target, classes, check_weight(sample_weight, table.n_rows))
        columns = TreeColumns.of(table, self.categorical_features)
        values = columns.values(table)
        weight = np.ones(len(target)) if weight is None else weight
        used = weight > 0.0
        if not used.all():
            values, target, weight = np.ascontiguousarray(values[:, used]), target[used], weight[used]
        n_classes = 0 if classes is None else len(classes)
        total = float(np.cumsum(weight)[-1])
        settings = resolve_settings(self, self.criteria, n_classes, len(values), len(target), total)
        return TreeGrower(settings, columns.n_codes).grow(values, target, weight), columns, table, classes

    def _set_fitted(self, tree: DecisionTree, columns: TreeColumns, table: Table, classes: np.ndarray | None) -> None:
        for name in ("model_", "feature_names_in_", "_node_of_leaf"):
            self.__dict__.pop(name, None)
        self.tree_, self._columns = tree, columns
        if classes is not None:
            self.classes_ = classes
        self.n_features_in_ = table.n_features
        if table.has_string_names:
            self.feature_names_in_ = np.asarray(table.names, dtype=object)
        self.why_no_model_ = why_no_model(tree)
        if self.why_no_model_ is None:
            conversion = TreeConversion(tree, columns)
            metadata = tree_metadata(self._plain_params(), tree.nodes[0].count, self._columns_with_missing(table))
            self.model_ = conversion.model(classes, self._objective(classes), metadata)
            self._node_of_leaf = conversion.node_of_number

    def _objective(self, classes: np.ndarray | None) -> dict[str, Any]:
        """Return the loss that leaf values minimise: that of numbers, or the squared error of probabilities."""
        if classes is None:
            return {"name": self.criterion.removesuffix("_error"), "settings": {}}
        if len(classes) <= 2:
            return {"name": "squared", "settings": {}}
        return {"name": "brier", "settings": {"n_classes": len(classes), "vector_leaves": True}}

    def _plain_params(self) -> dict[str, Any]:
        """Return the parameters that model files can hold."""
        plain = (str, int, float, bool, type(None))
        params = self.get_params(deep=False)
        values = {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}
        return {name: value for name, value in values.items() if isinstance(value, plain)}

    def _columns_with_missing(self, table: Table) -> list[int]:
        values = self._columns.values(table)
        is_category = np.array([f in self._columns.vocabularies for f in range(len(values))])
        has_missing = np.where(is_category, (values == 0.0).any(axis=1), np.isnan(values).any(axis=1))
        return np.flatnonzero(has_missing).tolist()
