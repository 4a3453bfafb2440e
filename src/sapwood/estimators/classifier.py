"""Gradient-boosted trees for classification."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sapwood.boost.fit_arguments import CLASSIFICATION
from sapwood.estimators.classifier_parameters import ClassifierParameters
from sapwood.estimators.constructor import documents_parameters
from sapwood.model.class_predictions import class_probabilities, most_probable_classes
from sapwood.params.aliases.alias import PREDICT
from sapwood.params.unknown_arguments import explains_arguments


@documents_parameters
class SapwoodClassifier(ClassifierMixin, ClassifierParameters):
    """Gradient-boosted trees for classification.

    Attributes
    ----------
    classes_ : ndarray (classes,)
        Class labels, sorted, in the order of the columns of ``predict_proba``.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodClassifier
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    >>> model = SapwoodClassifier(n_estimators=50, max_leaves=15).fit(X, y)
    >>> model
    SapwoodClassifier(max_leaves=15, n_estimators=50)
    >>> model.predict([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
    array(['yes', 'no'], dtype='<U3')
    >>> model.predict_proba([[1.0, 1.0, 0.0]]).round(3)
    array([[0.01, 0.99]])
    >>> model.classes_, model.n_iter_, model.params_["learning_rate"]
    (array(['no', 'yes'], dtype='<U3'), 50, 0.1)
    """

    task: ClassVar[str] = CLASSIFICATION

    @property
    def classes_(self) -> np.ndarray:
        """Class labels, sorted, in the order of the columns of ``predict_proba``."""
        check_is_fitted(self)
        assert self.model_.classes is not None
        return self.model_.classes

    @explains_arguments(PREDICT)
    def predict_proba(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.

        Returns
        -------
        ndarray (rows, classes)
            Probabilities in the order of ``classes_``.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodClassifier
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodClassifier(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> model.predict_proba(X[[0, 99]], iterations=0)
        array([[0.5, 0.5],
               [0.5, 0.5]])
        """
        return class_probabilities(self._predict(X, iterations), self.classes_)

    @explains_arguments(PREDICT)
    def predict(self, X: Any, iterations: int | None = None) -> np.ndarray:
        """Predict the most probable label of each row.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.
        iterations : int, optional
            Number of rounds to use; all by default.

        Returns
        -------
        ndarray (rows,)
            Labels out of ``classes_``.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodClassifier
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodClassifier(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> model.predict(X[[0, 99]])
        array([False,  True])
        """
        return most_probable_classes(self.predict_proba(X, iterations), self.classes_)

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Predict the probabilities of the classes after 1, 2, ... rounds.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Yields
        ------
        ndarray (rows, classes)
            Probabilities after the round.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodClassifier
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodClassifier(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> [one.shape for one in model.staged_predict_proba(X[:1])][:2]
        [(1, 2), (1, 2)]
        """
        return (class_probabilities(response, self.classes_) for response in self._staged_predict(X))

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Predict the most probable labels after 1, 2, ... rounds.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Yields
        ------
        ndarray (rows,)
            Labels after the round.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodClassifier
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodClassifier(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> [one.shape for one in model.staged_predict(X[:1])][:2]
        [(1,), (1,)]
        """
        return (most_probable_classes(probability, self.classes_) for probability in self.staged_predict_proba(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores before the link function.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Returns
        -------
        ndarray (rows,) or (rows, classes)
            Scores of the second class for two classes, else one score per class.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodClassifier
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodClassifier(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> model.decision_function(X[[0, 99]]) > 0
        array([False,  True])
        """
        return _decision(self.predict_raw(X))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores before the link function after 1, 2, ... rounds, in the shape of ``decision_function``.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Dataset
            Rows with the columns of training.

        Returns
        -------
        iterator of ndarray (rows,) or (rows, classes)
            One array per round.

        Examples
        --------
        >>> import numpy as np
        >>> from sapwood import SapwoodClassifier
        >>> X = np.arange(100.0)[:, None]
        >>> model = SapwoodClassifier(n_estimators=20).fit(X, X[:, 0] > 49)
        >>> len(list(model.staged_decision_function(X)))
        20
        """
        return map(_decision, self._staged_predict_raw(X))


def _decision(scores: np.ndarray) -> np.ndarray:
    """Return the difference of two scores, other scores as they are."""
    return scores[:, 1] - scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 2 else scores
