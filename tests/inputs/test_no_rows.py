"""Tables without rows are predicted as no rows, by every method and in every container."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LinearRegression

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, SchemaError

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"a": RNG.normal(size=200), "b": RNG.choice(list("xyz"), 200)})
ARRAY = RNG.normal(size=(200, 2))
MODELS = {
    "two classes": (SapwoodClassifier(n_estimators=2).fit(FRAME, np.where(FRAME["a"] > 0, "u", "v")), FRAME),
    "three classes": (SapwoodClassifier(n_estimators=2).fit(FRAME, FRAME["b"]), FRAME),
    "regression": (SapwoodRegressor(n_estimators=2).fit(FRAME, FRAME["a"]), FRAME),
    "array": (SapwoodRegressor(n_estimators=2).fit(ARRAY, ARRAY[:, 0]), ARRAY),
    "linear leaves": (SapwoodRegressor(n_estimators=2, leaf_model="linear").fit(ARRAY, ARRAY[:, 0]), ARRAY),
    "an estimator to start from": (
        SapwoodRegressor(n_estimators=2, init=LinearRegression()).fit(ARRAY, ARRAY[:, 0] ** 2), ARRAY,
    ),
}  # fmt: skip
METHODS = {
    "estimator": [
        "predict", "predict_proba", "predict_raw", "decision_function", "apply", "staged_predict",
        "staged_predict_proba",
    ],
    "model": [
        "predict", "predict_proba", "predict_response", "predict_raw", "leaf_indices", "staged_predict",
        "staged_predict_proba", "staged_predict_raw",
    ],
}  # fmt: skip


def containers(table) -> dict[str, object]:
    if isinstance(table, np.ndarray):
        return {
            "array": table[:0],
            "float32": table[:0].astype(np.float32),
            "sparse": sp.csr_matrix(table)[:0],
            "list": [],
        }
    frame = pl.from_pandas(table)[:0]
    return {"pandas": table[:0], "polars": frame, "arrow": frame.to_arrow(), "list": []}


@pytest.mark.parametrize("owner", METHODS)
@pytest.mark.parametrize("name", MODELS)
def test_no_rows_are_predicted_in_the_shape_and_type_of_some(name, owner):
    fitted, table = MODELS[name]
    one = fitted if owner == "estimator" else fitted.model_
    for method in METHODS[owner]:
        if ("proba" in method and fitted.model_.classes is None) or not hasattr(one, method):
            continue
        for kind, empty in containers(table).items():
            some, none = (getattr(one, method)(X) for X in (table, empty))
            if method.startswith("staged"):
                some, none = list(some)[-1], list(none)[-1]
            assert (none.shape, none.dtype) == ((0, *some.shape[1:]), some.dtype), (method, kind)


def test_columns_are_checked_without_rows_too():
    with pytest.raises(SchemaError, match="b"):
        MODELS["regression"][0].predict(FRAME[["a"]][:0])
    with pytest.raises(SchemaError, match="3 features"):
        MODELS["array"][0].predict(np.empty((0, 3)))


def test_no_rows_are_too_few_to_train_on():
    with pytest.raises(InputError, match=r"0 sample\(s\)"):
        SapwoodRegressor().fit(ARRAY[:0], [])
