"""Base class of the tree classifier and the tree regressor."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sapwood.classic.trees.columns import TreeColumns
from sapwood.classic.trees.grower import TreeGrower
from sapwood.classic.trees.importances import column_decreases
from sapwood.classic.trees.model import TreeConversion, tree_metadata, why_no_model
from sapwood.classic.trees.parameters import check_names, resolve_settings
from sapwood.classic.trees.pruning import prune, pruning_path
from sapwood.classic.trees.rules import TreeRules
from sapwood.classic.trees.tree import DecisionTree
from sapwood.data.dataset import unwrap_dataset
from sapwood.data.tables.table import Table, read_table
from sapwood.data.tables.targets import check_weight
from sapwood.errors import ParameterError
from sapwood.estimators.explained_estimator import ExplainedEstimator
from sapwood.estimators.fitted_estimator import align_table
from sapwood.explain.tree_layout import DrawnNode
from sapwood.model.model import Model
from sapwood.params.unknown_attributes import unknown_attribute

Estimator = TypeVar("Estimator", bound="SapwoodTree")


class SapwoodTree(ExplainedEstimator):
    """A single decision tree."""

    criteria: ClassVar[tuple[str, ...]]
    criterion: str
    ccp_alpha: float
    categorical_features: Any
    model_: Model
    tree_: DecisionTree
    why_no_model: str | None
    init_ = None

    @abstractmethod
    def _read_target(self, y: Any, n_rows: int) -> np.ndarray:
        """Return the target as float64 and set ``classes_``."""

    @abstractmethod
    def _class_weight(self, target: np.ndarray, weight: np.ndarray | None) -> np.ndarray | None:
        """Return the weight of each row, class weights included; None if all are 1."""

    @property
    @abstractmethod
    def _classes(self) -> np.ndarray | None: ...

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
        tree, columns, table = self._grow(X, y, sample_weight)
        if self.ccp_alpha > 0.0:
            tree = prune(tree, self.ccp_alpha)
        self._set_fitted(tree, columns, table)
        return self

    def set_params(self: Estimator, **params: Any) -> Estimator:
        """Set parameters by name; the error for an unknown one says what to use.

        Parameters
        ----------
        **params : dict
            Parameters of the constructor.

        Returns
        -------
        self
            The estimator itself.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeRegressor
        >>> SapwoodTreeRegressor().set_params(max_depth=3)
        SapwoodTreeRegressor(max_depth=3)
        """
        check_names(self, params, self._get_param_names())
        super().set_params(**params)
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

    def _grow(self, X: Any, y: Any, sample_weight: Any) -> tuple[DecisionTree, TreeColumns, Table]:
        table = read_table(unwrap_dataset(X))
        target = self._read_target(y, table.n_rows)
        weight = self._class_weight(target, check_weight(sample_weight, table.n_rows))
        columns = TreeColumns.of(table, self.categorical_features)
        values = columns.values(table)
        weight = np.ones(len(target)) if weight is None else weight
        used = weight > 0.0
        if not used.all():
            values, target, weight = np.ascontiguousarray(values[:, used]), target[used], weight[used]
        n_classes = 0 if self._classes is None else len(self._classes)
        total = float(np.cumsum(weight)[-1])
        settings = resolve_settings(self, self.criteria, n_classes, len(values), len(target), total)
        return TreeGrower(settings, columns.n_codes).grow(values, target, weight), columns, table

    def _set_fitted(self, tree: DecisionTree, columns: TreeColumns, table: Table) -> None:
        for name in ("model_", "feature_names_in_", "_node_of_leaf"):
            self.__dict__.pop(name, None)
        self.tree_, self._columns = tree, columns
        self.n_features_in_ = table.n_features
        if table.has_string_names:
            self.feature_names_in_ = np.asarray(table.names, dtype=object)
        self.why_no_model = why_no_model(tree)
        if self.why_no_model is None:
            conversion = TreeConversion(tree, columns)
            objective = {"name": self._objective_name(), "settings": {}}
            metadata = tree_metadata(self._plain_params(), tree.nodes[0].count, self._columns_with_missing(table))
            self.model_ = conversion.model(self._classes, objective, metadata)
            self._node_of_leaf = conversion.node_of_number

    def _objective_name(self) -> str:
        """Return the name of the loss: that of numbers, for two classes the squared error of the probability."""
        n_classes = 0 if self._classes is None else len(self._classes)
        return "squared" if 0 < n_classes <= 2 else self.criterion.removesuffix("_error")

    def _plain_params(self) -> dict[str, Any]:
        """Return the parameters that model files can hold."""
        plain = (str, int, float, bool, type(None))
        return {name: value for name, value in self.get_params(deep=False).items() if isinstance(value, plain)}

    def _columns_with_missing(self, table: Table) -> list[int]:
        values = self._columns.values(table)
        is_category = np.array([f in self._columns.vocabularies for f in range(len(values))])
        has_missing = np.where(is_category, (values == 0.0).any(axis=1), np.isnan(values).any(axis=1))
        return np.flatnonzero(has_missing).tolist()

    def _response(self, X: Any) -> np.ndarray:
        """Return the prediction of each row: (rows,) numbers, or (rows, classes) probabilities."""
        table = self._align(X)
        if self.why_no_model is None:
            return self.model_.predict_response(table) if self._classes is None else self.model_.predict_proba(table)
        out = self.tree_.predict(self._columns.values(table))
        return out[:, 0] if self._classes is None else out

    def apply(self, X: Any) -> np.ndarray:
        """Return the number of the leaf of each row, among the nodes in preorder.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows with the columns of training.

        Returns
        -------
        ndarray of int (rows,)
            Number of the leaf. It is an inner node for a category that has no branch there, and the leaf that gets the
            largest part of a row with ``missing="fractional"``.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeRegressor
        >>> SapwoodTreeRegressor().fit([[0.0], [1.0]], [5.0, 6.0]).apply([[1.0], [0.0]])
        array([2, 1])
        """
        table = self._align(X)
        if self.why_no_model is None:
            return self._node_of_leaf[self.model_.leaf_indices(table)[:, 0]]
        return self.tree_.apply(self._columns.values(table))

    def decision_path(self, X: Any) -> Any:
        """Return which nodes each row passes.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows with the columns of training.

        Returns
        -------
        csr_array (rows, nodes)
            1 for each node, in preorder, that the row, or a part of it, passes.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeRegressor
        >>> SapwoodTreeRegressor().fit([[0.0], [1.0]], [5.0, 6.0]).decision_path([[1.0]]).toarray()
        array([[1, 0, 1]])
        """
        from scipy.sparse import csr_array

        table = self._align(X)
        rows, nodes = self.tree_.visited(self._columns.values(table))
        shape = (table.n_rows, len(self.tree_.nodes))
        return csr_array((np.ones(len(rows), dtype=np.int64), (rows, nodes)), shape=shape)

    def get_depth(self) -> int:
        """Return the number of splits on the longest path from the root to a leaf.

        Returns
        -------
        int
            Depth of the tree.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeRegressor
        >>> SapwoodTreeRegressor().fit([[0.0], [1.0]], [5.0, 6.0]).get_depth()
        1
        """
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
            Number of leaves.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeRegressor
        >>> SapwoodTreeRegressor().fit([[0.0], [1.0]], [5.0, 6.0]).get_n_leaves()
        2
        """
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of the total decrease of impurity by splits on each column; the sum is 1, or 0 without splits."""
        check_is_fitted(self)
        decreases = column_decreases(self.tree_)
        total = float(np.cumsum(decreases)[-1])
        return decreases / total if total > 0.0 else decreases

    def to_text(self, max_depth: int | None = None, decimals: int = 4) -> str:
        """Return the tree as rules, one line per branch, each below the condition that leads to it.

        Parameters
        ----------
        max_depth : int, optional
            Depth at which the text ends; what lies below is counted.
        decimals : int, default=4
            Decimals of predictions.

        Returns
        -------
        str
            The rules.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeClassifier
        >>> tree = SapwoodTreeClassifier().fit([[0.0], [1.0], [2.0]], ["no", "no", "yes"])
        >>> print(tree.to_text())
        f0 <= 1.5: no (2 rows)
        f0 > 1.5: yes (1 row)
        """
        check_is_fitted(self)
        return TreeRules(self.tree_, self._columns, self._classes, decimals).write(max_depth)

    def draw_nodes(self, max_depth: int | None = None) -> list[DrawnNode]:
        """Return the nodes of a drawing of the tree, which ``sapwood.plot.tree`` draws.

        Parameters
        ----------
        max_depth : int, optional
            Depth at which the drawing ends; what lies below is counted.

        Returns
        -------
        list of DrawnNode
            Position, branch and prediction of each node, parents before their children.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeRegressor
        >>> [node.branch for node in SapwoodTreeRegressor().fit([[0.0], [1.0]], [5.0, 6.0]).draw_nodes()]
        ['', 'f0 <= 0.5', 'f0 > 0.5']
        """
        check_is_fitted(self)
        return TreeRules(self.tree_, self._columns, self._classes, 4).draw(max_depth)

    def save(self, path: Any) -> None:
        """Write the model to a file that ``sapwood.load`` reads.

        Parameters
        ----------
        path : str or path
            File to write; an existing one is replaced atomically.

        Examples
        --------
        >>> import sapwood
        >>> from sapwood.classic import SapwoodTreeRegressor
        >>> SapwoodTreeRegressor().fit([[0.0], [1.0]], [5.0, 6.0]).save("tree.sapwood")
        >>> sapwood.load("tree.sapwood").predict([[1.0]])
        array([6.])
        """
        check_is_fitted(self)
        if self.why_no_model is not None:
            raise ParameterError(f"the tree has no model file: {self.why_no_model}; use pickle or joblib")
        self.model_.save(path)

    def _align(self, X: Any) -> Table:
        check_is_fitted(self)
        return align_table(self, X, self._columns.schema)

    def _n_jobs(self) -> int | None:
        return None

    def _init_scores(self, X: Any) -> np.ndarray:
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return "tree_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

    if not TYPE_CHECKING:  # for type checkers an unknown attribute is an error

        def __getattr__(self, name):
            if name in ("model_", "tree_") and "tree_" not in vars(self):
                raise NotFittedError(f"This {type(self).__name__} is not fitted yet: call fit before reading {name}.")
            if name == "model_":
                raise AttributeError(
                    f"this tree has no model_, and so no explanations and no model file: {self.why_no_model}"
                )
            raise unknown_attribute(type(self).__name__, name)
