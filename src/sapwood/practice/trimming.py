"""Drop the rows that a model fits worst, and train again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import cross_val_predict
from sklearn.utils import indexable

from sapwood.data.tables.row_selection import select_rows
from sapwood.errors import ParameterError
from sapwood.kernels.numeric.elementwise import apply_elementwise, log_values

MIN_PROBABILITY = 2.0**-52


@dataclass(frozen=True, eq=False)
class Trimmed:
    """Result of :func:`trim`.

    Attributes
    ----------
    estimator : estimator
        The estimator fitted on the rows that were kept.
    kept : ndarray of bool
        Whether each row was kept.
    dropped : dict of ndarray
        Table of the dropped rows, the worst first: ``row``, ``y``, ``prediction`` (out of fold) and ``loss``.
    """

    estimator: Any
    kept: np.ndarray
    dropped: dict[str, np.ndarray]

    def to_frame(self) -> Any:
        """Return the dropped rows as a pandas data frame."""
        import pandas as pd

        return pd.DataFrame(self.dropped)


def trim(estimator: Any, X: Any, y: Any, *, fraction: float = 0.05, cv: Any = 5, sample_weight: Any = None) -> Trimmed:
    """Drop the worst-fitted rows and fit the estimator on the others.

    Rows are judged by out-of-fold predictions, so that no row is judged by a model that has learned it: by the squared
    error, or the negative logarithm of the probability of the true class. Wrong labels and broken measurements are
    among the worst; so are rare, correct rows, so look at ``dropped`` before the model is used.

    Parameters
    ----------
    estimator : classifier or regressor
        Any scikit-learn estimator; a classifier needs ``predict_proba``.
    X, y : table and array-like
        Rows and targets.
    fraction : float, default=0.05
        Fraction of the rows to drop.
    cv : int or splitter, default=5
        Folds of the out-of-fold predictions.
    sample_weight : array-like, optional
        Weights of the rows, passed to ``fit``.

    Returns
    -------
    Trimmed
        The fitted estimator, the rows that were kept and a table of the dropped ones.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood import SapwoodRegressor
    >>> from sapwood.practice import trim
    >>> X = np.linspace(0.0, 1.0, 200)[:, None]
    >>> y = X[:, 0].copy()
    >>> y[[20, 120]] = 50.0  # typing errors
    >>> trim(SapwoodRegressor(n_estimators=20), X, y, fraction=0.01).dropped["row"].tolist()
    [20, 120]
    """
    if not 0.0 < fraction < 1.0:
        raise ParameterError(f"fraction must be above 0 and below 1, got {fraction!r}")
    indexable(X, y)
    target = np.asarray(y)
    params = None if sample_weight is None else {"sample_weight": np.asarray(sample_weight)}
    method = "predict_proba" if is_classifier(estimator) else "predict"
    predictions = cross_val_predict(estimator, X, target, cv=cv, method=method, params=params)
    shown, loss = _row_losses(target, predictions)
    worst = np.argsort(-loss, kind="stable")[: max(1, int(fraction * len(loss) + 0.5))]
    kept = np.ones(len(loss), dtype=bool)
    kept[worst] = False
    rows = np.flatnonzero(kept)
    weight = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[rows]}
    fitted = clone(estimator).fit(select_rows(X, rows), target[rows], **weight)
    return Trimmed(fitted, kept, {"row": worst, "y": target[worst], "prediction": shown[worst], "loss": loss[worst]})


def _row_losses(y: np.ndarray, predictions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the prediction of each row as it is shown (for classes the most probable label), and its loss."""
    if predictions.ndim == 1:
        return predictions, np.square(predictions - y)
    classes, codes = np.unique(y, return_inverse=True)
    true = np.maximum(predictions[np.arange(len(y)), codes], MIN_PROBABILITY)
    return classes[np.argmax(predictions, axis=1)], -apply_elementwise(log_values, true)
