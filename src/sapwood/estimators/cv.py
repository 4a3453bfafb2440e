"""Cross-validation with out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from sapwood.boost.early_stopping import INTERRUPTED
from sapwood.boost.evaluation import EvalMetric, EvalSet, complete_metrics, eval_metrics, evaluate
from sapwood.boost.labeled_rows import read_features
from sapwood.boost.learning_task import metric_task, objective_for, read_target
from sapwood.boost.target import Target
from sapwood.boost.train import fit
from sapwood.boost.validation_split import fold_of_rows
from sapwood.data.dataset import Dataset
from sapwood.data.tables.row_selection import select_rows
from sapwood.data.tables.targets import check_weight, read_groups
from sapwood.errors import InputError, InputTypeError
from sapwood.estimators.base import SapwoodEstimator, make_fit_arguments, set_fitted_attributes
from sapwood.estimators.classifier import SapwoodClassifier
from sapwood.lazy_dataclass import dataclass
from sapwood.params.compatibility import check_compatibility
from sapwood.params.fit_context import Context
from sapwood.params.resolve import resolve_params

HELD_OUT = "held_out"


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """Result of cross-validation.

    Attributes
    ----------
    predictions : ndarray
        Out-of-fold predictions: (rows,) for regression, probabilities (rows, classes) for classification; the mean for
        rows that are held out more than once, NaN for rows that never are.
    estimators : list
        Fitted estimator of each fold.
    held_out : list of ndarray
        Held-out rows of each fold.
    scores : dict
        Value of each metric per fold.
    history : dict
        Mean of each metric over the folds after each round, for as many rounds as all folds have.
    best_iteration : int
        Number of rounds after which the mean of the first metric is best.

    Examples
    --------
    >>> import numpy as np
    >>> import sapwood
    >>> X = np.arange(100.0)[:, None]
    >>> result = sapwood.cv(sapwood.SapwoodRegressor(n_estimators=5), X, X[:, 0], cv=2)
    >>> [len(rows) for rows in result.held_out], len(result.history["rmse"])
    ([50, 50], 5)
    """

    predictions: np.ndarray
    estimators: list[SapwoodEstimator]
    held_out: list[np.ndarray]
    scores: dict[str, np.ndarray]
    history: dict[str, np.ndarray]
    best_iteration: int

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {values.mean():.5g} ± {values.std():.2g}" for name, values in self.scores.items())
        return f"<sapwood.cv: {len(self.estimators)} folds, {shown}>"


def cv(
    estimator: SapwoodEstimator, X: Any, y: Any, *, cv: Any = 5, groups: Any = None, sample_weight: Any = None
) -> CrossValidation:
    """Fit a clone of an estimator on each fold and evaluate it on the held-out rows.

    Held-out rows take no part in training: bin edges are found on the other rows (unless ``X`` is a ``Dataset``, whose
    bins are used), and early stopping splits off some of those.

    Parameters
    ----------
    estimator : SapwoodClassifier or SapwoodRegressor
        Estimator with the parameters to use; it is not fitted itself.
    X : array, data frame, sparse matrix or Dataset
        Rows, as in ``fit``.
    y : array-like
        Target of each row.
    cv : int, splitter or list of (train rows, test rows), default=5
        Number of folds (stratified for classification, drawn with the estimator's ``random_state``, ``groups``
        undivided), a splitter of scikit-learn, or the folds themselves.
    groups : array-like, optional
        Group of each row; a group is never divided.
    sample_weight : array-like, optional
        Weight of each row, for training and for the metrics.

    Returns
    -------
    CrossValidation
        Out-of-fold predictions, fitted estimators, and the metrics of each fold.

    Examples
    --------
    >>> import numpy as np
    >>> import sapwood
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = X[:, 0] + X[:, 1] ** 2
    >>> result = sapwood.cv(sapwood.SapwoodRegressor(n_estimators=30), X, y, cv=3)
    >>> result.predictions.shape, len(result.estimators), sorted(result.scores)
    ((300,), 3, ['rmse'])
    """
    if not isinstance(estimator, SapwoodEstimator):
        raise InputTypeError(
            f"cv accepts a SapwoodClassifier or a SapwoodRegressor, got {type(estimator).__name__}: for other "
            "estimators and pipelines use sklearn.model_selection.cross_validate"
        )
    data = CvData.read(estimator, X, y, groups, sample_weight)
    params = resolve_params(estimator.get_params(deep=False), len(data.y), estimator.task)
    check_compatibility(Context(params.values(), is_cross_validation=True))
    objective = objective_for(params, data.classes)
    metrics = eval_metrics(params.evaluation.eval_metric, objective, metric_task(data.classes), data.classes)
    scores = np.repeat(objective.initial_scores(data.y, data.weight)[:, None], len(data.y), axis=1)
    start = EvalSet(HELD_OUT, np.empty((0, 0)), Target(data.y, data.weight), scores)
    metrics = complete_metrics(metrics, objective, start)
    folds: list[Fold] = []
    splits = list(_split(data, cv, params.run.random_state))
    if not splits:
        raise InputError("cv is an empty list: pass (train rows, test rows) of at least one fold")
    for fold, (train, _) in enumerate(splits):
        _check_fold(fold, data.classes, data.y[train])
    for train, test in splits:
        fitted = _fit_fold(estimator, data, train, test)
        scores = fitted.predict_raw(data.select(data.X, test)).T.reshape(objective.n_outputs, -1)
        weight = None if data.weight is None else data.weight[test]
        values = evaluate(metrics, objective, Target(data.y[test], weight), np.ascontiguousarray(scores))
        folds.append(Fold(fitted, test, _predict(fitted, data.select(data.X, test)), values))
    return _gather(folds, metrics, len(data.y))


@dataclass(frozen=True, eq=False)
class CvData:
    """The data of cross-validation: the user's table, labels, targets as float64, classes, weights and groups."""

    X: Any
    labels: np.ndarray
    y: np.ndarray
    classes: np.ndarray | None
    weight: np.ndarray | None
    groups: np.ndarray | None

    @classmethod
    def read(cls, estimator: SapwoodEstimator, X: Any, y: Any, groups: Any, weight: Any) -> CvData:
        """Read and check the arguments of ``cv``."""
        n_rows = read_features(X)[1].n_rows
        target, classes = read_target(estimator.task, y, n_rows)
        labels = target if classes is None else classes[target.astype(np.intp)]
        return cls(X, labels, target, classes, check_weight(weight, n_rows), read_groups(groups, n_rows))

    @staticmethod
    def select(values: Any, rows: np.ndarray) -> Any:
        """Return some rows of a table or vector; None for None."""
        if values is None or isinstance(values, Dataset):
            return None if values is None else values[rows]
        return select_rows(values, rows)


