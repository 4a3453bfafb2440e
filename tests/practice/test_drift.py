"""Telling two tables apart."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from sapwood.errors import InputError, ParameterError
from sapwood.practice.drift import auc_standard_error, drift_report


@pytest.fixture(scope="module")
def halves():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(800, 3)), columns=["a", "b", "c"])
    frame["city"] = rng.choice(["Lyon", "Oslo", "Turku"], 800)
    return frame[:400].reset_index(drop=True), frame[400:].reset_index(drop=True)


def test_two_samples_of_one_table_do_not_differ(halves):
    """U3: the interval covers 0.5."""
    report = drift_report(*halves)
    assert report.interval[0] <= 0.5 <= report.interval[1]
    assert not report.has_drift
    assert str(report).startswith("No difference was found. AUC of train against test: 0.")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_shifted_column_is_named(halves, library):
    """U3."""
    train, test = halves[0], halves[1].assign(b=halves[1]["b"] + 1.0)
    if library == "polars":
        train, test = pl.from_pandas(train), pl.from_pandas(test)
    report = drift_report(train, test)
    assert report.has_drift
    assert report.columns[0].name == "b"
    assert report.columns[0].auc == pytest.approx(0.76, abs=0.05)  # Phi(1 / sqrt 2)
    assert "b: " in str(report)


def test_a_category_that_became_rare_is_named(halves):
    test = halves[1].copy()
    test.loc[test["city"] == "Oslo", "city"] = "Turku"
    assert drift_report(halves[0], test).columns[0].name == "city"


def test_arrays_and_sparse_matrices_are_compared(halves):
    a, b = (half[["a", "b", "c"]].to_numpy() for half in halves)
    dense = drift_report(a, b + 1.0)
    assert drift_report(sparse.csr_matrix(a), sparse.csr_matrix(b + 1.0)).auc == dense.auc


def test_the_standard_error_by_hand():
    """Positives 1 and 3, negatives 0 and 2: V = (1/2, 1), W = (1, 1/2), both variances 1/8: root of 1/16 + 1/16."""
    y, scores = np.array([1, 1, 0, 0]), np.array([1.0, 3.0, 0.0, 2.0])
    assert auc_standard_error(y, scores) == pytest.approx(np.sqrt(0.125))


def test_tables_that_do_not_match_are_errors(halves):
    with pytest.raises(InputError, match="different columns"):
        drift_report(halves[0], halves[1].drop(columns="b"))
    with pytest.raises(InputError, match="pass two of one kind"):
        drift_report(halves[0], halves[1].to_numpy())
    with pytest.raises(InputError, match="5 folds need as many rows"):
        drift_report(halves[0], halves[1][:3])
    with pytest.raises(ParameterError, match="confidence must be above 0 and below 1"):
        drift_report(*halves, confidence=95)
