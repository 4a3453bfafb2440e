"""AdaBoost: classifiers fitted one after another, each with more weight on the rows that those before got wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from sapwood.classic.base_model import checked_table, copy_input_tags, read_labels, set_seed
from sapwood.data.tables.targets import check_weight
from sapwood.errors import ParameterError, TrainingError
from sapwood.kernels.numeric.elementwise import apply_elementwise, exp_values
from sapwood.kernels.numeric.sums import fixed_sum
from sapwood.params.resolve import resolve_seed

ALGORITHMS = ("auto", "discrete", "SAMME")


class SapwoodAdaBoostClassifier(ClassifierMixin, BaseEstimator):
    """AdaBoost over any classifier that takes sample weights.

    A classifier with the weighted error e has the weight a. Discrete AdaBoost (two classes): a = ln((1 - e) / e) / 2,
    and the weight of a row is multiplied by exp(a) where it is wrong, by exp(-a) where it is right. SAMME, for K
    classes: a = ln((1 - e) / e) + ln(K - 1), and the weight of a row is multiplied by exp(a) where it is wrong.
    Training ends early when a classifier is perfect or no better than guessing.

    Parameters
    ----------
    base : classifier, optional
        Model of each round: any scikit-learn classifier whose ``fit`` takes ``sample_weight``. By default a decision
        tree with one split.
    n_estimators : int, default=50
        Largest number of rounds.
    learning_rate : float, default=1.0
        Factor of the weight of each classifier.
    algorithm : {"auto", "discrete", "SAMME"}, default="auto"
        "discrete" is for two classes; "auto" is "discrete" for two classes and "SAMME" for more.
    random_state : int or RandomState, optional
        Seed of base models whose ``random_state`` is None.

    Attributes
    ----------
    estimators_ : list
        The fitted classifiers.
    estimator_weights_ : ndarray
        Weight of each classifier.
    estimator_errors_ : ndarray
        Weighted error of each classifier.
    classes_ : ndarray
        Class labels.

    See Also
    --------
    sapwood.classic.GradientBoostingClassifier : with ``loss="exponential"`` and ``base=SignRegressor(classifier)`` it
        is discrete AdaBoost as gradient boosting.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sapwood import SapwoodAdaBoostClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> SapwoodAdaBoostClassifier().fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        base: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        algorithm: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.algorithm = algorithm
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SapwoodAdaBoostClassifier:
        """Fit the classifiers.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows in a form that the base model takes.
        y : array-like
            Label of each row.
        sample_weight : array-like, optional
            Weight of each row at the start.

        Returns
        -------
        self

        Examples
        --------
        >>> from sapwood import SapwoodAdaBoostClassifier
        >>> model = SapwoodAdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
        >>> model.estimator_errors_
        array([0.])
        """
        base = DecisionTreeClassifier(max_depth=1) if self.base is None else self.base
        self._check_parameters(base)
        X = checked_table(self, X, reset=True)
        codes, self.classes_ = read_labels(self, X.shape[0], y)
        classes = self.classes_
        self.algorithm_ = _algorithm(self.algorithm, len(classes))
        weight = check_weight(sample_weight, len(codes))
        weight = np.ones(len(codes)) if weight is None else np.asarray(weight, dtype=np.float64)
        self._boost(base, X, codes.astype(np.intp), weight / fixed_sum(weight), resolve_seed(self.random_state))
        return self

    def _check_parameters(self, base: Any) -> None:
        if not (isinstance(self.n_estimators, (int, np.integer)) and self.n_estimators >= 1):
            raise ParameterError(f"n_estimators must be an integer of at least 1, got {self.n_estimators!r}")
        if not self.learning_rate > 0.0:
            raise ParameterError(f"learning_rate must be above 0, got {self.learning_rate!r}")
        if not has_fit_parameter(base, "sample_weight"):
            raise ParameterError(f"base={type(base).__name__} is not supported: its fit must take sample_weight")

    def _boost(self, base: Any, X: Any, codes: np.ndarray, weight: np.ndarray, seed: int) -> None:
        self.estimators_: list[Any] = []
        weights, errors = [], []
        for round in range(self.n_estimators):
            model = set_seed(clone(base), seed, round)
            model.fit(X, self.classes_[codes], sample_weight=weight)
            is_wrong = np.asarray(model.predict(X)) != self.classes_[codes]
            error = fixed_sum(weight, is_wrong.astype(np.float64)) / fixed_sum(weight)
            if error >= 1.0 - 1.0 / len(self.classes_) and self.estimators_:
                break
            if error >= 1.0 - 1.0 / len(self.classes_):
                raise TrainingError(
                    f"the first {type(base).__name__} has a weighted error of {error:.3g}, no better than guessing; "
                    "use another base model"
                )
            self.estimators_.append(model)
            errors.append(error)
            if error <= 0.0:
                weights.append(1.0)
                break
            weights.append(self.learning_rate * self._classifier_weight(error))
            weight = self._reweighted(weight, is_wrong, weights[-1])
        self.estimator_weights_, self.estimator_errors_ = np.array(weights), np.array(errors)

    def _classifier_weight(self, error: float) -> float:
        log_odds = math.log((1.0 - error) / error)
        return 0.5 * log_odds if self.algorithm_ == "discrete" else log_odds + math.log(len(self.classes_) - 1.0)

    def _reweighted(self, weight: np.ndarray, is_wrong: np.ndarray, classifier_weight: float) -> np.ndarray:
        right = -classifier_weight if self.algorithm_ == "discrete" else 0.0
        factor = apply_elementwise(exp_values, np.where(is_wrong, classifier_weight, right))
        changed = weight * factor
        return changed / fixed_sum(changed)

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the decision function after 1, 2, ... rounds.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows with the columns of training.

        Yields
        ------
        ndarray (rows,) or (rows, classes)
            Mean votes, as in ``decision_function``.

        Examples
        --------
        >>> from sapwood import SapwoodAdaBoostClassifier
        >>> model = SapwoodAdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
        >>> [scores.tolist() for scores in model.staged_decision_function([[0.0], [3.0]])]
        [[-2.0, 2.0]]
        """
        check_is_fitted(self)
        X = checked_table(self, X, reset=False)
        votes = np.zeros((X.shape[0], len(self.classes_)))
        total = 0.0
        for model, weight in zip(self.estimators_, self.estimator_weights_, strict=True):
            votes[np.arange(len(votes)), np.searchsorted(self.classes_, model.predict(X))] += weight
            total += weight
            scores = (votes - (total - votes) / (votes.shape[1] - 1.0)) / total
            yield scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the mean vote for each class; for two classes that of class 1 minus that of class 0.

        A classifier votes 1 for the class that it predicts and -1 / (K - 1) for each of the others.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows,) or (rows, classes)
            Mean votes, weighted by the classifiers' weights.

        Examples
        --------
        >>> from sapwood import SapwoodAdaBoostClassifier
        >>> model = SapwoodAdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
        >>> model.decision_function([[0.0], [3.0]])
        array([-2.,  2.])
        """
        *_, scores = self.staged_decision_function(X)
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the label with the most votes for each row.

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
        >>> from sapwood import SapwoodAdaBoostClassifier
        >>> model = SapwoodAdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
        >>> model.predict([[0.0], [3.0]]).tolist()
        ['a', 'b']
        """
        return self._labels(self.decision_function(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the labels after 1, 2, ... rounds.

        Parameters
        ----------
        X : array, data frame or sparse matrix
            Rows with the columns of training.

        Yields
        ------
        ndarray (rows,)
            Labels out of ``classes_``.

        Examples
        --------
        >>> from sapwood import SapwoodAdaBoostClassifier
        >>> model = SapwoodAdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
        >>> [labels.tolist() for labels in model.staged_predict([[0.0], [3.0]])]
        [['a', 'b']]
        """
        return map(self._labels, self.staged_decision_function(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, by the statistical view of AdaBoost.

        Probabilities are proportional to exp(F_k / (K - 1)) with the sums F_k of the votes times the weights of the
        classifiers. For two classes and discrete AdaBoost this is 1 / (1 + exp(-2 F)), F the sum of the
        weighted votes -1 and 1.

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
        >>> from sapwood import SapwoodAdaBoostClassifier
        >>> model = SapwoodAdaBoostClassifier().fit([[0.0], [1.0], [2.0], [3.0]], list("aabb"))
        >>> model.predict_proba([[0.0], [3.0]]).round(2)
        array([[0.88, 0.12],
               [0.12, 0.88]])
        """
        votes = self.decision_function(X) * float(np.sum(self.estimator_weights_))
        if votes.ndim == 1:
            votes = np.column_stack([-votes, votes]) * (0.5 if self.algorithm_ == "discrete" else 0.25)
        else:
            votes /= len(self.classes_) - 1.0
        odds = apply_elementwise(exp_values, np.ascontiguousarray(votes - votes.max(axis=1, keepdims=True)))
        return odds / odds.sum(axis=1, keepdims=True)

    def _labels(self, scores: np.ndarray) -> np.ndarray:
        if scores.ndim == 1:
            return self.classes_[(scores > 0.0).astype(np.intp)]
        return self.classes_[np.argmax(scores, axis=1)]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_weights_")

    def __sklearn_tags__(self) -> Any:
        return copy_input_tags(super().__sklearn_tags__(), DecisionTreeClassifier() if self.base is None else self.base)


def _algorithm(name: str, n_classes: int) -> str:
    """Return the algorithm for a number of classes."""
    if name not in ALGORITHMS:
        raise ParameterError(f"algorithm must be one of {', '.join(map(repr, ALGORITHMS))}, got {name!r}")
    if name == "auto":
        return "discrete" if n_classes == 2 else "SAMME"
    if name == "discrete" and n_classes > 2:
        raise ParameterError(f"algorithm='discrete' is for two classes, y has {n_classes}; use 'SAMME'")
    return name
