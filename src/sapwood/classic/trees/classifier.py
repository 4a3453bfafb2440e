"""A decision tree for classification."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin

from sapwood.classic.base_model import read_labels
from sapwood.classic.parameter_names import explains_parameters
from sapwood.classic.trees.base import SapwoodTree
from sapwood.classic.trees.parameters import CLASS_CRITERIA
from sapwood.data.tables.class_weights import class_weights
from sapwood.errors import InputError
from sapwood.kernels.numeric.elementwise import apply_elementwise, log_values
from sapwood.model.class_predictions import most_probable_classes
from sapwood.params.resolve import check_value


class SapwoodTreeClassifier(ClassifierMixin, SapwoodTree):
    """A decision tree for classification: CART, ID3 and C4.5.

    Thresholds and predictions equal those of scikit-learn's ``DecisionTreeClassifier`` for the same parameters, except
    where two splits are equally good; here the first column and the lowest threshold win. scikit-learn rounds
    X to float32 first; here it stays float64.

    Parameters
    ----------
    criterion : {"gini", "entropy", "gain_ratio"}, default="gini"
        Impurity. "entropy" is information gain (ID3); "gain_ratio" divides it by the entropy of the division into
        branches, among splits of at least average gain (C4.5).
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
    class_weight : dict, "balanced", "effective" or EffectiveNumber, optional
        Factors of the sample weights of each class.
    category_splits : {"auto", "multiway", "binary"}, default="auto"
        Splits of categorical columns: one branch per category, or two sets of categories. "auto" is "multiway" for
        "entropy" and "gain_ratio", and "binary" for "gini".
    missing : {"learned", "fractional"}, default="learned"
        "learned": missing values go to the side that decreases the impurity most, and are a category of categorical
        columns. "fractional", as in C4.5: a row with a missing value goes to all branches, with the shares of the rows
        whose value is known as weights.
    oblique : bool, default=False
        Whether to try splits on linear combinations of the numeric columns, too: the directions of a ridge
        regression of each class in the node, taken where they are better than the best split on one column. The
        directions are of all numeric columns, whatever ``max_features`` is.
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
    classes_ : ndarray (classes,)
        Class labels, sorted, in the order of the columns of ``predict_proba``.
    feature_importances_ : ndarray (features,)
        Fraction of the total decrease of impurity by splits on each column.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns of X; only if all of them are strings.

    See Also
    --------
    SapwoodTreeRegressor : the tree for numbers.

    Examples
    --------
    >>> from sapwood.classic import SapwoodTreeClassifier
    >>> X = [["sunny", 85.0], ["rain", 70.0], ["sunny", 65.0], ["overcast", 83.0], ["rain", 65.0]]
    >>> y = ["no", "yes", "yes", "yes", "no"]
    >>> tree = SapwoodTreeClassifier(criterion="entropy").fit(X, y)
    >>> print(tree.to_text())
    f1 <= 84
    |   f1 <= 67.5
    |   |   f0 = rain: no (1 row)
    |   |   f0 = sunny: yes (1 row)
    |   f1 > 67.5: yes (2 rows)
    f1 > 84: no (1 row)
    """

    criteria: ClassVar[tuple[str, ...]] = CLASS_CRITERIA

    @explains_parameters
    def __init__(
        self,
        *,
        criterion: Literal["gini", "entropy", "gain_ratio"] = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | Literal["sqrt", "log2"] | None = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.category_splits = category_splits
        self.missing = missing
        self.oblique = oblique
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _read_target(self, y: Any, n_rows: int) -> tuple[np.ndarray, np.ndarray | None]:
        return read_labels(self, n_rows, y, min_classes=1)

    def _class_weight(
        self, target: np.ndarray, classes: np.ndarray | None, weight: np.ndarray | None
    ) -> np.ndarray | None:
        assert classes is not None
        factors = class_weights(check_value("class_weight", self.class_weight), classes, target, weight)
        if factors is None:
            return weight
        weight = factors[target.astype(np.intp)] * (1.0 if weight is None else weight)
        if not (weight > 0.0).any():
            raise InputError("class_weight leaves no row with a positive weight: give a class of y a weight above 0")
        return weight

    @property
    def _classes(self) -> np.ndarray | None:
        return self.classes_

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class: the fractions of the classes in the leaf of each row.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows, classes)
            Probabilities in the order of ``classes_``.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeClassifier
        >>> SapwoodTreeClassifier(max_depth=1).fit([[0.0], [1.0], [1.0]], ["a", "a", "b"]).predict_proba([[1.0]])
        array([[0.5, 0.5]])
        """
        return self._response(X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows, classes)
            Logarithms; -inf for a probability of 0.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeClassifier
        >>> SapwoodTreeClassifier().fit([[0.0], [1.0]], ["a", "b"]).predict_log_proba([[1.0]])
        array([[-inf,   0.]])
        """
        return apply_elementwise(log_values, self.predict_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each row; of equally probable ones the first.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows,)
            Labels out of ``classes_``.

        Examples
        --------
        >>> from sapwood.classic import SapwoodTreeClassifier
        >>> SapwoodTreeClassifier().fit([[0.0], [1.0]], ["a", "b"]).predict([[1.0], [0.0]]).tolist()
        ['b', 'a']
        """
        return most_probable_classes(self.predict_proba(X), self.classes_)
