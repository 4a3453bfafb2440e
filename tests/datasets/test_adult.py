"""The Adult table in every form."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.datasets import load_adult


def test_adult_has_the_official_split():
    adult = load_adult()
    assert (adult.train[0].shape, adult.test[0].shape) == ((32561, 14), (16281, 14))
    assert (int(adult.train[1].sum()), int(adult.test[1].sum())) == (7841, 3846)


def test_the_first_row_is_that_of_the_source():
    expected = [39, "State-gov", 77516, "Bachelors", 13, "Never-married", "Adm-clerical", "Not-in-family", "White"]
    expected += ["Male", 2174, 0, 40, "United-States"]
    assert load_adult(None).X[0].tolist() == expected
    assert list(load_adult("pandas").X.iloc[0]) == expected
    assert list(load_adult("polars").X.row(0)) == expected


def test_all_forms_have_the_same_values():
    array, pandas, polars = load_adult(None).X, load_adult("pandas").X, load_adult("polars").X
    missing = np.array([[value is None for value in row] for row in array])
    assert missing.sum() == 6465
    assert (pandas.isna().to_numpy() == missing).all()
    assert polars.null_count().sum_horizontal().item() == 6465
    rows = np.arange(0, 48842, 997)
    frame = pandas.iloc[rows].astype(object)
    assert frame.where(frame.notna(), None).to_numpy().tolist() == array[rows].tolist()
    assert [list(polars.row(row)) for row in rows.tolist()] == array[rows].tolist()


def test_numbers_alone_are_float32():
    adult = load_adult(None, numeric_only=True)
    assert (adult.X.shape, adult.X.dtype) == ((48842, 6), np.float32)
    assert adult.names == ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]


def test_another_kind_of_frame_is_refused():
    with pytest.raises(ValueError, match="'auto', 'pandas', 'polars' or None"):
        load_adult("dask")
