"""Targets, labels, weights, offsets and groups."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

from tests.inputs.input_cells import (
    LABELS,
    Cell,
    Error,
    N,
    X,
    Y,
    classifier,
    constant,
    fine,
    parameter_error,
    regressor,
    same_as_plain,
    spoilt,
    type_error,
    value_error,
)  # fmt: skip

LENGTH = ("X has 40 rows", "one value for each row")
ONE_D = ("should be a 1d array", "one value for each of the 40 rows")
FINITE = ("must be finite", "row 5")
TEXTS = np.where(LABELS, "yes", "no")


def fit(y: Any) -> np.ndarray:
    return regressor().fit(X, y).predict(X)


def fit_weighted(weight: Any) -> np.ndarray:
    return regressor().fit(X, Y, sample_weight=weight).predict(X)


def fit_from(init_score: Any) -> np.ndarray:
    return regressor().fit(X, Y, init_score=init_score).predict(X)


def fit_labels(y: Any) -> np.ndarray:
    fitted = classifier().fit(X, y)
    assert set(fitted.predict(X)) <= set(fitted.classes_)
    return fitted.predict_proba(X)


def fit_groups(groups: Any) -> np.ndarray:
    return regressor(early_stopping_rounds=2).fit(X, Y, groups=groups).predict(X)


def cells(what: str, call: Any, table: dict[str, Any], expected: Any = None) -> list[Cell]:
    """A cell for each entry: a value that is expected to do so, or a pair of value and expectation."""
    pairs = {name: (entry, expected) if expected else entry for name, entry in table.items()}
    return [Cell(f"{what}: {name}", lambda v=v: call(v), test) for name, (v, test) in pairs.items()]


TARGETS = {
    "a list": Y.tolist(),
    "long double": Y.astype(np.longdouble),
    "objects": Y.astype(object),
    "read-only, backwards": Y[::-1].copy()[::-1],
    "pandas": pd.Series(Y),
    "pandas Float64": pd.Series(Y, dtype="Float64"),
    "polars": pl.Series(Y),
    "Arrow": pa.array(Y),
}
ODD_TARGETS = {
    "all the same": (np.full(N, 7.0), constant),
    "booleans": (Y > 0, fine),
    "integers beyond 2**53": (np.arange(N) + 2**60, fine),
    "the largest allowed": (np.where(Y > 0, 1e37, -1e37), fine),
    "multiples of 1e-300": (Y * 1e-300, fine),
    "nothing": (None, value_error("requires y", "y is None")),
    "too short": (Y[:-1], value_error(*LENGTH, "y has 39")),
    "too long": (np.r_[Y, 1.0], value_error(*LENGTH, "y has 41")),
    "empty": ([], value_error(*LENGTH, "y has 0")),
    "two columns": (np.c_[Y, Y], value_error(*ONE_D, "(40, 2)")),
    "a row": (Y[None, :], value_error(*ONE_D, "(1, 40)")),
    "a number": (3.0, value_error(*ONE_D)),
    "a dict": ({"a": 1}, value_error(*ONE_D)),
    "a frame of two columns": (pd.DataFrame({"t": Y, "u": Y}), value_error(*ONE_D, "(40, 2)")),
    "of different lengths": ([[1.0], [2.0, 3.0]], value_error("cannot be read as one value per row")),
    "NaN": (spoilt(Y, np.nan), value_error(*FINITE, "nan", "drop the row or give it a value")),
    "infinite": (spoilt(Y, np.inf), value_error(*FINITE, "inf", "drop the row")),
    "None": (spoilt(Y, None), value_error(*FINITE, "nan", "drop the row")),
    "masked": (np.ma.array(Y, mask=np.arange(N) == 5), value_error(*FINITE, "drop the row")),
    "polars null": (pl.Series([*Y[:5], None, *Y[6:]]), value_error(*FINITE, "drop the row")),
    "beyond float32": (spoilt(Y, 1e300), value_error("'squared'", "row 5 is 1e+300", "±1e+37", "rescale")),
    "complex": (Y + 1j, value_error("Complex data not supported", "y is of type complex128")),
    "texts": (TEXTS, type_error("row 0", repr(str(TEXTS[0])), "SapwoodClassifier")),
    "one text": (spoilt(Y, "q"), type_error("row 5", "'q'", "SapwoodClassifier")),
    "dates": (np.arange(N).astype("M8[D]"), type_error("dates or times", "convert them to numbers")),
    "dates as objects": (spoilt(Y, datetime.date(2020, 1, 1)), type_error("row 5", "datetime.date(2020, 1, 1)")),
    "a dict as value": (spoilt(Y, {}), type_error("row 5", "{} of type dict", "convert it to a number")),
}
LABEL_CELLS: dict[str, tuple[Any, Any]] = {
    "numbers": (LABELS, fine),
    "floats": (LABELS.astype(float), fine),
    "negative": (np.where(LABELS, 1, -1), fine),
    "booleans": (LABELS > 0, fine),
    "texts": (TEXTS, fine),
    "empty texts": (np.where(LABELS, "", "b"), fine),
    "categories, one unused": (pd.Series(pd.Categorical(TEXTS, ["yes", "no", "so"])), fine),
    "polars categories": (pl.Series(TEXTS.tolist(), dtype=pl.Categorical), fine),
    "pandas strings": (pd.Series(TEXTS, dtype="string"), fine),
    "integers and floats": (np.array([1, 1.0, 2, 2.0] * 10, dtype=object), fine),
    "beyond 2**63": ([2**63, -1] * 20, type_error("row 0 of y", "9223372036854775808", "convert them to strings")),
    "measurements": (Y, value_error("Unknown label type: continuous", "row 0", "SapwoodRegressor")),
    "NaN": (spoilt(LABELS, np.nan), value_error(*FINITE, "give it a label")),
    "None": (spoilt(LABELS, None), value_error("row 5 has None", "give it a label")),
    "missing category": (pd.Series(["a", "b"] * 19 + ["a", None], dtype="category"), value_error("row 39", "label")),
    "missing boolean": (pd.Series([True, False] * 19 + [True, None], dtype="boolean"), value_error("row 39", "label")),
    "masked": (np.ma.array(LABELS, mask=np.arange(N) == 5), value_error("row 5 is masked", "give it a label")),
    "numbers and texts": (spoilt(LABELS, "q"), type_error("row 5: 'q'", "all to strings or all to numbers")),
    "numbers and booleans": (spoilt(LABELS, True), type_error("row 5: True", "all to strings or all to numbers")),
    "bytes": (np.where(LABELS, b"a", b"b"), type_error("row 0", "convert them to strings")),
    "dates": (
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)] * 20,
        type_error("row 0", "convert them to strings"),
    ),
    "NumPy dates": (LABELS.astype("M8[D]"), type_error("row 0", "convert them to strings")),
    "decimals": ([decimal.Decimal(1), decimal.Decimal(2)] * 20, type_error("row 0", "convert them to strings")),
    "one column per class": (np.eye(2)[LABELS], value_error(*ONE_D, "(40, 2)")),
    "complex": (LABELS + 1j, value_error("Complex data not supported")),
    "too short": (LABELS[:-1], value_error(*LENGTH)),
}
WEIGHTS: dict[str, tuple[Any, Any]] = {
    "a column": (np.ones((N, 1)), same_as_plain),
    "integers": (np.ones(N, int), same_as_plain),
    "truth values": (Y > 0, fine),
    "one row alone": (np.eye(N)[3], constant),
    "multiples of 1e-100": (np.full(N, 1e-100), constant),
    "too small": (
        spoilt(np.ones(N), 1e-300),
        value_error("1e-200 and 1e+70", "row 5 has 1e-300", "their mean"),
    ),
    "too large": (spoilt(np.ones(N), 1e300), value_error("between 1e-200 and 1e+70", "row 5 has 1e+300", "their mean")),
    "too short": (np.ones(N - 1), value_error("X has 40 rows", "sample_weight has 39", "one value for each row")),
    "two columns": (np.ones((N, 2)), value_error("sample_weight", *ONE_D)),
    "a number": (2.0, value_error("sample_weight", *ONE_D)),
    "NaN": (spoilt(np.ones(N), np.nan), value_error("sample_weight", *FINITE, "give it weight 0")),
    "infinite": (spoilt(np.ones(N), np.inf), value_error("sample_weight", *FINITE, "give it weight 0")),
    "None": (spoilt(np.ones(N), None), value_error("sample_weight", *FINITE, "give it weight 0")),
    "negative": (spoilt(np.ones(N), -1.0), value_error("sample_weight", "row 5 has -1.0", "give it weight 0")),
    "all zero": (np.zeros(N), value_error("zero for every row", "positive weight")),
    "texts": (["a"] * N, type_error("sample_weight", "row 0", "'a'", "give every row a number")),
    "dates": (np.arange(N).astype("M8[D]"), type_error("sample_weight", "dates or times")),
    "complex": (np.ones(N) + 0j, value_error("Complex data not supported", "sample_weight")),
}
OFFSETS: dict[str, tuple[Any, Any]] = {
    "zeros": (np.zeros(N), fine),
    "a column": (Y[:, None], fine),
    "pandas": (pd.Series(Y), fine),
    "too short": (Y[:-1], value_error("init_score has the shape (39,)", "(40,)")),
    "two columns": (np.c_[Y, Y], value_error("init_score has the shape (40, 2)", "(40,)")),
    "NaN": (spoilt(Y, np.nan), value_error("init_score must be finite", "row 5", "0 if there is none")),
    "masked": (np.ma.array(Y, mask=np.arange(N) == 5), value_error("init_score must be finite", "row 5")),
    "beyond float32": (spoilt(Y, 1e300), value_error("init_score", "±1e+37", "row 5 has [1e+300]")),
    "a text": ("zero", value_error("init_score has the shape ()", "(40,)")),
    "texts": (["a"] * N, type_error("init_score", "row 0 has 'a'", "give every row a number")),
    "complex": (Y + 1j, value_error("Complex data not supported", "init_score")),
    "dates": (np.arange(N).astype("M8[D]"), type_error("init_score", "dates or times")),
}
GROUPS: dict[str, tuple[Any, Any]] = {
    "texts": (["a", "b"] * 20, fine),
    "numbers and texts": (np.array(["a", 1] * 20, dtype=object), fine),
    "dates": (np.arange(N).astype("M8[D]"), fine),
    "one group": ([1] * N, value_error("only one", "pass eval_set")),
    "sizes": ([20, 20], value_error("X has 40 rows, groups has 2")),
    "NaN": (spoilt(LABELS, np.nan), value_error("row 5 has nan", "group of its own")),
    "None": (spoilt(LABELS, None), value_error("row 5 has None", "group of its own")),
    "lists": (pd.Series([[1]] * N), type_error("row 0 has [1] of type list", "strings or numbers")),
}
CLASS_WEIGHTS: dict[str, Error] = {
    "a word": parameter_error("class_weight must be 'balanced'", "got 'bogus'"),
    "NaN": parameter_error("class_weight of 0", "at least 0", "got nan"),
    "negative": parameter_error("class_weight of 0", "at least 0", "got -1"),
    "a class that is not there": parameter_error("a weight for the class 7", "the classes are 0, 1"),
    "a text for a weight": parameter_error("class_weight of 0", "got 'a'"),
    "all zero": value_error("leaves no row with a positive weight", "a weight above 0"),
    "too large": value_error("class_weight times sample_weight", "between 1e-200 and 1e+70"),
}
GIVEN = ["bogus", {0: np.nan}, {0: -1}, {7: 1.0}, {0: "a"}, {0: 0, 1: 0}, {0: 1e300}]

CELLS = [
    *cells("y", fit, TARGETS, same_as_plain),
    *cells("y", fit, ODD_TARGETS),
    *cells("labels", fit_labels, LABEL_CELLS),
    *cells("weight", fit_weighted, WEIGHTS),
    *cells("init_score", fit_from, OFFSETS),
    *cells("groups", fit_groups, GROUPS),
    *(
        Cell(f"class_weight: {name}", lambda given=given: classifier(class_weight=given).fit(X, LABELS), error)
        for given, (name, error) in zip(GIVEN, CLASS_WEIGHTS.items(), strict=True)
    ),
    Cell("y: sparse", lambda: regressor().fit(X, scipy.sparse.csr_array(Y)), type_error("sparse", "toarray()")),
]
