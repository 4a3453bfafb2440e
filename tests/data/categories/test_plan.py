"""Which columns are categorical, and how each is encoded."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood import Auto, Partition, SapwoodRegressor
from sapwood.data.categories.plan import PlanLimits, choose_encodings, find_categorical_columns
from sapwood.data.tables.table import read_table
from sapwood.errors import ParameterError

FRAME = pd.DataFrame({"a": ["x", "y"], "b": [1, 2], "c": [True, False]})


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("auto", (0,)),
        (None, ()),
        (["b"], (1,)),
        ([2, "a"], (0, 2)),
        ([True, False, True], (0, 2)),
        (np.array([1]), (1,)),
    ],
)
def test_categories_are_found_by_type_name_number_or_truth(spec, expected):
    assert find_categorical_columns(spec, read_table(FRAME)) == expected


@pytest.mark.parametrize(("spec", "message"), [(["d"], "no column 'd'"), ([3], "3 is neither"), ([True], "1 booleans")])
def test_a_category_that_is_not_there_is_refused(spec, message):
    with pytest.raises(ParameterError, match=message):
        find_categorical_columns(spec, read_table(FRAME))


@pytest.mark.parametrize(
    ("n_categories", "auto", "expected"),
    [
        (4, Auto(), "one_hot"),
        (64, Auto(), "partition"),
        (65, Auto(), "ordered"),
        (65, Auto(max_partition=100), "partition"),
        (10_000, Auto(max_partition=None), "partition"),
        (10, Auto(max_partition=0), "ordered"),
    ],
)
def test_auto_chooses_by_the_number_of_categories(n_categories, auto, expected):
    assert choose_encodings(n_categories, PlanLimits(4, True), auto).encodings[0].name == expected


def test_trees_that_cannot_partition_use_a_statistic():
    plan = choose_encodings(10, PlanLimits(4, False), Auto(max_partition=None))
    assert [encoding.name for encoding in plan.encodings] == ["ordered", "frequency"]


@pytest.mark.parametrize(
    ("settings", "expected"), [({}, ["partition"]), ({"growth": "symmetric"}, ["ordered", "frequency"])], ids=str
)
def test_the_lightgbm_preset_partitions_categories_as_lightgbm_does(settings, expected):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"city": random.integers(0, 300, 2000).astype(str)})
    fitted = SapwoodRegressor(preset="lightgbm", n_estimators=2, **settings).fit(X, random.normal(size=2000))
    assert fitted.model_.encodings["city"]["encoding"] == expected


def test_the_settings_of_auto_are_checked():
    with pytest.raises(ParameterError, match="partition must be a Partition"):
        Auto(partition="yes")
    with pytest.raises(ParameterError, match="max_partition"):
        Auto(max_partition=-1)
    assert Auto(partition=Partition(min_group_rows=7)).partition.min_group_rows == 7
