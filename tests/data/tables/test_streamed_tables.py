"""Lazy and streamed tables give the model and the predictions of the frame in memory."""

from __future__ import annotations

import logging

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from sapwood import Dataset, SapwoodRegressor
from sapwood.data.tables import streamed_tables
from sapwood.data.tables.streamed_tables import collect_table
from sapwood.errors import InputError, InputTypeError

pa = pytest.importorskip("pyarrow")
RNG = np.random.default_rng(0)
FRAME = pl.DataFrame({"x": RNG.integers(0, 9, 200), "c": RNG.choice(list("abc"), 200), "z": RNG.normal(size=200)})
ARROW = FRAME.to_arrow()
Y = FRAME["x"].to_numpy() + 3.0 * (FRAME["c"] == "b").to_numpy()
EXPECTED = SapwoodRegressor(n_estimators=5).fit(FRAME, Y)


class Stream:
    """Has nothing but the Arrow PyCapsule interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Interchange:
    """Has nothing but the data frame interchange protocol."""

    def __init__(self, table):
        self._table = table

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._table.__dataframe__(nan_as_null, allow_copy)


def arrow_dataset(folder):
    import pyarrow.dataset
    import pyarrow.parquet

    pyarrow.parquet.write_table(ARROW, folder / "part.parquet")
    return pyarrow.dataset.dataset(folder)


def relation(_):
    duckdb = pytest.importorskip("duckdb")
    connection = duckdb.connect()
    connection.register("rows", ARROW)
    return connection.sql("select * from rows")


TABLES = {
    "polars LazyFrame": lambda _: FRAME.lazy(),
    "narwhals LazyFrame": lambda _: nw.from_native(FRAME.lazy()),
    "Arrow stream": lambda _: Stream(ARROW),
    "Arrow stream of polars": lambda _: Stream(FRAME),
    "RecordBatchReader": lambda _: ARROW.to_reader(max_chunksize=64),
    "RecordBatch": lambda _: ARROW.combine_chunks().to_batches()[0],
    "Arrow dataset": arrow_dataset,
    "scanner": lambda folder: arrow_dataset(folder).scanner(),
    "DuckDB relation": relation,
    "interchange protocol": lambda _: Interchange(ARROW),
}


@pytest.mark.parametrize("name", TABLES)
def test_streamed_tables_train_and_predict_as_frames_do(name, tmp_path):
    fitted = SapwoodRegressor(n_estimators=5).fit(TABLES[name](tmp_path), Y)
    assert fitted.model_.fingerprint() == EXPECTED.model_.fingerprint()
    assert fitted.feature_names_in_.tolist() == ["x", "c", "z"]
    np.testing.assert_array_equal(fitted.predict(TABLES[name](tmp_path)), EXPECTED.predict(FRAME))
    np.testing.assert_array_equal(fitted.model_.predict(TABLES[name](tmp_path)), EXPECTED.predict(FRAME))


def test_streams_are_read_once_for_validation_sets_and_datasets():
    pair = (ARROW.to_reader(), Y)
    fitted = SapwoodRegressor(n_estimators=5).fit(Dataset(ARROW.to_reader()), Y, eval_set=pair)
    assert fitted.model_.fingerprint() == EXPECTED.model_.fingerprint()
    assert len(fitted.evals_result_["validation"]["rmse"]) == 5


def test_the_log_says_that_a_table_was_collected(caplog):
    with caplog.at_level(logging.INFO, logger="sapwood"):
        collect_table(FRAME.lazy())
    assert "X is a polars LazyFrame: collected into memory" in caplog.text


@pytest.mark.parametrize("X", [FRAME, ARROW, pd.DataFrame({"a": [1]}), np.ones((2, 2)), [[1.0]], None], ids=type)
def test_tables_in_memory_are_left_as_they_are(X):
    assert collect_table(X) is X


def test_a_single_column_is_not_a_table():
    for column in (ARROW["x"], FRAME["x"]):
        with pytest.raises(InputError, match="Expected 2D array"):
            SapwoodRegressor().fit(column, Y)


def test_without_a_library_that_reads_streams_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(streamed_tables, "_READERS", {streamed_tables.ARROW_STREAM: (("no_such_library", "table"),)})
    with pytest.raises(InputTypeError, match=r"Stream with __arrow_c_stream__, which needs pyarrow or polars: install"):
        collect_table(Stream(ARROW))
