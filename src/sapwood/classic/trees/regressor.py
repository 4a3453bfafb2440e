"""A decision tree for regression."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import RegressorMixin

from sapwood.classic.base_model import read_numbers
from sapwood.classic.parameter_names import explains_parameters
from sapwood.classic.trees.base import SapwoodTree
from sapwood.classic.trees.parameters import NUMBER_CRITERIA


class SapwoodTreeRegressor(RegressorMixin, SapwoodTree):
    """A decision tree for regression (CART).

    Thresholds and predictions equal those of scikit-learn's ``DecisionTreeRegressor`` for the same parameters, except
    where two splits are equally good; here the first column and the lowest threshold win. scikit-learn rounds
    X to float32 first; here it stays float64.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error"}, default="squared_error"
        Impurity: squared error around the mean, which leaves predict, or absolute error around the median.
    max_depth : int, optional
        Largest number of splits on a path from the root to a leaf; by default unlimited.
    min_samples_split : int or float, default=2
        Number of rows, or fraction of them, that a node must have to be split.
    min_samples_leaf : int or float, default=1
        Number of rows, or fraction of them, that every child must have.
    min_weight_fraction_leaf : float, default=0.0
        Fraction of the total weight that every child must have.
    max_features : int, float, "sqrt" or "log2", optional
        Number or fraction of columns, drawn at random, that are searched in each node; by default all.
    max_leaf_nodes : int, optional
        Largest number of leaves; nodes with the largest decrease of impurity are split first.
    min_impurity_decrease : float, default=0.0
        Decrease of impurity, times the fraction of the rows in the node, that a split must reach.
    ccp_alpha : float, default=0.0
        Price of a leaf in minimal cost-complexity pruning; 0 is no pruning.
    category_splits : {"auto", "multiway", "binary"}, default="auto"
        Splits of categorical columns: one branch per category, or two sets of categories. "auto" is
        "binary".
    missing : {"learned", "fractional"}, default="learned"
        "learned": missing values go to the side that decreases the impurity most, and are a category of categorical
        columns. "fractional", as in C4.5: a row with a missing value goes to all branches, with the shares of the rows
        whose value is known as weights.
    oblique : bool, default=False
        Whether to try splits on linear combinations of the numeric columns, too: the direction of a ridge
        regression of the target in the node, taken where it is better than the best split on one column. The
        direction is one of all numeric columns, whatever ``max_features`` is.
    categorical_features : "auto", list or None, default="auto"
        Categorical columns by name or number; "auto": columns of strings and of a categorical type.
    random_state : int or RandomState, optional
        Seed of ``max_features``.

    Attributes
    ----------
    tree_ : DecisionTree
        The tree, its nodes in preorder.
    model_ : Model
        The tree as a ``sapwood.Model``, unless it has oblique splits, more than two branches or divided rows.
    feature_importances_ : ndarray (features,)
        Fraction of the total decrease of impurity by splits on each column.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X; only if all of them are strings.

    See Also
    --------
    SapwoodTreeClassifier : the tree for classes.

    Examples
    --------
    >>> from sapwood.classic import SapwoodTreeRegressor
    >>> tree = SapwoodTreeRegressor(max_leaf_nodes=3).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 1.0, 2.0, 5.0])
    >>> print(tree.to_text())
    f0 <= 2.5
    |   f0 <= 1.5: 1 (2 rows)
    |   f0 > 1.5: 2 (1 row)
    f0 > 2.5: 5 (1 row)
    """

    criteria: ClassVar[tuple[str, ...]] = NUMBER_CRITERIA

    @explains_parameters
    def __init__(
        self,
        *,
        criterion: Literal["squared_error", "absolute_error"] = "squared_error",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | Literal["sqrt", "log2"] | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        category_splits: Literal["auto", "multiway", "binary"] = "auto",
        missing: Literal["learned", "fractional"] = "learned",
        oblique: bool = False,
        categorical_features: Any = "auto",
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.ccp_alpha = ccp_alpha
        self.category_splits = category_splits
        self.missing = missing
        self.oblique = oblique
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _read_target(self, y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray | None]:
        return read_numbers(self, n_rows, y), None

    def _class_weight(
        self, target: np.ndarray, classes: np.ndarray | None, weight: np.ndarray | None
    ) -> np.ndarray | None:
        return weight

    @property
    def _classes(self) -> np.ndarray | None:
        return None

    def predict(self, X: Any) -> np.ndarray:
        """Return the value of the leaf of each row.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows,)
            Predictions.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeRegressor
        >>> SapwoodTreeRegressor().fit([[0.0], [1.0]], [5.0, 6.0]).predict([[1.0], [0.0]])
        array([6., 5.])
        """
        return self._response(X)
