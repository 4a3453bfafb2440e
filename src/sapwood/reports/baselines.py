"""Predictions of simple models that a model is compared with: a constant and a linear model."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from sapwood.explain.fitted_model import REGRESSION
from sapwood.reports.evaluated_rows import EvaluatedRows

MAX_ROWS, MAX_VALUES = 10_000, 3_000_000
MAX_CATEGORIES = 20  # of a column, in the linear model
MIN_ROWS, FOLDS = 50, 5


class Baseline(NamedTuple):
    """Predictions of a simple model for some rows, and how it was trained."""

    name: str
    rows: np.ndarray
    prediction: np.ndarray
    note: str


def constant(rows: EvaluatedRows, train: EvaluatedRows | None) -> Baseline:
    """Return the mean target, or the frequencies of the classes, as the prediction of every row."""
    source = rows if train is None else train
    assert source.y is not None
    every = np.arange(rows.n_rows)
    where = "these rows" if train is None else "the training rows"
    if rows.fitted.task == REGRESSION:
        value = np.average(source.y, weights=source.weight)
        return Baseline("constant", every, np.full(rows.n_rows, value), f"the mean of {where}")
    n_classes = len(rows.fitted.class_names)
    counts = np.bincount(source.y.astype(np.intp), weights=source.weight, minlength=n_classes)
    frequency = np.maximum(counts / counts.sum(), 1e-12)
    note = f"the frequencies of the classes in {where}"
    return Baseline("constant", every, np.tile(frequency / frequency.sum(), (rows.n_rows, 1)), note)


def linear(rows: EvaluatedRows, train: EvaluatedRows | None) -> Baseline | None:
    """Return the predictions of a linear model, None if there are too few rows.

    It is trained on the training rows, or, without them, on the other folds of these rows.
    """
    assert rows.y is not None
    n_columns = len(rows.columns)
    limit = max(MIN_ROWS, min(MAX_ROWS, MAX_VALUES // max(n_columns, 1)))
    chosen = np.flatnonzero(np.isin(rows.sampled_rows, rows.sample(limit)))
    if len(chosen) < MIN_ROWS:
        return None
    y = rows.y[rows.sampled_rows[chosen]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged: a linear model of about this quality is enough
        if train is None:
            prediction = _cross_predict(rows, _features(rows, rows, chosen), y)
            note = f"cross-validated on {len(chosen):,} of these rows"
        else:
            assert train.y is not None
            used = np.flatnonzero(np.isin(train.sampled_rows, train.sample(limit)))
            target = train.y[train.sampled_rows[used]]
            if rows.fitted.task != REGRESSION and len(np.unique(target)) < 2:
                return None
            model = _make_model(rows).fit(_features(train, train, used), target)
            prediction = _predict(rows, model, _features(rows, train, chosen))
            note = f"trained on {len(used):,} of the training rows"
    if prediction is None:
        return None
    return Baseline("linear", rows.sampled_rows[chosen], prediction, note)


def _make_model(rows: EvaluatedRows):  # type: ignore[no-untyped-def]  # scikit-learn has no types
    from sklearn.linear_model import LogisticRegression, Ridge

    if rows.fitted.task == REGRESSION:
        return Ridge(alpha=1.0)
    return LogisticRegression(max_iter=100, tol=1e-3)


def _cross_predict(rows: EvaluatedRows, features: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Return the prediction of each row by a model of the other folds."""
    is_class = rows.fitted.task != REGRESSION
    prediction = np.empty((len(y), len(rows.fitted.class_names))) if is_class else np.empty(len(y))
    fold_of_row = np.random.default_rng(0).permutation(len(y)) % FOLDS
    for fold in range(FOLDS):
        test = fold_of_row == fold
        if is_class and len(np.unique(y[~test])) < 2:
            return None
        prediction[test] = _predict(rows, _make_model(rows).fit(features[~test], y[~test]), features[test])
    return prediction


def _predict(rows: EvaluatedRows, model, features: np.ndarray) -> np.ndarray:  # type: ignore[no-untyped-def]
    if rows.fitted.task == REGRESSION:
        return model.predict(features)
    probability = np.full((len(features), len(rows.fitted.class_names)), 1e-12)
    probability[:, model.classes_.astype(np.intp)] = model.predict_proba(features)
    return probability / probability.sum(axis=1, keepdims=True)


def _features(rows: EvaluatedRows, train: EvaluatedRows, chosen: np.ndarray) -> np.ndarray:
    """Return numbers, standardised and imputed as in ``train``, their missing values, and categories as 0 and 1."""
    parts = []
    for column, reference in zip(rows.columns, train.columns, strict=True):
        values = column.values[chosen]
        if column.categories is None:
            parts += _number_features(values, reference.values)
        else:
            parts += _category_features(np.array([*column.categories, ""], dtype=object)[values], reference)
    return np.column_stack(parts) if parts else np.zeros((len(chosen), 1))


def _number_features(values: np.ndarray, reference: np.ndarray) -> list[np.ndarray]:
    known = reference[np.isfinite(reference)]
    if not len(known):
        return []
    low, middle, high = np.quantile(known, [0.001, 0.5, 0.999])
    scale = float(np.std(np.clip(known, low, high))) or 1.0
    missing = np.isnan(values)
    number = (np.clip(np.where(missing, middle, values), low, high) - middle) / scale
    return [number, missing.astype(np.float64)] if np.isnan(reference).any() else [number]


def _category_features(names: np.ndarray, reference) -> list[np.ndarray]:  # type: ignore[no-untyped-def]
    codes = reference.values[reference.values >= 0]
    counts = np.bincount(codes, minlength=len(reference.categories))
    frequent = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
    return [(names == reference.categories[k]).astype(np.float64) for k in frequent if counts[k] > 0]
