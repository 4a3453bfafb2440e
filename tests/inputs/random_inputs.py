"""Random tables, targets and parameters, most of them sound, some odd, some wrong."""

from __future__ import annotations

import datetime
import decimal
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from hypothesis import strategies as st

import sapwood
from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.objectives import Huber, Quantile, Softmax, Tweedie
from sapwood.params.declaration import FIELDS
from sapwood.params.options import Bundle, EffectiveNumber, LastRows, Symmetric

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 5e-324, 1e-310, 2.0**53, 1e37, 3.4e38]
JUNK = [
    None, -1, 0, 1, 2, 7, 0.5, 1.5, np.nan, np.inf, "auto", "none", "x", "", True, False, [], [1], [0, 1], {},
    {"c0": 1}, {0: 1},
    10**30, 1e308, 5e-324, np.int8(3), np.float32(0.25), np.array([1.0, 2.0]), object, b"x", 1j,
    ["c0"], [["c0", "c1"]], (1, -1),
]  # fmt: skip
VALID: dict[str, list[Any]] = {
    "preset": ["default", "gbdt", "xgboost", "lightgbm"],
    "objective": [
        "squared", "absolute", "logistic", "softmax", "poisson", "gamma", "one_vs_all", "msle", "mape", "hinge",
        Huber(0.5), Quantile([0.1, 0.9]), Tweedie(1.3), Softmax(vector_leaves=True), lambda y, f: (y - f) ** 2,
    ],
    "class_weight": ["balanced", "effective", EffectiveNumber(0.9), {0: 2.0}, {"a": 0.5}],
    "init": [0.0, 3.5],
    "max_bins": [2, 3, 7, 255, 256, 1000],
    "zero_as_missing": [True, False],
    "categorical_features": ["auto", None, ["c0"], [0], [True, False]],
    "category_encoding": ["one_hot", "frequency", "ordered", "leave_one_out", "holdout", "greedy", {"c0": "one_hot"}],
    "one_hot_max": [0, 2, 10],
    "has_time": [True, "c0"],
    "growth": ["leafwise", "levelwise", "symmetric", Symmetric("cosine")],
    "split_search": ["histogram", "exact"],
    "leaf_model": ["constant", "linear"],
    "max_combination": [1, 2, 3],
    "callbacks": [lambda progress: None, lambda progress: True],
    "max_leaves": [None, 2, 5, 31],
    "max_depth": [None, 1, 3, 20],
    "min_child_samples": [1, 2, 50],
    "min_child_weight": [0.0, 1.0, 1e300],
    "min_split_gain": [0.0, 1e-300, 0.1],
    "reg_lambda": [0.0, 1e-300, 10.0, 1e300],
    "reg_alpha": [0.5],
    "max_delta_step": [0.1],
    "colsample_bytree": [0.5], "colsample_bylevel": [0.5], "colsample_bynode": [1e-9],
    "monotone_constraints": [{0: 1}, [1], [1, -1], {"c0": -1}],
    "interaction_constraints": [[[0, 1]], [[0], [1]], [["c0"]]],
    "precision": ["packed", "wide"],
    "bundle": [True, False, Bundle(0.1)],
    "learning_rate": [1e-300, 0.3, 1.0, 10.0, 1e300],
    "boosting": ["plain", "dart", "forest"],
    "sampling": ["none", "uniform", "goss", "mvs", "bayesian"],
    "subsample": [0.5, 1e-9],
    "eval_metric": ["rmse", "log_loss", "auc", "accuracy", ["mae", "r2"], lambda y, p, w: float(len(y))],
    "early_stopping_rounds": [1, 3],
    "validation_fraction": [0.3, LastRows(0.5)],
    "refit": [True],
    "random_state": [0, None, 2**62],
    "n_jobs": [1, 2, -1],
}  # fmt: skip
NOT_DRAWN = {"n_estimators", "verbose", "time_limit", "checkpoint", "checkpoint_every"}
DRAWN = sorted(set(FIELDS) - NOT_DRAWN)


