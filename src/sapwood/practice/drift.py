"""Do two tables come from one distribution? A classifier that tells their rows apart gives the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from sapwood.data.tables.table import read_table
from sapwood.errors import InputError, ParameterError
from sapwood.estimators.classifier import SapwoodClassifier
from sapwood.estimators.cv import cv
from sapwood.metrics.registry import resolve_metric
from sapwood.practice.concatenation import concatenate, select_column

MAX_SINGLE_COLUMNS = 5  # columns whose own AUC is computed


@dataclass(frozen=True)
class DriftingColumn:
    """A column by which the rows of two tables are told apart.

    Attributes
    ----------
    name : str
        Name of the column.
    importance : float
        Its fraction of the total gain of the classifier.
    auc : float or None
        Cross-validated AUC of a classifier of this column alone; None for all but the most important columns.
    """

    name: str
    importance: float
    auc: float | None


@dataclass(frozen=True)
class DriftReport:
    """Result of :func:`drift_report`.

    Attributes
    ----------
    auc : float
        Cross-validated AUC of the classifier; 0.5 if the tables cannot be told apart.
    interval : tuple of float
        Confidence interval of the AUC (DeLong's method).
    confidence : float
        Its confidence.
    columns : list of DriftingColumn
        Columns, the most important first.
    n_train, n_test : int
        Numbers of rows.
    """

    auc: float
    interval: tuple[float, float]
    confidence: float
    columns: list[DriftingColumn]
    n_train: int
    n_test: int

    @property
    def has_drift(self) -> bool:
        """Whether the interval lies above 0.5."""
        return self.interval[0] > 0.5

    def __str__(self) -> str:
        low, high = self.interval
        verdict = "The tables differ." if self.has_drift else "No difference was found."
        lines = [
            f"{verdict} AUC of train against test: {self.auc:.4f} ({self.confidence:.0%} interval {low:.4f} to "
            f"{high:.4f}; {self.n_train} and {self.n_test} rows)"
        ]
        for column in self.columns[:MAX_SINGLE_COLUMNS] if self.has_drift else []:
            alone = "" if column.auc is None else f", AUC alone {column.auc:.4f}"
            lines.append(f"  {column.name}: {column.importance:.1%} of the gain{alone}")
        return "\n".join(lines)


def drift_report(
    train: Any,
    test: Any,
    *,
    estimator: Any = None,
    n_folds: int = 5,
    confidence: float = 0.95,
    random_state: int = 0,
) -> DriftReport:
    """Measure how well the rows of two tables can be told apart, and name the columns that tell.

    A classifier of "train or test" is cross-validated. An AUC whose interval contains 0.5 is no evidence of a
    difference; a high one means that a model validated on ``train`` need not hold on ``test``. An id, a date or an
    index that differs by construction gives a high AUC too: leave such columns out.

    Parameters
    ----------
    train, test : table
        Tables with the same columns, without the target.
    estimator : SapwoodClassifier, optional
        The classifier; by default 100 rounds of small trees.
    n_folds : int, default=5
        Number of folds.
    confidence : float, default=0.95
        Confidence of the interval.
    random_state : int, default=0
        Seed of the folds and of the default classifier.

    Returns
    -------
    DriftReport
        AUC, its interval and the columns by importance; ``print`` shows a summary.

    Examples
    --------
    >>> import numpy as np
    >>> from sapwood.practice import drift_report
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.normal(size=(300, 3)), rng.normal(size=(300, 3))
    >>> drift_report(a, b).has_drift
    False
    >>> b[:, 1] += 2.0
    >>> drift_report(a, b).columns[0].name
    'f1'
    """
    if not 0.0 < confidence < 1.0:
        raise ParameterError(f"confidence must be above 0 and below 1, got {confidence!r}")
    sizes = [read_table(table).n_rows for table in (train, test)]
    if min(sizes) < n_folds:
        raise InputError(f"train has {sizes[0]} and test {sizes[1]} rows: {n_folds} folds need as many rows in each")
    X, is_test = concatenate(train, test), np.repeat([0, 1], sizes)
    if estimator is None:
        estimator = SapwoodClassifier(n_estimators=100, max_leaves=15, random_state=random_state)
    result = cv(estimator, X, is_test, cv=n_folds)
    scores = result.predictions[:, 1]
    auc = resolve_metric("auc")(is_test, scores)
    margin = NormalDist().inv_cdf(0.5 + confidence / 2.0) * auc_standard_error(is_test, scores)
    importances = np.mean([fitted.feature_importances_ for fitted in result.estimators], axis=0)
    names = result.estimators[0].model_.feature_names
    columns = []
    for rank, column in enumerate(np.argsort(-importances, kind="stable").tolist()):
        alone = None
        if rank < MAX_SINGLE_COLUMNS and len(names) > 1 and importances[column] > 0.0:
            alone = _auc_of_column(estimator, X, column, is_test, n_folds)
        columns.append(DriftingColumn(names[column], float(importances[column]), alone))
    interval = (max(0.0, auc - margin), min(1.0, auc + margin))
    return DriftReport(auc, interval, confidence, columns, *sizes)


def auc_standard_error(y: np.ndarray, scores: np.ndarray) -> float:
    """Return the standard error of the AUC of scores by DeLong's method.

    With V the fraction of negatives below each positive (ties half) and W the fraction of positives above each
    negative: the root of var(V) / positives + var(W) / negatives.
    """
    positive, negative = np.sort(scores[y == 1]), np.sort(scores[y == 0])
    above = _fraction_below(negative, positive)
    below = 1.0 - _fraction_below(positive, negative)
    return math.sqrt(np.var(above, ddof=1) / len(positive) + np.var(below, ddof=1) / len(negative))


def _fraction_below(of: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return for each value the fraction of a sorted array that is below it, ties counted half."""
    return (np.searchsorted(of, values, "left") + np.searchsorted(of, values, "right")) / (2.0 * len(of))


def _auc_of_column(estimator: Any, X: Any, column: int, is_test: np.ndarray, n_folds: int) -> float:
    predictions = cv(estimator, select_column(X, column), is_test, cv=n_folds).predictions
    return resolve_metric("auc")(is_test, predictions[:, 1])