@dataclass(frozen=True, eq=False)
class Fold:
    """A fitted estimator, its held-out rows, the predictions for them, and the metrics of these."""

    estimator: SapwoodEstimator
    rows: np.ndarray
    predictions: np.ndarray
    scores: dict[str, float]


def _split(data: CvData, cv: Any, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the training rows and the held-out rows of each fold, both ascending."""
    n_rows = len(data.y)
    if isinstance(cv, int | np.integer):
        if isinstance(cv, bool) or cv < 2:
            raise InputError(f"cv must be at least 2 folds, a splitter or a list of (train, test), got {cv!r}")
        strata = None if data.classes is None else data.y
        fold = fold_of_rows(int(cv), np.arange(n_rows, dtype=np.uint64), seed, strata, data.groups)
        for k in range(int(cv)):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        return
    is_list = isinstance(cv, Sequence) and not isinstance(cv, str) and all(isinstance(one, Sequence) for one in cv)
    if not (cv is None or hasattr(cv, "split") or is_list or isinstance(cv, Iterator)) or isinstance(cv, str):
        raise InputTypeError(f"cv must be a number of folds, a splitter or a list of (train, test), got {cv!r}")
    for number, pair in enumerate(check_cv(cv).split(np.zeros((n_rows, 1)), data.y, data.groups)):
        try:
            train, test = (np.sort(np.arange(n_rows)[part]) for part in pair)
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(
                f"cv: fold {number} must be (train rows, test rows), row numbers below {n_rows} or booleans: {error}"
            ) from error
        if len(train) == 0 or len(test) == 0:
            raise InputError(
                f"cv: fold {number} has {len(train)} training rows and {len(test)} test rows; both must have rows"
            )
        yield train, test


def _check_fold(fold: int, classes: np.ndarray | None, y: np.ndarray) -> None:
    if classes is None:
        return
    missing = np.setdiff1d(np.arange(len(classes)), y)
    if len(missing):
        label = classes.tolist()[int(missing[0])]
        raise InputError(f"fold {fold} holds out all rows of class {label!r}: use fewer folds, or drop this class")


def _fit_fold(estimator: SapwoodEstimator, data: CvData, train: np.ndarray, test: np.ndarray) -> SapwoodEstimator:
    select = data.select
    arguments = make_fit_arguments(
        estimator,
        select(data.X, train),
        data.labels[train],
        sample_weight=select(data.weight, train),
        groups=select(data.groups, train),
        held_out={HELD_OUT: (select(data.X, test), data.labels[test], select(data.weight, test))},
    )
    fitted = clone(estimator)
    result = fit(arguments)
    set_fitted_attributes(fitted, result)
    if result.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    return fitted


def _predict(estimator: SapwoodEstimator, X: Any) -> np.ndarray:
    """Return predictions, or the probability of each class for a classifier."""
    return estimator.predict_proba(X) if isinstance(estimator, SapwoodClassifier) else estimator.predict(X)


def _gather(folds: list[Fold], metrics: tuple[EvalMetric, ...], n_rows: int) -> CrossValidation:
    total = np.zeros((n_rows, *folds[0].predictions.shape[1:]))
    counts = np.zeros((n_rows, *[1] * (total.ndim - 1)))
    for fold in folds:
        total[fold.rows] += fold.predictions
        counts[fold.rows] += 1.0
    histories = [fold.estimator.evals_result_[HELD_OUT] for fold in folds]
    length = min(len(values) for history in histories for values in history.values())
    names = [metric.name for metric in metrics]
    history = {name: np.mean([one[name][:length] for one in histories], axis=0) for name in names}
    first = history[names[0]] * (-1.0 if metrics[0].greater_is_better else 1.0)
    return CrossValidation(
        predictions=np.divide(total, counts, out=np.full_like(total, np.nan), where=counts > 0.0),
        estimators=[fold.estimator for fold in folds],
        held_out=[fold.rows for fold in folds],
        scores={name: np.array([fold.scores[name] for fold in folds]) for name in names},
        history=history,
        best_iteration=int(np.argmin(first)) + 1,
    )
