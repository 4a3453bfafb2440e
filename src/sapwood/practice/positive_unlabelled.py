"""Learning from positive and unlabelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.validation import check_is_fitted, validate_data

from sapwood.data.tables.row_selection import select_rows
from sapwood.errors import InputError

MIN_PROBABILITY = 1e-6


class PositiveUnlabelled(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Classify with labels for some positive rows only, by the method of Elkan and Noto (2008).

    A first classifier predicts the probability g(x) that a row is labelled. If labelled rows are a random part c of all
    positive rows, g(x) = c p(x), with p the probability of being positive; c is the mean of g over the labelled rows,
    out of fold. An unlabelled row is then positive with the weight w = (1 - c) / c * g / (1 - g) and negative with the
    weight 1 - w, and the final classifier is fitted on both copies.

    Parameters
    ----------
    estimator : classifier
        Classifier with ``predict_proba`` whose ``fit`` takes ``sample_weight``.
    cv : int or splitter, default=5
        Folds of the out-of-fold predictions of the first classifier.

    Attributes
    ----------
    estimator_ : classifier
        The final classifier.
    label_frequency_ : float
        Estimated fraction c of the positive rows that are labelled.
    classes_ : ndarray
        0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.practice import PositiveUnlabelled
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> is_positive = X[:, 0] + X[:, 1] > 0.0
    >>> is_labelled = is_positive & (rng.random(2000) < 0.3)
    >>> model = PositiveUnlabelled(SapwoodClassifier(n_estimators=50)).fit(X, is_labelled)
    >>> round(model.label_frequency_, 1)
    0.3
    """

    def __init__(self, estimator: Any, *, cv: Any = 5) -> None:
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: Any, y: Any) -> PositiveUnlabelled:
        """Fit both classifiers.

        Parameters
        ----------
        X : table
            Rows in a form that the classifier takes.
        y : array-like
            1 or True for labelled positive rows, 0, -1 or False for unlabelled ones.

        Returns
        -------
        self
        """
        validate_data(self, X, skip_check_array=True)
        is_labelled = _read_labels(y)
        first = cross_val_predict(self.estimator, X, is_labelled.astype(np.int64), cv=self.cv, method="predict_proba")[
            :, 1
        ]
        self.label_frequency_ = float(np.clip(first[is_labelled].mean(), MIN_PROBABILITY, 1.0))
        positives, others = np.flatnonzero(is_labelled), np.flatnonzero(~is_labelled)
        g = np.clip(first[others], 0.0, 1.0 - MIN_PROBABILITY)
        odds = (1.0 - self.label_frequency_) / self.label_frequency_ * g / (1.0 - g)
        positive_weight = np.clip(odds, 0.0, 1.0)
        rows = np.concatenate([positives, others, others])
        target = np.repeat([1, 1, 0], [len(positives), len(others), len(others)])
        weight = np.concatenate([np.ones(len(positives)), positive_weight, 1.0 - positive_weight])
        is_used = weight > 0.0
        self.estimator_ = clone(self.estimator).fit(
            select_rows(X, rows[is_used]), target[is_used], sample_weight=weight[is_used]
        )
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for rows that are more probably positive than not, else 0."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of being negative and positive: (rows, 2)."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)


def _read_labels(y: Any) -> np.ndarray:
    """Return whether each row is labelled."""
    labels = np.asarray(y)
    values = np.unique(labels).tolist()
    if not set(values) <= {-1, 0, 1}:
        raise InputError(f"y has the values {values[:5]}: allowed are 1 (positive) and 0 or -1 (unlabelled)")
    is_labelled = labels == 1
    if not is_labelled.any() or is_labelled.all():
        raise InputError("y has positive or unlabelled rows only: both are needed")
    return is_labelled
