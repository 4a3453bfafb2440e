"""Predictions, paths, text and drawings of fitted trees."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sapwood.classic.trees.columns import TreeColumns
from sapwood.classic.trees.importances import column_decreases
from sapwood.classic.trees.rules import TreeRules
from sapwood.classic.trees.tree import DecisionTree
from sapwood.data.tables.table import Table
from sapwood.errors import ParameterError
from sapwood.estimators.explained_estimator import ExplainedEstimator
from sapwood.estimators.fitted_estimator import align_table
from sapwood.explain.tree_layout import DrawnNode
from sapwood.model.model import Model
from sapwood.params.unknown_attributes import unknown_attribute


class FittedTreeEstimator(ExplainedEstimator):
    """The methods of a tree that require a call of ``fit``.

    ``why_no_model_`` is the reason for which the tree has no ``model_``, None if it has one.
    """

    model_: Model
    tree_: DecisionTree
    why_no_model_: str | None
    init_ = None
    _columns: TreeColumns
    _node_of_leaf: np.ndarray

    @property
    @abstractmethod
    def _classes(self) -> np.ndarray | None: ...

    def _response(self, X: Any) -> np.ndarray:
        """Return the prediction of each row: (rows,) numbers, or (rows, classes) probabilities."""
        table = self._align(X)
        if self.why_no_model_ is None:
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
        if self.why_no_model_ is None:
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
            Largest number of decimals of predictions; percentages have two fewer.

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
        if self.why_no_model_ is not None:
            raise ParameterError(f"the tree has no model file: {self.why_no_model_}; use pickle or joblib")
        self.model_.save(path)

    def _align(self, X: Any) -> Table:
        check_is_fitted(self)
        return align_table(self, X, self._columns.schema)

    def _n_jobs(self) -> int | None:
        return None

    def _init_scores(self, X: Any) -> np.ndarray:
        raise AssertionError("a tree starts from no other estimator")

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
                    f"this tree has no model_, and so no explanations and no model file: {self.why_no_model_}"
                )
            raise unknown_attribute(type(self).__name__, name)