@dataclass
class Situation:
    """What a user does: a table, a target, parameters of the estimator, and other arguments of ``fit``."""

    X: Any
    y: Any
    n_rows: int
    params: dict[str, Any]
    given: dict[str, Any] = field(default_factory=dict)
    is_classifier: bool = False

    def fit(self) -> SapwoodRegressor | SapwoodClassifier:
        made = SapwoodClassifier if self.is_classifier else SapwoodRegressor
        X = sapwood.Dataset(self.X) if self.given.get("groups") is not None and len(self.params) == 1 else self.X
        return made(**{"n_estimators": 3, "min_child_samples": 2, **self.params}).fit(X, self.y, **self.given)

    def other_tables(self) -> list[Any]:
        """The table with a column less, more, in another order, as texts, as objects."""
        if isinstance(self.X, pd.DataFrame):
            frame = self.X
            return [
                frame.iloc[:, 1:],
                frame.iloc[:, ::-1],
                frame.assign(z=1.0),
                frame.astype(object),
                frame.astype(str),
            ]
        if isinstance(self.X, pl.DataFrame):  # whose columns may have no common type
            array = np.array(self.X.rows(), dtype=object).reshape(self.X.shape)
        else:
            array = np.asarray(self.X)
        return [array[:, 1:], array[:, ::-1], array.astype(object), array.astype(str), pd.DataFrame(array), array[:0]]


def one_in(n: int) -> st.SearchStrategy[bool]:
    return st.integers(0, n - 1).map(lambda k: k == 0)


def _values(kind: str, n: int, random: np.random.Generator) -> Any:
    """A column of one kind."""
    floats = np.round(random.normal(size=n), 1)
    if kind == "special":
        return np.where(random.uniform(size=n) < 0.5, random.choice(SPECIAL, n), floats)
    if kind == "missing":
        return np.where(random.uniform(size=n) < 0.5, np.nan, floats)
    if kind == "objects":
        odd = [None, 1, 2.5, True, pd.NA, decimal.Decimal("1.5"), datetime.date(2020, 1, 2), 10**30, "a", {}]
        return np.array([odd[k] for k in random.integers(0, len(odd) - random.integers(0, 3), n)], dtype=object)
    if kind == "texts":
        return np.array([["a", "b", "", "ü", "a"][k] for k in random.integers(0, 5, n)], dtype=object)
    if kind == "dates":
        return random.integers(-(10**6), 10**6, n).astype("M8[ms]")
    if kind == "constant":
        return np.full(n, random.choice(SPECIAL))
    return {
        "float64": floats, "float32": floats.astype(np.float32), "float16": floats.astype(np.float16),
        "int": random.integers(-3, 4, n), "int64": random.integers(-(2**62), 2**62, n),
        "uint64": random.integers(0, 2**64 - 1, n, dtype=np.uint64), "bool": floats > 0,
        "longdouble": floats.astype(np.longdouble),
    }[kind]  # fmt: skip


NUMERIC = [
    "float64",
    "float32",
    "float16",
    "int",
    "int64",
    "uint64",
    "bool",
    "special",
    "missing",
    "constant",
    "longdouble",
]
KINDS = [*NUMERIC, "objects", "texts", "dates"]


def _plain(values: np.ndarray) -> Any:
    return values.tolist() if values.dtype.kind == "O" else values


@st.composite
def tables(draw: Any, n: int) -> Any:
    """An array, list or data frame of 1 to 4 columns."""
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    kinds = draw(st.lists(st.sampled_from(KINDS if draw(one_in(3)) else NUMERIC), min_size=1, max_size=4))
    columns = {f"c{k}": _values(kind, n, random) for k, kind in enumerate(kinds)}
    container = draw(st.sampled_from(["array", "array", "list", "pandas", "pandas", "polars", "fortran", "float32"]))
    if container == "pandas":
        frame = pd.DataFrame(columns)
        if draw(one_in(4)):
            frame = frame.convert_dtypes()
        for name, kind in zip(columns, kinds, strict=True):
            if kind == "texts" and draw(st.booleans()):
                frame[name] = frame[name].astype("category")
        return frame
    if container == "polars" and not {"objects", "longdouble"} & set(kinds):
        return pl.DataFrame({name: pl.Series(name, _plain(values)) for name, values in columns.items()})
    try:
        array = np.column_stack(list(columns.values()))
    except TypeError:
        array = np.array([_plain(values.astype(object)) for values in columns.values()], dtype=object).T
    if container == "float32" and array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            return array.astype(np.float32)
    return {"list": array.tolist(), "fortran": np.asfortranarray(array)}.get(container, array)


