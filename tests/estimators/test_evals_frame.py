"""The history of metrics as a data frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from sapwood import SapwoodRegressor
from sapwood.errors import InputError
from sapwood.estimators.evals_frame import make_evals_frame

X = pd.DataFrame({"a": np.arange(60.0), "b": np.tile([1.0, 2.0, 3.0], 20)})
Y = X["a"] % 5


def fitted(table):
    model = SapwoodRegressor(n_estimators=3, eval_metric=["rmse", "mae"])
    return model.fit(table, Y.to_numpy(), eval_set={"train": (table, Y.to_numpy()), "half": (table[:30], Y[:30])})


def test_it_has_a_row_per_round_set_and_metric():
    model = fitted(X)
    frame = model.evals_frame()
    assert isinstance(frame, pd.DataFrame) and list(frame.columns) == ["round", "set", "metric", "value"]
    assert len(frame) == 12
    found = frame[(frame["set"] == "half") & (frame["metric"] == "mae") & (frame["round"] == 2)]["value"].item()
    assert found == model.evals_result_["half"]["mae"][1]


def test_it_is_in_the_library_of_the_table():
    table = pl.DataFrame({name: X[name].to_numpy() for name in X})
    frame = fitted(table).evals_frame()
    assert frame.schema == {"round": pl.Int64, "set": pl.String, "metric": pl.String, "value": pl.Float64}
    assert isinstance(fitted(table).evals_frame("pandas"), pd.DataFrame)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_without_validation_sets_it_is_empty(library):
    frame = SapwoodRegressor(n_estimators=1).fit(X, Y).evals_frame(library)
    assert frame.shape == (0, 4)


def test_other_libraries_are_refused():
    with pytest.raises(InputError, match="allowed are pandas and polars"):
        make_evals_frame({}, "dask")
