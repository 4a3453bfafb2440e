"""Partitions of any kind become one table, in which no value has changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sapwood.distributed.partitions import Partition, describe_partition, join_partitions, make_partition
from sapwood.errors import InputTypeError


def join(*parts: Any) -> Any:
    return join_partitions([Partition(part, None) for part in parts]).X


def test_validation_rows_of_floats_stay_floats_beside_training_rows_of_integers() -> None:
    rows = np.array([[0.5], [np.nan]])
    joined = join_partitions([Partition(rows, None)], "int64").X
    assert joined.dtype == np.float64
    assert np.array_equal(joined, rows, equal_nan=True)
    assert join_partitions([Partition(np.array([[1]], np.int8), None)], "float32").X.dtype == np.float32
    assert join_partitions([Partition(np.array([["a"]]), None)], "float32").X.tolist() == [["a"]]


def test_lists_stay_lists_of_numbers_and_texts() -> None:
    assert join([[1, "a"]], [[2.5, "b"], [None, "c"]]) == [[1, "a"], [2.5, "b"], [None, "c"]]


def test_polars_partitions_get_types_that_hold_all_of_them() -> None:
    polars = pytest.importorskip("polars")
    joined = join(polars.DataFrame({"a": [1, 2]}), polars.DataFrame({"a": [0.5]}))
    assert joined["a"].to_list() == [1.0, 2.0, 0.5]
    assert join(polars.Series([1]), polars.Series([0.5])).to_list() == [1.0, 0.5]


def test_pyarrow_partitions_get_types_that_hold_all_of_them() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    joined = join(pyarrow.table({"a": [1, 2]}), pyarrow.record_batch({"a": pyarrow.array([0.5])}))
    assert joined.column("a").to_pylist() == [1.0, 2.0, 0.5]
    assert join(pyarrow.chunked_array([[1]]), pyarrow.array([0.5])).to_pylist() == [1.0, 0.5]


def test_categories_of_pandas_partitions_are_those_of_all() -> None:
    pandas = pytest.importorskip("pandas")
    first, second = (pandas.DataFrame({"n": [1], "a": pandas.Categorical([one])}) for one in "xy")
    joined = join(first, second, second[:0])
    assert joined["a"].tolist() == ["x", "y"]
    assert set(joined["a"].cat.categories) == {"x", "y"}
    assert set(join(first["a"], second["a"]).cat.categories) == {"x", "y"}
    numbers = pandas.DataFrame({"n": [2], "a": pandas.Categorical([3])})
    assert join(first, numbers)["a"].tolist() == ["x", 3]


def test_a_dict_of_columns_is_refused_with_what_to_pass() -> None:
    with pytest.raises(InputTypeError, match=r"partition 2 of X is a dict of columns: pass .* pandas"):
        make_partition(2, "", {"X": {"a": [1.0, 2.0]}, "y": [0.0, 1.0]})


def digest_of(X: Any) -> str | None:
    return describe_partition(Partition(X, np.zeros(3)), "here").digest


def test_a_digest_tells_apart_whatever_differs_and_nothing_else() -> None:
    rows = np.arange(3 * 50, dtype=np.float64).reshape(3, 50)
    whole = np.zeros(8 * rows.size + 1, np.uint8)
    unaligned = whole[1:].view(np.float64).reshape(rows.shape)
    unaligned[:] = rows
    assert not unaligned.flags.aligned
    assert digest_of(rows) == digest_of(np.asfortranarray(rows)) == digest_of(unaligned)
    last, first, signs = rows.copy(), rows.copy(), rows.copy()
    last[-1, -1] += 1.0
    first[0, 0] = -0.0
    signs[:, 2:] *= -1.0
    others = [last, first, signs, rows[:, ::-1], rows.reshape(3, 25, 2), rows.astype(np.int64), rows[:, :49]]
    assert len({digest_of(one) for one in [rows, *others]}) == 1 + len(others)


@pytest.mark.parametrize("value", [1.0, 0.0])
def test_a_digest_of_a_sparse_matrix_is_that_of_its_entries(value: float) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rows = sparse.random(3, 400, density=0.5, format="csr", random_state=0)
    changed = rows.copy()
    changed.data[17] = value
    assert digest_of(rows) == digest_of(rows.tocsc()) != digest_of(changed)


def test_objects_have_no_digest() -> None:
    assert digest_of(np.array([["a"], [None], [1]], dtype=object)) is None
