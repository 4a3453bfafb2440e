"""Resolving parameters: user, preset, data and defaults, in this order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import ParameterError
from sapwood.params.declaration import FIELDS
from sapwood.params.encodings import crossing_of
from sapwood.params.presets import PRESETS
from sapwood.params.resolve import automatic_patience, resolve_params


def resolve(n_rows: int = 1000, task: str = "regression", **user):
    return resolve_params(user, n_rows, task)


def test_a_fast_fit_has_the_declared_defaults():
    params = resolve(effort="fast")
    assert params.boost.n_estimators == 100
    assert params.boost.learning_rate == 0.1
    assert params.tree.max_leaves == 31
    assert params.tree.max_depth is None
    assert params.tree.min_child_samples == 20
    assert params.tree.reg_lambda == 1.0
    assert params.binning.max_bins == 255


def test_auto_is_the_same_as_not_set():
    assert resolve(**dict.fromkeys(FIELDS, "auto")) == resolve()


@pytest.mark.parametrize("task, objective", [("regression", "squared"), ("classification", "logistic")])
def test_the_objective_follows_the_task(task, objective):
    assert resolve(task=task).task.objective == objective


def test_a_preset_fills_what_was_left_unset():
    params = resolve(preset="xgboost", learning_rate=0.05)
    assert (params.boost.learning_rate, params.tree.max_depth, params.tree.min_child_weight) == (0.05, 6, 1.0)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_within_the_declared_ranges(preset):
    assert resolve(preset=preset).task.preset == preset


@pytest.mark.parametrize(
    "limits, n_rows, expected",
    [
        ({"max_leaves": None, "max_depth": 6, "min_child_samples": 1}, 1000, 64),
        ({"max_leaves": None, "min_child_samples": 1}, 1000, 1000),
        ({"max_leaves": None, "min_child_samples": 20}, 1000, 50),
        ({"max_leaves": None, "max_depth": 10**30, "min_child_samples": 10**30}, 1000, 2),
        ({"max_leaves": 31, "max_depth": 3}, 1000, 8),
        ({"max_leaves": 31, "max_depth": 100}, 1000, 31),
        ({"max_leaves": 31, "min_child_samples": 1}, 5, 5),
        ({"max_leaves": 31}, 1, 2),
    ],
)
def test_the_leaf_limit_is_the_smallest_that_applies(limits, n_rows, expected):
    assert resolve(n_rows=n_rows, **limits).tree.max_leaves == expected


@pytest.mark.parametrize(
    "name, value, text",
    [
        ("max_leaves", 1, "max_leaves must be an integer of at least 2, or None (limited by max_depth only), got 1"),
        ("n_estimators", 0, "n_estimators must be an integer of at least 1, got 0"),
        ("n_estimators", 10.5, "n_estimators must be an integer of at least 1, got 10.5"),
        ("n_estimators", True, "n_estimators must be an integer of at least 1, got True"),
        (
            "max_bins",
            65536,
            "max_bins must be an integer from 2 to 65535, a list with one for each column, or a dict by column, got "
            "65536",
        ),
        ("max_delta_step", -1, "max_delta_step must be a number of at least 0, got -1"),
        ("reg_lambda", None, "reg_lambda must be a number of at least 0, got None"),
        ("reg_lambda", float("nan"), "reg_lambda must be a number of at least 0, got nan"),
        ("reg_alpha", float("inf"), "reg_alpha must be a number of at least 0, got inf"),
        ("precision", "double", "precision must be one of 'auto', 'packed', 'wide', got 'double'"),
        (
            "n_jobs",
            0,
            "n_jobs must be an integer other than 0, or None (as many as allowed), got 0; did you mean None?",
        ),
    ],
)
def test_a_value_out_of_range_is_refused_with_what_is_allowed(name, value, text):
    with pytest.raises(ParameterError) as caught:
        resolve(**{name: value})
    assert str(caught.value) == text


def test_numpy_scalars_become_plain_values():
    params = resolve(max_leaves=np.int64(7), learning_rate=np.float32(0.5))
    assert type(params.tree.max_leaves) is int
    assert type(params.boost.learning_rate) is float


def test_the_seed_is_an_integer_whatever_was_given():
    assert resolve(random_state=7).run.random_state == 7
    assert resolve(random_state=np.random.RandomState(3)) == resolve(random_state=np.random.RandomState(3))
    assert resolve(random_state=np.random.default_rng(3)) == resolve(random_state=np.random.default_rng(3))
    assert resolve(random_state=None).run.random_state != resolve(random_state=None).run.random_state


def test_an_unknown_name_is_refused():
    with pytest.raises(ParameterError, match="unknown parameter num_leaves: did you mean max_leaves"):
        resolve(num_leaves=31)


@pytest.mark.parametrize(
    "user, expected",
    [
        ({}, "none"),
        ({"subsample": 0.5}, "uniform"),
        ({"sampling": "uniform"}, "uniform"),
        ({"sampling": "none"}, "none"),
    ],
)
def test_rows_are_drawn_where_a_share_is_asked_for(user, expected):
    assert resolve(**user).boost.sampling == expected


def test_a_share_of_the_rows_without_drawing_is_refused():
    with pytest.raises(ParameterError, match=r"subsample=0\.5 is not supported with sampling='none'"):
        resolve(sampling="none", subsample=0.5)


def test_callbacks_become_a_tuple():
    assert resolve(callbacks=print).evaluation.callbacks == (print,)
    assert resolve(callbacks=[print, len]).evaluation.callbacks == (print, len)


def test_a_forest_with_the_catboost_preset_has_a_learning_rate_of_1():
    resolved = resolve_params({"preset": "catboost", "boosting": "forest"}, 1000, "regression")
    assert resolved.boost.learning_rate == 1.0


@pytest.mark.parametrize(
    ("task", "user", "fraction"),
    [
        ("classification", {}, 0.4),
        ("regression", {}, 0.8),
        ("classification", {"subsample": 0.7}, 0.7),
        ("classification", {"sampling": "uniform"}, 1.0),
    ],
)
def test_the_catboost_preset_samples_fewer_rows_of_two_classes(task, user, fraction):
    assert resolve_params({"preset": "catboost", **user}, 1000, task).boost.subsample == fraction


@pytest.mark.parametrize(
    ("n_rounds", "n_rows", "user", "permutations", "columns", "in_trees"),
    [
        (200, 10_000, {}, 1, 2, False),
        (201, 10_000, {}, 2, 4, True),
        (200, 9_999, {}, 2, 4, True),
        (100, 10_000, {"max_combination": 3}, 1, 3, False),
        (100, 10_000, {"tree_combinations": True}, 1, 2, True),
        (1000, 10_000, {"max_combination": 1}, 2, 1, False),
    ],
)
def test_the_catboost_preset_encodes_two_classes_by_rounds_and_rows(
    n_rounds, n_rows, user, permutations, columns, in_trees
):
    params = resolve_params({"preset": "catboost", "n_estimators": n_rounds, **user}, n_rows, "classification")
    assert params.categories.category_encoding.statistic.permutations == permutations
    assert crossing_of(params.categories.max_combination).columns == columns
    assert params.categories.tree_combinations is in_trees


@pytest.mark.parametrize(("n_rows", "patience"), [(50, 100), (1000, 85), (10_000, 60), (100_000, 35), (10**7, 20)])
def test_the_automatic_patience_falls_with_the_rows(n_rows, patience):
    """160 - 25 log10(n), between 20 and 100."""
    params = resolve_params({"early_stopping_rounds": True}, n_rows, "regression")
    assert params.evaluation.early_stopping_rounds == patience
    assert params.boost.n_estimators == 2000


@pytest.mark.parametrize("n_rows", [10, 10**3, 10**5])
def test_rounds_that_are_set_are_kept_with_automatic_patience(n_rows):
    params = resolve_params({"early_stopping_rounds": True, "n_estimators": 7}, n_rows, "regression")
    assert params.boost.n_estimators == 7


def test_false_is_no_early_stopping():
    params = resolve_params({"early_stopping_rounds": False, "effort": "fast"}, 1000, "regression")
    assert params.evaluation.early_stopping_rounds is None
    assert params.boost.n_estimators == 100


@given(st.integers(1, 10**9), st.integers(1, 10**9))
def test_more_rows_never_have_more_patience(n, m):
    assert automatic_patience(max(n, m)) <= automatic_patience(min(n, m))
