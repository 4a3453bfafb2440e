"""Self-training: learn from unlabelled rows by the confident predictions of earlier rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from sapwood.data.tables.row_selection import select_rows
from sapwood.errors import InputError, ParameterError
from sapwood.kernels.numeric.random import BASE_MODEL, draw_many
from sapwood.params.resolve import resolve_seed


class SelfTraining(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Train a classifier on labelled rows and on its own confident predictions for unlabelled ones.

    Round by round, several copies of the classifier are fitted on bootstrap samples of the labelled rows and of the
    unlabelled rows that are used so far, and their mean predicts all unlabelled rows anew, so that an early mistake can
    be undone. The most confident rows, in the proportions of the predicted classes, take part in the next round; their
    number grows from round to round. One classifier learns the labels of the last round. The mean of several copies is
    what makes the new labels better than those of one classifier, which learns nothing from its own predictions.

    Parameters
    ----------
    estimator : classifier
        Classifier with ``predict_proba``.
    threshold : float, default=0.0
        Least probability with which a predicted label is used.
    n_rounds : int, default=3
        Number of rounds; round r uses at most the fraction r / n_rounds of the unlabelled rows.
    n_members : int, default=8
        Number of copies whose mean predicts the labels; 1 is plain self-training, without bootstrap samples.
    unlabelled : object, default=-1
        Label that marks rows without one; None and NaN mark them too.
    random_state : int or RandomState, optional
        Seed of the bootstrap samples.

    Attributes
    ----------
    estimator_ : classifier
        Classifier of the last round.
    classes_ : ndarray
        Class labels.
    labels_ : ndarray
        Labels that the last round was trained on; ``unlabelled`` where none was used.
    n_used_ : list of int
        Number of unlabelled rows that each round used.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.practice import SelfTraining
    >>> X = np.linspace(0.0, 1.0, 400)[:, None]
    >>> y = (X[:, 0] > 0.5).astype(int)
    >>> y[np.arange(400) % 10 > 0] = -1  # nine of ten labels are unknown
    >>> model = SelfTraining(SapwoodClassifier(n_estimators=30, min_child_samples=2)).fit(X, y)
    >>> model.predict([[0.1], [0.9]])
    array([0, 1])
    """

    def __init__(
        self,
        estimator: Any,
        *,
        threshold: float = 0.0,
        n_rounds: int = 3,
        n_members: int = 8,
        unlabelled: Any = -1,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.n_rounds = n_rounds
        self.n_members = n_members
        self.unlabelled = unlabelled
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> SelfTraining:
        """Fit the classifier round by round.

        Parameters
        ----------
        X : table
            Rows in a form that the classifier takes.
        y : array-like
            Labels, with ``unlabelled``, None or NaN for rows without one.

        Returns
        -------
        self
        """
        if not 0.0 <= self.threshold <= 1.0:
            raise ParameterError(f"threshold must be between 0 and 1, got {self.threshold!r}")
        for name in ("n_rounds", "n_members"):
            value = getattr(self, name)
            if not (isinstance(value, (int, np.integer)) and value >= 1):
                raise ParameterError(f"{name} must be an integer of at least 1, got {value!r}")
        validate_data(self, X, skip_check_array=True)
        labels = np.asarray(y)
        is_labelled = ~_is_unlabelled(labels, self.unlabelled)
        known = labels[is_labelled]
        if known.dtype == object or labels.dtype.kind == "f":
            known = np.array(known.tolist())
        self.classes_, codes = np.unique(known, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(f"y has labels of {len(self.classes_)} class: self-training needs at least two")
        given, other = np.flatnonzero(is_labelled), np.flatnonzero(~is_labelled)
        self.n_used_: list[int] = []
        seed = resolve_seed(self.random_state)
        rows, targets = given, codes
        used, predicted = np.empty(0, np.intp), np.empty(0, np.intp)
        for round in range(1, self.n_rounds + 1 if len(other) else 1):
            probability = self._mean_probability(X, rows, targets, other, seed, round)
            used = _most_confident(probability, self.threshold, round / self.n_rounds)
            predicted = np.argmax(probability, axis=1)[used]
            self.n_used_.append(len(used))
            rows, targets = np.concatenate([given, other[used]]), np.concatenate([codes, predicted])
        self.estimator_ = clone(self.estimator).fit(select_rows(X, rows), self.classes_[targets])
        self.labels_ = labels.copy()
        self.labels_[other[used]] = self.classes_[predicted]
        return self

    def _mean_probability(
        self, X: Any, rows: np.ndarray, targets: np.ndarray, other: np.ndarray, seed: int, round: int
    ) -> np.ndarray:
        """Return the mean prediction for ``other`` rows of copies fitted on bootstrap samples of ``rows``."""
        total = np.zeros((len(other), len(self.classes_)))
        table = select_rows(X, other)
        for member in range(self.n_members):
            sample = np.arange(len(rows))
            if self.n_members > 1:
                sample = _bootstrap(targets, len(self.classes_), seed, round * self.n_members + member)
            model = clone(self.estimator).fit(select_rows(X, rows[sample]), self.classes_[targets[sample]])
            total += model.predict_proba(table)
        return total / self.n_members

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class: (rows, classes)."""
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)


def _is_unlabelled(labels: np.ndarray, mark: Any) -> np.ndarray:
    if labels.dtype.kind == "f":
        return np.isnan(labels) | (labels == mark if isinstance(mark, (int, float)) else False)
    if labels.dtype != object:
        return np.asarray(labels == mark) & np.ones(len(labels), dtype=bool)
    return np.array([label is None or label != label or label == mark for label in labels.tolist()], dtype=bool)


def _bootstrap(targets: np.ndarray, n_classes: int, seed: int, round: int) -> np.ndarray:
    """Return as many rows as there are, drawn with replacement, and the first row of each class that was not drawn."""
    bits = np.empty(len(targets), dtype=np.uint64)
    draw_many(seed, BASE_MODEL, round, np.arange(len(targets), dtype=np.uint64), bits)
    sample = (bits % np.uint64(len(targets))).astype(np.intp)
    lost = np.setdiff1d(np.arange(n_classes), targets[sample])
    return np.concatenate([sample, *(np.flatnonzero(targets == label)[:1] for label in lost)])


def _most_confident(probability: np.ndarray, threshold: float, fraction: float) -> np.ndarray:
    """Return the rows above the threshold, at most this fraction of the rows that are predicted as each class."""
    predicted, confidence = np.argmax(probability, axis=1), probability.max(axis=1)
    chosen = []
    for label in range(probability.shape[1]):
        rows = np.flatnonzero(predicted == label)
        best = rows[np.argsort(-confidence[rows], kind="stable")][: int(np.ceil(fraction * len(rows)))]
        chosen.append(best[confidence[best] >= threshold])
    return np.sort(np.concatenate(chosen))
