"""Bins per column: one number for all, a list, or a dict by column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from sapwood import Dataset, SapwoodRegressor
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.data.binning.max_bins import column_max_bins, derived_max_bins, largest_limit
from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import read_table
from sapwood.errors import ParameterError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(600, 3))
Y = X[:, 0] + X[:, 1] ** 2
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(city=RANDOM.choice(list("uvwxyz"), size=600))
FEW = {"n_estimators": 5, "min_child_samples": 5}


def thresholds(model: SapwoodRegressor) -> list[int]:
    """Return the number of thresholds that each column has in the trees."""
    ensemble = model.model_.ensemble
    return [len(np.unique(ensemble.threshold[ensemble.feature == f])) for f in range(3)]


def test_columns_are_binned_as_they_would_be_alone():
    limits = [7, 255, 300]
    found = BinMapper.fit(read_table(X), max_bins=limits)
    for f, limit in enumerate(limits):
        alone = BinMapper.fit(read_table(X[:, [f]]), max_bins=limit)
        assert np.array_equal(found.edges[f], alone.edges[0])
    assert found.n_bins.tolist() == [7, 255, 300]
    sparse = BinMapper.fit(read_table(scipy.sparse.csc_matrix(X)), max_bins=limits)
    assert all(np.array_equal(one, other) for one, other in zip(sparse.edges, found.edges, strict=True))


@pytest.mark.parametrize("spec", [[3, 255, 255], np.array([3, 255, 255]), {0: 3}, {"a": 3}], ids=str)
def test_lists_and_dicts_are_limits_by_column(spec):
    table = FRAME[["a", "b", "c"]]
    found = SapwoodRegressor(max_bins=spec, **FEW).fit(table, Y)
    assert thresholds(found)[0] == 2 and thresholds(found)[1] > 5
    expected = SapwoodRegressor(max_bins=[3, 255, 255], **FEW).fit(table, Y)
    assert found.model_.fingerprint() == expected.model_.fingerprint()
    assert found.params_["max_bins"] == [3, 255, 255]


def test_one_number_for_each_column_is_the_same_as_one_for_all():
    one, each = (SapwoodRegressor(max_bins=bins, **FEW).fit(X, Y) for bins in (31, [31, 31, 31]))
    assert one.model_.fingerprint() == each.model_.fingerprint()


def test_derived_features_have_the_limit_of_their_columns():
    assert derived_max_bins([3, 9, 5], [(0,), (1, 2), (2,)]) == [3, 9, 5]
    assert derived_max_bins(7, [(0,), (1, 2)]) == 7
    assert largest_limit([3, 9]) == 9
    for encoding in ("ordered", "partition", "one_hot"):
        model = SapwoodRegressor(max_bins={"city": 2, "a": 4}, category_encoding=encoding, **FEW).fit(FRAME, Y)
        assert np.isfinite(model.predict(FRAME)).all()


def test_a_dataset_has_its_limits():
    data = Dataset(FRAME[["a", "b", "c"]], max_bins={"a": 3})
    assert "at most 255 bins" in repr(data)
    fitted = SapwoodRegressor(**FEW).fit(data, Y)
    same = SapwoodRegressor(max_bins={"a": 3}, **FEW).fit(data, Y)
    direct = SapwoodRegressor(max_bins={"a": 3}, **FEW).fit(FRAME[["a", "b", "c"]], Y)
    assert fitted.model_.fingerprint() == same.model_.fingerprint() == direct.model_.fingerprint()
    with pytest.raises(ParameterError, match="a Dataset made with max_bins"):
        SapwoodRegressor(max_bins={"a": 4}, **FEW).fit(data, Y)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ([3, 255], "max_bins has 2 entries for 3 features"),
        ({"d": 3}, "max_bins"),
        ({"a": 1}, "max_bins of column 'a' must be an integer from 2 to 65535, got 1"),
        ({"a": 70_000}, "got 70000"),
        ({"a": 2.5}, "max_bins must be an integer from 2 to 65535, a list"),
        ("many", "max_bins must be"),
    ],
    ids=str,
)
def test_wrong_limits_are_named(spec, message):
    with pytest.raises(ParameterError, match=message):
        SapwoodRegressor(max_bins=spec, **FEW).fit(FRAME[["a", "b", "c"]], Y)


def test_the_limits_of_a_dict_by_number_and_name():
    schema = Schema(3, ("a", "b", "c"))
    assert column_max_bins({"b": 9, 2: 4}, schema) == [255, 9, 4]
    assert column_max_bins(63.0, schema) == 63
