"""Tables of any kind, read as blocks of floats."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables import table as columns
from sapwood.data.tables.table import read_table
from sapwood.errors import InputError, InputTypeError


def floats_of(X) -> np.ndarray:
    """All of a table in one matrix."""
    return np.concatenate([matrix for _, matrix in read_table(X).contiguous_blocks()])


@pytest.fixture
def X() -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    X[::9, 1] = np.nan
    X[:, 3] = np.round(X[:, 3] * 3)
    return X


# --- the same numbers in every container ------------------------------------------------------------------------------

CONTAINERS = {
    "C order": lambda X: np.ascontiguousarray(X),
    "Fortran order": np.asfortranarray,
    "every other row of a larger array": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column of a larger array": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "rows backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "float64": lambda X: X.astype(np.float64),
    "longdouble": lambda X: X.astype(np.longdouble),
    "big endian": lambda X: X.astype(">f4"),
    "unaligned": lambda X: np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(np.float32).reshape(X.shape),
    "read-only": lambda X: np.lib.stride_tricks.as_strided(X, writeable=False),
    "objects": lambda X: X.astype(object),
    "masked": lambda X: np.ma.masked_invalid(X),
    "matrix": lambda X: X.view(np.matrix),
    "lists": lambda X: X.tolist(),
    "tuples with None": lambda X: tuple(tuple(None if v != v else v for v in row) for row in X.tolist()),
    "pandas": lambda X: pd.DataFrame(X, columns=list("abcd")),
    "pandas, one block per column": lambda X: pd.DataFrame({c: X[:, f].copy() for f, c in enumerate("abcd")}),
    "pandas nullable": lambda X: pd.DataFrame(X).astype("Float32"),
    "pandas Arrow": lambda X: pd.DataFrame(X).astype("float[pyarrow]"),
    "pandas objects": lambda X: pd.DataFrame(X).astype(object),
    "pandas sparse": lambda X: pd.DataFrame(X).astype(pd.SparseDtype(np.float32)),
    "polars": lambda X: pl.DataFrame(X),
    "polars with nulls": lambda X: pl.DataFrame(X).fill_nan(None),
    "Arrow": lambda X: pl.DataFrame(X).fill_nan(None).to_arrow(),
    "Arrow in chunks": lambda X: pa.concat_tables([pl.DataFrame(X[:70]).to_arrow(), pl.DataFrame(X[70:]).to_arrow()]),
    "Arrow batch": lambda X: pl.DataFrame(X).to_arrow().combine_chunks().to_batches()[0],
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_numbers(X, container, monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_ROWS", 64)  # several chunks
    np.testing.assert_array_equal(floats_of(CONTAINERS[container](X)), X)


@pytest.mark.parametrize("container", CONTAINERS)
def test_every_container_gives_the_same_bins(X, container, monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_ROWS", 64)
    expected = BinnedDataset.build(read_table(X), max_bins=16)
    found = BinnedDataset.build(read_table(CONTAINERS[container](X)), max_bins=16)
    np.testing.assert_array_equal(found.columns, expected.columns)
    np.testing.assert_array_equal(found.tiles, expected.tiles)
    for a, b in zip(found.bin_mapper.edges, expected.bin_mapper.edges, strict=True):
        np.testing.assert_array_equal(a, b)


# --- kinds of numbers -------------------------------------------------------------------------------------------------


# --- what cannot be read ----------------------------------------------------------------------------------------------

REFUSED = [
    (lambda: [["a", 1]], InputTypeError, "column 0, row 0 holds 'a', and .* categorical_features"),
    (lambda: [[1, 2.5], [3, "b"]], InputTypeError, "column 1, row 1 holds 'b'"),
    (lambda: np.array([["a"]]), InputTypeError, "column 0, row 0 holds 'a'"),
    (lambda: np.array([[b"a"]]), InputTypeError, "X holds bytes .* decode them"),
    (lambda: np.array([[1, {"foo": "bar"}]], dtype=object), InputTypeError, "argument must be .* string.* number"),
    (lambda: np.zeros((2, 2), complex), InputError, "Complex data not supported"),
    (lambda: np.array([[1j]], dtype=object), InputError, "Complex data not supported: column 0, row 0 holds 1j"),
    (lambda: np.zeros((2, 2), dtype="i4,i4"), InputTypeError, "which is not numeric"),
    (lambda: [[1, 2], [3]], InputError, "rows must be of one length"),
    (lambda: np.zeros(3), InputError, "Reshape your data"),
    (lambda: np.zeros((2, 2, 2)), InputError, "got 3D array"),
    (lambda: 5, InputError, "Expected 2D array"),
    (lambda: None, InputError, "Expected 2D array"),
    (lambda: np.zeros((0, 3)), InputError, r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required"),
    (lambda: np.zeros((3, 0)), InputError, r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required"),
    (lambda: pd.DataFrame(), InputError, r"0 sample\(s\)"),
    (lambda: pd.Series([1.0]), InputError, "Reshape your data"),
    (lambda: pl.Series([1.0]), InputError, "Reshape your data"),
    (
        lambda: pd.DataFrame({"city": ["Rome", None]}),
        InputTypeError,
        "column 'city' is of type String.* categorical_features",
    ),
    (lambda: pd.DataFrame({"c": pd.Categorical(["x", "y"])}), InputTypeError, "column 'c' is of type Categorical"),
    (lambda: pd.DataFrame({"a": [1, "x"]}), InputTypeError, "column 'a', row 1 holds 'x'"),
    (lambda: pd.DataFrame({"a": [1j]}), InputError, "Complex data not supported: column 'a'"),
    (lambda: pd.DataFrame({"a": pd.interval_range(0, 2)}), InputTypeError, "column 'a', row 0 holds Interval"),
    (lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]), InputError, "more than one column named 'a'"),
    (lambda: pd.DataFrame([[1, 2]], columns=["1", 1]), InputError, "more than one column named '1'"),
    (lambda: pa.table([[1], [2]], names=["a", "a"]), InputError, "more than one column named 'a'"),
    (lambda: pl.DataFrame({"a": [[1]]}), InputTypeError, "column 'a' is of type List.* drop it"),
    (lambda: pl.DataFrame({"a": [b"x"]}), InputTypeError, "column 'a' is of type Binary"),
    (lambda: pl.DataFrame({"a": ["x"]}, schema={"a": pl.Enum(["x"])}), InputTypeError, "column 'a' is of type Enum"),
]


@pytest.mark.parametrize(("make", "error", "message"), REFUSED)
def test_what_cannot_be_read_is_refused_by_name(make, error, message):
    with pytest.raises(error, match=message):
        floats_of(make())


def test_the_row_named_in_an_error_counts_from_the_first_chunk(monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_ROWS", 4)
    X = np.zeros((10, 2), dtype=object)
    X[9, 1] = "oops"
    with pytest.raises(InputTypeError, match="column 1, row 9 holds 'oops'"):
        floats_of(X)
    with pytest.raises(InputTypeError, match="column 'b', row 9 holds 'oops'"):
        floats_of(pd.DataFrame(X, columns=["a", "b"]))


# --- names ------------------------------------------------------------------------------------------------------------


def test_arrays_have_no_names():
    assert read_table(np.zeros((1, 2))).names is None


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", ["C order", "Fortran order", "every other row of a larger array", "read-only"])
def test_floats_are_read_where_they_are(X, container, dtype):
    array = CONTAINERS[container](X.astype(dtype))
    [block] = read_table(array).blocks()
    assert np.shares_memory(block.values, array)
    assert block.values.dtype == dtype


def test_one_row_repeated_by_broadcasting_is_read_where_it_is():
    X = np.broadcast_to(np.array([1.0, np.nan, 3.0]), (5, 3))
    [block] = read_table(X).blocks()
    assert block.row_stride == 0
    assert BinnedDataset.build(read_table(X)).columns.tolist() == [[1] * 5, [0] * 5, [1] * 5]


def test_a_float_array_in_C_order_is_one_block_for_prediction(X):
    [(start, block)] = read_table(X).contiguous_blocks(10)
    assert start == 0
    assert np.shares_memory(block, X)


@pytest.mark.parametrize(
    "container", ["Fortran order", "objects", "pandas", "polars", "every other row of a larger array"]
)
def test_other_tables_are_predicted_in_chunks(X, container):
    starts = []
    for start, block in read_table(CONTAINERS[container](X)).contiguous_blocks(64):
        starts.append(start)
        assert block.flags.c_contiguous
        assert len(block) <= 64
    assert starts == [0, 64, 128, 192]


def test_chunks_of_wide_tables_have_fewer_rows(monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_VALUES", 100)
    sizes = [block.n_rows for block in read_table(np.zeros((25, 10), dtype=np.int64)).blocks()]
    assert sizes == [10, 10, 5]


def test_taken_rows_are_gathered_in_chunks(X, monkeypatch):
    monkeypatch.setattr(columns, "CHUNK_ROWS", 64)
    rows = np.array([0, 5, 63, 64, 65, 150, 199])
    for container in ("C order", "Fortran order", "objects", "pandas"):
        table = read_table(CONTAINERS[container](X)).take(rows)
        assert table.n_rows == 7
        found = np.concatenate([matrix for _, matrix in table.contiguous_blocks()])
        np.testing.assert_array_equal(found, X[rows])


@pytest.mark.parametrize("container", ["C order", "objects", "pandas"])
def test_columns_are_selected_in_the_order_asked_for(X, container):
    for table in (read_table(CONTAINERS[container](X)), read_table(CONTAINERS[container](X)).take(np.arange(200))):
        found = np.concatenate([matrix for _, matrix in table.select([2, 0]).contiguous_blocks()])
        np.testing.assert_array_equal(found, X[:, [2, 0]])


def test_reading_arrays_imports_no_data_frame_library():
    script = (
        "import sys, numpy as np\n"
        "from sapwood.data.tables.table import read_table\n"
        "from sapwood.data.tables.schema import Schema\n"
        "list(Schema(2).align(read_table(np.zeros((3, 2), dtype=int))).contiguous_blocks())\n"
        "print([m for m in ('narwhals', 'pandas', 'polars', 'pyarrow', 'scipy', 'sklearn') if m in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
