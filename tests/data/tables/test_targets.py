"""Targets, weights and labels."""

from __future__ import annotations

import decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from sapwood.data.tables.targets import check_target, check_weight, encode_known_labels, encode_labels
from sapwood.errors import InputError, InputTypeError

# --- targets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "y",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3], dtype=np.int8),
        np.array([3, 2, 1])[::-1],
        np.array([[1], [2], [3]]),
        np.array([1, 2, 3], dtype=object),
        [decimal.Decimal(1), 2, 3.0],
        pd.Series([1, 2, 3], index=[7, 8, 9]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.DataFrame({"y": [1, 2, 3]}),
        pl.Series([1, 2, 3]),
        pl.DataFrame({"y": [1, 2, 3]}),
    ],
)
def test_a_target_of_any_kind_becomes_float64(y):
    found = check_target(y, 3)
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    assert found.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([1, np.nan, 2], InputError, "y must be finite: it contains NaN or infinity, row 1 has nan"),
        ([1, 2, -np.inf], InputError, "row 2 has -inf"),
        ([1, None, 2], InputError, "row 1 has nan"),
        (pd.Series([1, None, 2], dtype="Int64"), InputError, "row 1 has nan"),
        (np.ma.array([1.0, 2.0, 3.0], mask=[0, 0, 1]), InputError, "row 2 has .*nan"),
        ([1, "a", 2], InputTypeError, "y must hold numbers, row 1 has 'a'"),
        (["a", "b", "c"], InputTypeError, "y must hold numbers, row 0 has 'a'"),
        ([1j, 2, 3], InputError, "Complex data not supported"),
        ([1, 2], InputError, "inconsistent numbers of samples: X has 3 rows, y has 2"),
        (np.zeros((3, 2)), InputError, r"y should be a 1d array, got an array of shape \(3, 2\)"),
        ([[1], [2, 3], [4]], InputError, "y cannot be read"),
        (5, InputError, r"y should be a 1d array, got an array of shape \(\)"),
        (None, InputError, "y is None"),
        (scipy.sparse.csr_matrix([[1], [2], [3]]), InputTypeError, "y is a sparse matrix"),
    ],
)
def test_a_target_that_is_not_one_finite_number_per_row_is_refused(y, error, message):
    with pytest.raises(error, match=message):
        check_target(y, 3)


# --- weights ----------------------------------------------------------------------------------------------------------


def test_no_weights_stay_none():
    assert check_weight(None, 3) is None


def test_weights_become_float64():
    found = check_weight(pd.Series([0, 1, 2], dtype="int8"), 3)
    assert found.dtype == np.float64
    assert found.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, -0.5, 2], "sample_weight must not be negative, row 1 has -0.5"),
        ([1, np.nan, 2], "sample_weight must be finite.*row 1"),
        ([1, np.inf, 2], "sample_weight must be finite.*row 1"),
        ([0, 0, 0], "sample_weight is zero for every row"),
        ([1, 2], "X has 3 rows, sample_weight has 2"),
        (np.ones((3, 3)), "sample_weight should be a 1d array"),
    ],
)
def test_weights_that_make_no_sense_are_refused(weight, message):
    with pytest.raises(InputError, match=message):
        check_weight(weight, 3)


# --- labels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        (np.array(["b", "a", "b"]), ["a", "b"], [1, 0, 1]),
        (np.array(["b", "a", "b"], dtype=object), ["a", "b"], [1, 0, 1]),
        (pd.Series(["b", "a", "b"]), ["a", "b"], [1, 0, 1]),
        (pd.Series(["b", "a", "b"], dtype="category"), ["a", "b"], [1, 0, 1]),
        (pl.Series(["b", "a", "b"]), ["a", "b"], [1, 0, 1]),
        ([True, False, True], [False, True], [1, 0, 1]),
        ([3, -1, 7], [-1, 3, 7], [1, 0, 2]),
        ([2.0, 0.0, 2.0], [0.0, 2.0], [1, 0, 1]),
        (np.array([3, -1, 3], dtype=object), [-1, 3], [1, 0, 1]),
        (np.array([True, False, True], dtype=object), [False, True], [1, 0, 1]),
        (pd.Series([3, -1, 3], dtype="Int64"), [-1, 3], [1, 0, 1]),
        (pd.DataFrame({"y": [3, -1, 3]}), [-1, 3], [1, 0, 1]),
        ([2**53 + 1, 2**53, 2**53 + 1], [2**53, 2**53 + 1], [1, 0, 1]),
        ([4, 4, 4], [4], [0, 0, 0]),
        (np.ma.array([3, -1, 3]), [-1, 3], [1, 0, 1]),
        (np.array([1.0, 2, 1], dtype=object), [1, 2], [0, 1, 0]),
        (np.array([100, -100, 5], dtype=np.int8), [-100, 5, 100], [2, 0, 1]),
        (np.array([2**64 - 1, 2**64 - 3, 2**64 - 1], dtype=np.uint64), [2**64 - 3, 2**64 - 1], [1, 0, 1]),
        ([2**62, -(2**62), 0], [-(2**62), 0, 2**62], [2, 0, 1]),
    ],
)
def test_labels_of_any_one_kind_are_numbered_in_order(y, classes, codes):
    found, numbers = encode_labels(y, 3)
    assert found.tolist() == classes
    assert numbers.dtype == np.float64
    assert numbers.tolist() == codes
    assert encode_known_labels(y, 3, found).tolist() == codes


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([1, "a", 2], InputTypeError, r"y mixes labels of different kinds, number \(row 0: 1\), string \(row 1: 'a'\)"),
        ([True, "a", "b"], InputTypeError, "boolean .* string"),
        (["a", None, "b"], InputError, "row 1 has None"),
        (pd.Series(["a", None, "b"]), InputError, "row 1 has nan"),
        ([1.0, np.nan, 2.0], InputError, "row 1 has nan"),
        ([1.0, np.inf, 2.0], InputError, "row 1 has .*inf"),
        (np.ma.array([1, 2, 3], mask=[0, 1, 0]), InputError, "row 1 is masked"),
        (np.array([1, float("nan"), 2], dtype=object), InputError, "row 1 has nan"),
        (np.array([(1,), (2,), (3, 4)], dtype=object), InputTypeError, r"row 0 of y has the label \(1,\)"),
        ([1j, 2j, 3j], InputError, "Complex data not supported"),
        (["a", "b"], InputError, "X has 3 rows, y has 2"),
    ],
)
def test_labels_that_cannot_be_classes_are_refused(y, error, message):
    with pytest.raises(error, match=message):
        encode_labels(y, 3)


@pytest.mark.parametrize(
    ("classes", "y", "message"),
    [
        (["a", "b"], ["a", "c"], "row 1 of y has the label 'c', which is none of the classes 'a', 'b'"),
        (["a", "b"], [1, 2], "row 0 of y has the label 1, which is none of the classes 'a', 'b'"),
        ([0, 1], [0, 2], "row 1 of y has the label 2, which is none of the classes 0, 1"),
        ([0, 1], ["a", "b"], "row 0 of y has the label 'a', which is none of the classes 0, 1"),
        ([0, 2], [0, 1], "row 1 of y has the label 1, which is none of the classes 0, 2"),
        ([0, 2], [2.0, 0.5], "row 1 of y has the label .*0.5.*, which is none of the classes 0, 2"),
    ],
)
def test_a_label_that_training_did_not_see_is_named(classes, y, message):
    known, _ = encode_labels(classes, 2)
    with pytest.raises(InputError, match=message):
        encode_known_labels(y, 2, known)
