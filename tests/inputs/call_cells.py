"""Prediction, validation sets, Dataset, cv, model files and functions of the user's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse
from sklearn.linear_model import LinearRegression

import sapwood
from sapwood import Dataset, cv
from tests.inputs.frame_cells import FRAME
from tests.inputs.input_cells import (
    LABELS,
    Cell,
    N,
    X,
    Y,
    classifier,
    fine,
    parameter_error,
    regressor,
    same_as_plain,
    schema_error,
    type_error,
    value_error,
)

BY_ARRAY = regressor().fit(X, Y)
BY_FRAME = regressor().fit(FRAME, Y)
MODEL = BY_ARRAY.model_
OF_CLASSES = classifier().fit(X, LABELS)
DATASET = Dataset(X)
NAMES = "feature names should match"
NOT_A_SPLIT = "a number of folds, a splitter or a list of (train, test)"


def evals(given: Any, **more: Any) -> bool:
    return set(regressor().fit(X, Y, eval_set=given, **more).evals_result_) != set()


def true(result: Any) -> bool:
    return bool(result)


def measured_by(metric: Any) -> bool:
    return fine(regressor(eval_metric=metric).fit(X, Y, eval_set=(X, Y)).evals_result_["validation"].popitem()[1])


def stages(model: Any, table: Any) -> np.ndarray:
    return list(model.staged_predict(table))[-1]


PREDICTION: dict[str, tuple[Any, Any]] = {
    "columns in another order": (lambda: BY_FRAME.predict(FRAME[["c", "a", "b"]]), same_as_plain),
    "a frame of another library": (lambda: BY_FRAME.predict(pl.from_pandas(FRAME)), same_as_plain),
    "another float type": (lambda: BY_ARRAY.predict(X.astype(np.float32)), same_as_plain),
    "a list": (lambda: BY_ARRAY.predict(X.tolist()), same_as_plain),
    "stages": (lambda: stages(BY_ARRAY, X), same_as_plain),
    "one row": (lambda: BY_ARRAY.predict(X[:1]), fine),
    "a model given a frame": (lambda: MODEL.predict(FRAME), same_as_plain),
    "a model of a frame given an array": (lambda: BY_FRAME.model_.predict(X), same_as_plain),
    "a column missing": (lambda: BY_FRAME.predict(FRAME[["a", "b"]]), schema_error(NAMES, "now missing", "- c")),
    "a column added": (lambda: BY_FRAME.predict(FRAME.assign(z=1)), schema_error(NAMES, "unseen", "- z")),
    "a column renamed": (lambda: BY_FRAME.predict(FRAME.rename(columns={"a": "A"})), schema_error(NAMES, "- A", "- a")),
    "names that are numbers": (lambda: BY_FRAME.predict(pd.DataFrame(X)), schema_error(NAMES, "- 0", "- a")),
    "too few columns": (lambda: BY_ARRAY.predict(X[:, :2]), schema_error("X has 2 features", "expecting 3")),
    "too many columns": (lambda: MODEL.predict(np.c_[X, Y]), schema_error("X has 4 features", "expecting 3")),
    "leaves of too few columns": (lambda: BY_ARRAY.apply(X[:, :2]), schema_error("X has 2 features")),
    "scores of too few columns": (lambda: BY_ARRAY.predict_raw(X[:, :2]), schema_error("X has 2 features")),
    "stages of too few columns": (lambda: BY_ARRAY.staged_predict(X[:, :2]), schema_error("X has 2 features")),
    "one row as a vector": (lambda: BY_ARRAY.predict(X[0]), value_error("Expected 2D array", "reshape(1, -1)")),
    "nothing": (lambda: BY_ARRAY.predict(None), value_error("got NoneType")),
    "no rows": (lambda: BY_ARRAY.predict(X[:0]), lambda result: result.shape == (0,)),
    "complex": (lambda: BY_ARRAY.predict(X + 1j), value_error("Complex data not supported")),
    "sparse": (lambda: BY_ARRAY.predict(scipy.sparse.csr_matrix(X)), same_as_plain),
    "rounds as a NumPy integer": (lambda: BY_ARRAY.predict(X, iterations=np.int64(3)), same_as_plain),
    "more rounds than there are": (lambda: BY_ARRAY.predict(X, iterations=4), parameter_error("between 0 and 3", "4")),
    "rounds as a fraction": (lambda: BY_ARRAY.predict(X, iterations=1.5), parameter_error("between 0 and 3", "1.5")),
    "rounds as a text": (lambda: BY_ARRAY.predict(X, iterations="all"), parameter_error("between 0 and 3", "'all'")),
    "no threads": (lambda: MODEL.predict(X, n_jobs=0), parameter_error("n_jobs", "other than 0", "got 0")),
    "half a thread": (lambda: MODEL.predict(X, n_jobs=0.5), parameter_error("n_jobs", "got 0.5")),
    "a round of the model": (lambda: MODEL[3], parameter_error("a slice of rounds", "got 3")),
    "rounds backwards": (lambda: MODEL[::-1], parameter_error("a slice of rounds", "model[::2]")),
    "rounds by name": (lambda: MODEL["a":], parameter_error("integers", "model[:50]")),
    "a row too short": (lambda: MODEL.predictor().predict([1.0]), value_error("1 values", "3 features")),
    "a row of texts": (
        lambda: MODEL.predictor().predict(["a", "b", "c"]),
        type_error("holds the string 'a'", "pass a number"),
    ),
    "a row beyond floats": (lambda: MODEL.predictor().predict([10**400, 1, 1]), value_error("3 numbers")),
    "an importance that is not there": (lambda: BY_ARRAY.importance("x"), parameter_error("kind must be", "got 'x'")),
    "the path of a file as a number": (lambda: sapwood.load(3), type_error("a string or a Path", "got 3")),
    "no path": (lambda: BY_ARRAY.save(None), type_error("a string or a Path", "got None")),
}
EVAL_SETS: dict[str, tuple[Any, Any]] = {
    "a pair": (lambda: evals((X, Y)), true),
    "several pairs": (lambda: evals([(X, Y), (X[:1], Y[:1])]), true),
    "named pairs": (lambda: evals({"a": (X, Y)}), true),
    "a Dataset": (lambda: evals((DATASET, Y)), true),
    "a table alone": (lambda: evals(X), type_error("a pair (X, y)", "got ndarray")),
    "a text": (lambda: evals("validation"), type_error("a pair (X, y)", "got str")),
    "a list of tables": (lambda: evals([X, Y]), type_error("'validation_0'", "the tuple (X, y)", "got ndarray")),
    "None in a list": (lambda: evals([None]), type_error("'validation_0'", "got NoneType")),
    "two names alike": (lambda: evals({1: (X, Y), "1": (X, Y)}), value_error("not distinct")),
    "other columns": (lambda: evals((X[:, :2], Y)), schema_error("'validation'", "X has 2 features")),
    "a column missing": (
        lambda: regressor().fit(FRAME, Y, eval_set=(FRAME[["a"]], Y)),
        schema_error("'validation'", "- b", "- c"),
    ),
    "no rows": (lambda: evals((X[:0], Y[:0])), value_error("'validation'", "0 sample(s)")),
    "no target": (lambda: evals((X, None)), value_error("'validation'", "y is None", "40 rows")),
    "a target too short": (lambda: evals((X, Y[:-1])), value_error("'validation'", "y has 39")),
    "a target of NaN": (lambda: evals((X, Y * np.nan)), value_error("'validation'", "y must be finite", "row 0")),
    "an offset of NaN": (lambda: evals((X, Y, Y * np.nan)), value_error("'validation'", "init_score", "row 0")),
    "a label that is not there": (
        lambda: classifier().fit(X, LABELS, eval_set=(X, LABELS + 1)),
        value_error("'validation'", "row", "label 2", "0, 1"),
    ),
    "negative weights": (
        lambda: evals((X, Y), eval_sample_weight=-np.ones(N)),
        value_error("eval_sample_weight", "row 0 has -1.0"),
    ),
    "weights without sets": (lambda: evals(None, eval_sample_weight=Y), value_error("without eval_set")),
    "weights for another number of sets": (
        lambda: evals([(X, Y)], eval_sample_weight=[None, None]),
        value_error("a list of length 1"),
    ),
}
METRICS: dict[str, tuple[Any, Any]] = {
    "of one argument": (lambda: measured_by(lambda y: 1.0), parameter_error("2 argument(s)", "(y, prediction)")),
    "unknown": (lambda: measured_by("rsme"), parameter_error("'rsme' is not known", "did you mean 'rmse'")),
    "twice": (lambda: measured_by(["rmse", "rmse"]), parameter_error("two metrics named 'rmse'")),
    "an empty list": (lambda: measured_by([]), parameter_error("empty list", "name a metric")),
    "for classes": (lambda: measured_by("auc"), parameter_error("'auc', which measures binary, multiclass, is not")),
    "a number": (lambda: measured_by([3]), parameter_error("metric 3", "a name or a function")),
    "a callback without arguments": (
        lambda: regressor(callbacks=lambda: None).fit(X, Y),
        parameter_error("callbacks", "1 argument(s), (progress)"),
    ),
    "a callback that is none": (lambda: regressor(callbacks=[None]).fit(X, Y), parameter_error("callbacks must be")),
    "a loss of one argument": (lambda: regressor(objective=len).fit(X, Y), parameter_error("objective", "(y, score)")),
    "a loss without score": (lambda: regressor(objective=lambda y, f: y).fit(X, Y), parameter_error("the score")),
    "a loss that cannot be derived": (lambda: regressor(objective=int).fit(X, Y), parameter_error("GradientLoss")),
}
DATASETS: dict[str, tuple[Any, Any]] = {
    "of a Dataset": (lambda: regressor().fit(Dataset(Dataset(X)), Y).predict(X), same_as_plain),
    "to predict": (lambda: BY_ARRAY.predict(Dataset(X)), same_as_plain),
    "of nothing": (lambda: Dataset(None), value_error("got NoneType")),
    "one bin": (lambda: Dataset(X, max_bins=1), parameter_error("max_bins", "from 2 to 65535", "got 1")),
    "weights too short": (lambda: Dataset(X, sample_weight=[1.0]), value_error("sample_weight has 1")),
    "another number of bins": (lambda: regressor(max_bins=7).fit(DATASET, Y), parameter_error("max_bins=7", "255")),
    "rows beyond the end": (lambda: DATASET[[99]], value_error("40 rows", "[99]")),
    "rows by name": (lambda: DATASET["a"], value_error("40 rows", "'a'")),
    "no rows": (lambda: DATASET[[]], value_error("0 sample(s)")),
    "one row by number": (lambda: DATASET[1], parameter_error("dataset[[0, 2]]", "got 1")),
    "a mask too short": (lambda: DATASET[[True]], value_error("40 rows", "[True]")),
}
FOLDS: dict[str, tuple[Any, Any]] = {
    "of a pandas table": (lambda: fine(cv(regressor(), FRAME, pd.Series(Y), cv=2).predictions), true),
    "a mask": (lambda: len(cv(regressor(), X, Y, cv=[(Y > 0, Y <= 0)]).estimators) == 1, true),
    "another estimator": (lambda: cv(LinearRegression(), X, Y), type_error("LinearRegression", "cross_validate")),
    "one fold": (lambda: cv(regressor(), X, Y, cv=1), value_error("at least 2 folds", "got 1")),
    "True": (lambda: cv(regressor(), X, Y, cv=True), value_error("at least 2 folds", "got True")),
    "more folds than rows": (lambda: cv(regressor(), X, Y, cv=41), value_error("41 folds", "40 rows", "at most 40")),
    "a text": (lambda: cv(regressor(), X, Y, cv="five"), type_error(NOT_A_SPLIT, "got 'five'")),
    "a fraction": (lambda: cv(regressor(), X, Y, cv=2.5), type_error(NOT_A_SPLIT, "got 2.5")),
    "a list of numbers": (lambda: cv(regressor(), X, Y, cv=[1, 2]), type_error(NOT_A_SPLIT)),
    "an empty list": (lambda: cv(regressor(), X, Y, cv=[]), value_error("empty list", "at least one fold")),
    "rows beyond the end": (lambda: cv(regressor(), X, Y, cv=[([0, 1], [99])]), value_error("fold 0", "below 40")),
    "nothing to test": (lambda: cv(regressor(), X, Y, cv=[([0, 1], [])]), value_error("fold 0", "both must have rows")),
    "fewer groups than folds": (lambda: cv(regressor(), X, Y, groups=[1] * N), value_error("1 groups", "at most 1")),
    "a class too small": (
        lambda: cv(classifier(), X, np.arange(N) < 1),
        value_error("fold", "all rows of class True", "fewer folds"),
    ),
}
STARTS: dict[str, tuple[Any, Any]] = {
    "a model": (lambda: regressor().fit(X, Y, init_model=MODEL).predict(X), fine),
    "a model that is none": (lambda: regressor().fit(X, Y, init_model={}), type_error("init_model", "got dict")),
    "a model not fitted": (lambda: regressor().fit(X, Y, init_model=regressor()), type_error("a fitted estimator")),
    "a model of other columns": (
        lambda: regressor().fit(X[:, :2], Y, init_model=MODEL),
        schema_error("X has 2 features", "init_model"),
    ),
    "a model of classes": (
        lambda: regressor().fit(X, Y, init_model=OF_CLASSES),
        parameter_error("init_model", "objective"),
    ),
    "a constant of NaN": (lambda: regressor(init=np.nan).fit(X, Y), parameter_error("init must be", "got nan")),
    "a huge constant": (lambda: regressor(init=1e300).fit(X, Y), parameter_error("±1e+37", "got 1e+300")),
    "two constants": (lambda: regressor(init=[1, 2]).fit(X, Y), parameter_error("init must be", "got [1, 2]")),
    "an estimator's class": (lambda: regressor(init=LinearRegression).fit(X, Y), parameter_error("init must be")),
    "numbers for classes": (
        lambda: classifier(init=LinearRegression()).fit(X, LABELS),
        parameter_error("predict_proba", "classifier"),
    ),
}

TABLES = {
    "predict": PREDICTION,
    "eval_set": EVAL_SETS,
    "function": METRICS,
    "Dataset": DATASETS,
    "cv": FOLDS,
    "start": STARTS,
}
CELLS = [
    Cell(f"{what}: {name}", call, expected)
    for what, table in TABLES.items()
    for name, (call, expected) in table.items()
]
