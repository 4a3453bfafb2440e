"""Names of parameters in other libraries: every error leads to the name to use."""

from __future__ import annotations

import pytest

from sapwood.params.aliases import ALIASES
from sapwood.params.declaration import FIELDS
from sapwood.params.resolve import unknown_parameter


@pytest.mark.parametrize(
    "wrong, right",
    [
        ("num_leaves", "max_leaves"),
        ("eta", "learning_rate"),
        ("lambda", "reg_lambda"),
        ("nthread", "n_jobs"),
        ("iterations", "n_estimators"),
        ("depth", "max_depth"),
        ("l2_leaf_reg", "reg_lambda"),
        ("min_data_in_leaf", "min_child_samples"),
        ("num_boost_round", "n_estimators"),
        ("gamma", "min_split_gain"),
        ("border_count", "max_bins"),
        ("max_leafs", "max_leaves"),
        ("lerning_rate", "learning_rate"),
        ("Max_Depth", "max_depth"),
    ],
)
def test_a_foreign_or_misspelt_name_gets_the_one_to_use(wrong, right):
    assert f"unknown parameter {wrong}: did you mean {right}?" in unknown_parameter(wrong)


def test_a_name_without_counterpart_says_so():
    assert unknown_parameter("use_missing").endswith(
        "Sapwood has no counterpart. Always on: splits learn a default direction."
    )


def test_a_name_like_nothing_lists_the_parameters():
    assert unknown_parameter("xyzzy").endswith("the parameters are " + ", ".join(sorted(FIELDS)))


def test_no_library_has_two_rows_for_one_name():
    names = [(row.library, name) for row in ALIASES for name in row.names]
    assert sorted(names) == sorted(set(names))


def test_every_counterpart_is_a_parameter():
    assert {alias.ours for alias in ALIASES} - {None} <= set(FIELDS)