@st.composite
def targets(draw: Any, n: int, is_classifier: bool) -> Any:
    """A target: mostly sound, sometimes of another length, shape or kind."""
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    if not draw(one_in(5)):
        if is_classifier:
            codes = np.arange(n) % draw(st.integers(2, 4))
            return random.permutation(draw(st.sampled_from([codes, codes > 0, np.array(["a", "b", "c", "d"])[codes]])))
        return draw(st.sampled_from([random.normal(size=n), random.poisson(1.0, n), random.gamma(1.0, size=n) + 0.1]))
    kind = draw(
        st.sampled_from(["float64", "int", "labels", "texts", "bool", "positive", *KINDS, "huge", "columns", "short"])
    )
    if kind == "labels":
        return random.integers(0, draw(st.integers(1, 5)), n)
    if kind == "positive":
        return random.gamma(1.0, size=n) * draw(st.sampled_from([1.0, 1e-300, 1e30]))
    if kind == "huge":
        return random.normal(size=n) * draw(st.sampled_from([1e36, 1e37, 1e300, 1e-300]))
    if kind == "columns":
        return random.normal(size=(n, draw(st.integers(0, 2))))
    if kind == "short":
        return random.normal(size=max(0, n - 1))
    values = _values(kind, n, random)
    wrap = draw(st.sampled_from([None, None, pd.Series, list]))
    return values if wrap is None else wrap(values)


@st.composite
def situations(draw: Any) -> Situation:
    """All of it together."""
    n = draw(st.sampled_from([1, 2, 3, 5, 8, 20, 40, 40, 60, 60]))
    is_classifier = draw(st.booleans())
    X, y = draw(tables(n)), draw(targets(n, is_classifier))
    names = draw(st.lists(st.sampled_from(DRAWN), max_size=6, unique=True))
    params = {}
    for name in names:
        if name == "class_weight" and not is_classifier:
            continue
        sound = VALID.get(name)
        params[name] = draw(st.sampled_from(JUNK if sound is None or draw(one_in(20)) else sound))
    return Situation(X, y, n, params, draw(arguments(X, y, n)), is_classifier)


@st.composite
def arguments(draw: Any, X: Any, y: Any, n: int) -> dict[str, Any]:
    """What else ``fit`` may be given."""
    given: dict[str, Any] = {}
    random = np.random.default_rng(n)
    if draw(one_in(4)):
        odd = [-np.ones(n), np.where(np.arange(n) % 2, 1e-100, 1e60), np.full(n, 1e200), [1.0], "x"]
        sound = [np.ones(n), random.gamma(0.1, size=n) + 1e-9, random.integers(0, 3, n) + (n < 9), np.full(n, 1e-180)]
        given["sample_weight"] = draw(st.sampled_from(odd if draw(one_in(5)) else sound))
    if draw(one_in(6)):
        sound = [(X, y), [(X, y), (X, y)], {"v": (X, y)}]
        given["eval_set"] = draw(st.sampled_from([(X, None), X, [], (X, y, np.zeros(n))] if draw(one_in(5)) else sound))
    if draw(one_in(8)):
        given["groups"] = draw(st.sampled_from([np.arange(n), ["a"] * n, [None] * n, np.arange(n) % 3]))
    if draw(one_in(10)):
        odd = [np.full(n, 1e30), np.full(n, np.nan), np.zeros((n, 2)), np.zeros((n, 3))]
        given["init_score"] = draw(st.sampled_from([np.zeros(n), *odd]))
    return given
