"""Cross-validation with predictions for rows that the model has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import check_cv

from sapwood.boost.early_stopping import INTERRUPTED
from sapwood.boost.evaluation import EvalMetric, eval_metrics, evaluate
from sapwood.boost.labeled_rows import read_features
from sapwood.boost.learning_task import metric_task, objective_for, read_target
from sapwood.boost.target import Target
from sapwood.boost.train import fit
from sapwood.boost.validation_split import fold_of_rows
from sapwood.data.dataset import Dataset
from sapwood.data.tables.row_selection import select_rows
from sapwood.data.tables.targets import check_weight, read_groups
from sapwood.errors import InputError, InputTypeError
from sapwood.estimators.base import SapwoodEstimator, arguments_of, set_fitted
from sapwood.estimators.classifier import SapwoodClassifier
from sapwood.params.compatibility import check_compatibility
from sapwood.params.fit_context import Context
from sapwood.params.resolve import resolve_params

HELD_OUT = "held_out"


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What cross-validation brings.

    ``predictions`` are those of models that have not seen the row: (rows,) for numbers, probabilities (rows, classes)
    for classes; the mean where a row is held out more than once, NaN where it never is. ``estimators`` has the fitted
    estimator of each fold and ``held_out`` its rows. ``scores`` maps each metric to its value per fold, ``history`` to
    its mean over the folds after each round (as many as all folds have). ``best_iteration`` is the round at which the
    mean of the first metric is best.
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
    """Fit a clone of an estimator for each fold and measure it on the rows held out.

    ``cv`` is a number of folds (drawn by the estimator's ``random_state``, every class alike, ``groups`` whole), a
    splitter of scikit-learn's or a list of (train rows, test rows). Held-out rows take no part in training: bins are
    chosen on the other rows (unless ``X`` is a ``Dataset``, whose bins are used), and early stopping splits off some of
    those.
    """
    if not isinstance(estimator, SapwoodEstimator):
        raise InputTypeError(
            f"cv takes a SapwoodClassifier or SapwoodRegressor, got {type(estimator).__name__}: for other estimators "
            "and pipelines use sklearn.model_selection.cross_validate"
        )
    rows = Rows.read(estimator, X, y, groups, sample_weight)
    params = resolve_params(estimator.get_params(deep=False), len(rows.y), estimator.task)
    check_compatibility(Context(params.values(), is_cross_validation=True))
    objective = objective_for(params, rows.classes)
    measures = eval_metrics(params.evaluation.eval_metric, objective, metric_task(rows.classes))
    folds: list[Fold] = []
    splits = list(_split(rows, cv, params.run.random_state))
    if not splits:
        raise InputError("cv is an empty list: give (train rows, test rows) of at least one fold")
    for fold, (train, _) in enumerate(splits):
        _check_fold(fold, rows.classes, rows.y[train])
    for train, test in splits:
        fitted = _fit_fold(estimator, rows, train, test)
        scores = fitted.predict_raw(rows.part(rows.X, test)).T.reshape(objective.n_outputs, -1)
        weight = None if rows.weight is None else rows.weight[test]
        values = evaluate(measures, objective, Target(rows.y[test], weight), np.ascontiguousarray(scores))
        folds.append(Fold(fitted, test, _predict(fitted, rows.part(rows.X, test)), values))
    return _gather(folds, measures, len(rows.y))


@dataclass(frozen=True, eq=False)
class Rows:
    """All rows: the table as given, labels or numbers, targets as training sees them, weights, groups."""

    X: Any
    labels: np.ndarray
    y: np.ndarray
    classes: np.ndarray | None
    weight: np.ndarray | None
    groups: np.ndarray | None

    @classmethod
    def read(cls, estimator: SapwoodEstimator, X: Any, y: Any, groups: Any, weight: Any) -> Rows:
        """Check what was given."""
        n_rows = read_features(X)[1].n_rows
        target, classes = read_target(estimator.task, y, n_rows)
        labels = target if classes is None else classes[target.astype(np.intp)]
        return cls(X, labels, target, classes, check_weight(weight, n_rows), read_groups(groups, n_rows))

    @staticmethod
    def part(values: Any, rows: np.ndarray) -> Any:
        """Some rows of a table or vector; None stays None."""
        if values is None or isinstance(values, Dataset):
            return None if values is None else values[rows]
        return select_rows(values, rows)


@dataclass(frozen=True, eq=False)
class Fold:
    """A fitted estimator, the rows held out from it, what it answers for them, and how good that is."""

    estimator: SapwoodEstimator
    rows: np.ndarray
    answers: np.ndarray
    scores: dict[str, float]


def _split(rows: Rows, cv: Any, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The rows to train on and to hold out, fold by fold, both ascending."""
    n_rows = len(rows.y)
    if isinstance(cv, int | np.integer):
        if isinstance(cv, bool) or cv < 2:
            raise InputError(f"cv must be at least 2 folds, a splitter or a list of (train, test), got {cv!r}")
        strata = None if rows.classes is None else rows.y
        fold = fold_of_rows(int(cv), np.arange(n_rows, dtype=np.uint64), seed, strata, rows.groups)
        for k in range(int(cv)):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        return
    is_list = isinstance(cv, Sequence) and not isinstance(cv, str) and all(isinstance(one, Sequence) for one in cv)
    if not (cv is None or hasattr(cv, "split") or is_list or isinstance(cv, Iterator)) or isinstance(cv, str):
        raise InputTypeError(f"cv must be a number of folds, a splitter or a list of (train, test), got {cv!r}")
    for number, both in enumerate(check_cv(cv).split(np.zeros((n_rows, 1)), rows.y, rows.groups)):
        try:
            train, test = (np.sort(np.arange(n_rows)[part]) for part in both)
        except (TypeError, ValueError, IndexError) as error:
            raise InputError(
                f"cv: fold {number} must be (train rows, test rows), numbers below {n_rows} or truth values: {error}"
            ) from error
        if len(train) == 0 or len(test) == 0:
            raise InputError(
                f"cv: fold {number} has {len(train)} rows to train on and {len(test)} to test, and needs both"
            )
        yield train, test


def _check_fold(fold: int, classes: np.ndarray | None, y: np.ndarray) -> None:
    if classes is None:
        return
    missing = np.setdiff1d(np.arange(len(classes)), y)
    if len(missing):
        label = classes.tolist()[int(missing[0])]
        raise InputError(
            f"fold {fold} holds out every row of class {label!r}: use fewer folds, or drop a class with so few rows"
        )


def _fit_fold(estimator: SapwoodEstimator, rows: Rows, train: np.ndarray, test: np.ndarray) -> SapwoodEstimator:
    part = rows.part
    arguments = arguments_of(
        estimator,
        part(rows.X, train),
        rows.labels[train],
        sample_weight=part(rows.weight, train),
        groups=part(rows.groups, train),
        held_out={HELD_OUT: (part(rows.X, test), rows.labels[test], part(rows.weight, test))},
    )
    fitted = clone(estimator)
    set_fitted(fitted, fit(arguments))
    if fitted.stopped_ == INTERRUPTED:
        raise KeyboardInterrupt
    return fitted


def _predict(estimator: SapwoodEstimator, X: Any) -> np.ndarray:
    """Predict numbers, or the probability of each class."""
    return estimator.predict_proba(X) if isinstance(estimator, SapwoodClassifier) else estimator.predict(X)


def _gather(folds: list[Fold], measures: tuple[EvalMetric, ...], n_rows: int) -> CrossValidation:
    total = np.zeros((n_rows, *folds[0].answers.shape[1:]))
    times = np.zeros((n_rows, *[1] * (total.ndim - 1)))
    for fold in folds:
        total[fold.rows] += fold.answers
        times[fold.rows] += 1.0
    histories = [fold.estimator.evals_result_[HELD_OUT] for fold in folds]
    length = min(len(values) for history in histories for values in history.values())
    names = [measure.name for measure in measures]
    history = {name: np.mean([one[name][:length] for one in histories], axis=0) for name in names}
    first = history[names[0]] * (-1.0 if measures[0].greater_is_better else 1.0)
    return CrossValidation(
        predictions=np.divide(total, times, out=np.full_like(total, np.nan), where=times > 0.0),
        estimators=[fold.estimator for fold in folds],
        held_out=[fold.rows for fold in folds],
        scores={name: np.array([fold.scores[name] for fold in folds]) for name in names},
        history=history,
        best_iteration=int(np.argmin(first)) + 1,
    )
