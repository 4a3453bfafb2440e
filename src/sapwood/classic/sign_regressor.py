"""A regressor with the values -1 and 1, made of a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from sapwood.classic.base_model import checked_table, copy_input_tags, read_numbers
from sapwood.data.tables.targets import check_weight


class SignRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Predict -1 or 1 by a classifier of the sign of the target.

    The classifier is fitted with the size of the target as sample weight. Among functions with the values -1 and 1,
    the least-squares fit to a target t minimises the weight |t| of the rows with the wrong sign, so this is a base
    model for boosting by classifiers: with the exponential loss and a line search it is discrete AdaBoost.

    Parameters
    ----------
    classifier : estimator
        Classifier whose ``fit`` takes ``sample_weight``.

    Attributes
    ----------
    classifier_ : estimator
        The fitted classifier.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sapwood.classic import SignRegressor
    >>> model = SignRegressor(DecisionTreeClassifier(max_depth=1)).fit([[0.0], [1.0]], [-0.3, 2.0])
    >>> model.predict([[0.0], [1.0]])
    array([-1.,  1.])
    """

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SignRegressor:
        """Fit the classifier to the sign of ``y``, rows weighted by ``|y|`` times ``sample_weight``.

        Returns
        -------
        self
        """
        X = checked_table(self, X, reset=True)
        target = read_numbers(self, X.shape[0], y)
        weight = check_weight(sample_weight, len(target))
        weight = np.abs(target) if weight is None else np.abs(target) * weight
        self.classifier_ = clone(self.classifier).fit(X, np.where(target > 0.0, 1, -1), sample_weight=weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return -1 or 1 for each row."""
        check_is_fitted(self)
        return np.asarray(self.classifier_.predict(checked_table(self, X, reset=False)), dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = copy_input_tags(super().__sklearn_tags__(), self.classifier)
        tags.regressor_tags.poor_score = True
        return tags
