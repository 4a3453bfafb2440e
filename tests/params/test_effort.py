"""Effort: when a fit is balanced, and what each level trains."""

from __future__ import annotations

import pytest

from sapwood.errors import ParameterError
from sapwood.params.declaration import FIELDS
from sapwood.params.effort import NEUTRAL, FitFacts, effort_plan, effort_values, is_effort, resolve_effort
from sapwood.params.resolve import resolve_params

SMALL, LARGE = FitFacts(1_000, 2, 3, False), FitFacts(10_000, 2, 3, False)


def test_a_fit_is_balanced_until_a_parameter_that_shapes_the_model_is_set():
    assert resolve_effort({}) == "balanced"
    assert resolve_effort({"random_state": 3, "n_jobs": 2, "categorical_features": [0]}) == "balanced"
    assert resolve_effort({"max_leaves": 15}) == "fast"
    assert resolve_effort({"preset": "default"}) == "fast"
    assert resolve_effort({"max_leaves": 15, "effort": "best"}) == "best"


def test_named_losses_are_balanced_and_losses_of_the_user_fast():
    assert resolve_effort({"objective": "poisson"}) == "balanced"
    assert resolve_effort({"objective": lambda y, score: y - score}) == "fast"


def test_neutral_parameters_are_parameters():
    assert FIELDS.keys() >= NEUTRAL


@pytest.mark.parametrize("value", ["fast", "balanced", "best", 30, 0.5])
def test_levels_and_seconds_are_efforts(value):
    assert is_effort(value)


@pytest.mark.parametrize("value", ["high", 0, -1.0, None, True, float("nan")])
def test_anything_else_is_refused(value):
    assert not is_effort(value)
    with pytest.raises(ParameterError, match="effort must be 'fast', 'balanced', 'best' or a number of seconds"):
        resolve_params({"effort": value}, 100, "regression")


def test_fast_has_the_declared_defaults():
    values = resolve_params({"effort": "fast"}, 10_000, "regression").values()
    assert (values["n_estimators"], values["early_stopping_rounds"], values["growth"]) == (100, None, "leafwise")
    assert effort_values("fast", 10_000, 2) == {}
    assert effort_plan("fast", LARGE) is None


def test_a_few_rows_train_one_model_with_the_declared_defaults():
    assert effort_plan("best", FitFacts(49, 2, 0, False)) is None
    assert resolve_params({}, 49, "regression").values()["n_estimators"] == 100


def test_parameters_of_the_user_precede_those_of_the_effort():
    values = resolve_params({"effort": "best", "n_estimators": 7}, 10_000, "regression").values()
    assert values["n_estimators"] == 7
    assert values["early_stopping_rounds"] is not None


def test_large_tables_are_validated_on_one_part_and_small_ones_on_several():
    assert effort_plan("balanced", LARGE).n_parts == 1
    assert effort_plan("balanced", SMALL).n_parts > 1
    assert effort_plan("best", LARGE).n_parts > 1
    assert effort_plan(20.0, LARGE) == effort_plan("best", LARGE)


def test_models_of_several_parts_are_replayed_on_all_rows_by_best():
    best, balanced = effort_plan("best", LARGE), effort_plan("balanced", SMALL)
    assert [one.values["refit"] for one in best.candidates] == ["replay", "replay"]
    assert (best.adds_refit, balanced.adds_refit) == (True, False)
    assert not effort_plan("best", FitFacts(10_000, 3, 0, False)).adds_refit  # a second training would take too long


def test_rows_in_the_order_of_time_have_one_part():
    assert effort_plan("best", FitFacts(10_000, 2, 0, True)).n_parts == 1


def test_seconds_limit_the_time():
    assert resolve_params({"effort": 20}, 10_000, "regression").values()["time_limit"] == 20.0


@pytest.mark.parametrize("n_classes, size", [(0, 2), (2, 4), (3, 2)])
def test_combinations_of_many_categorical_columns_are_not_searched(n_classes, size):
    few, many = (effort_plan("balanced", FitFacts(10_000, n_classes, n, False)).candidates for n in (3, 60))
    combined = [[candidate.values.get("max_combination", 1) for candidate in candidates] for candidates in (few, many)]
    assert max(combined[0]) == size
    assert max(combined[1]) == 1


def test_two_classes_and_categories_have_statistics_of_two_permutations():
    _, with_categories = effort_plan("balanced", FitFacts(10_000, 2, 1, False)).candidates
    _, numeric = effort_plan("balanced", FitFacts(10_000, 2, 0, False)).candidates
    assert with_categories.values["category_encoding"].statistic.permutations == 2
    assert with_categories.values["leaf_steps"] == 3
    assert "leaf_steps" not in numeric.values


def test_wide_dense_tables_have_fewer_bins_and_shallower_symmetric_trees():
    leafwise, symmetric = effort_plan("balanced", FitFacts(400, 2, 0, False, n_features=2_000)).candidates
    assert leafwise.values["max_bins"] == symmetric.values["max_bins"] == 31
    assert symmetric.values["max_depth"] == 4
    for facts in (FitFacts(400, 2, 0, False, n_features=500), FitFacts(400, 2, 0, False, 2_000, is_sparse=True)):
        leafwise, symmetric = effort_plan("balanced", facts).candidates
        assert "max_bins" not in leafwise.values | symmetric.values
        assert symmetric.values["max_depth"] == 6


def test_crosses_are_searched_only_where_there_is_a_loss():
    with_loss, without = (
        effort_plan("balanced", FitFacts(10_000, 2, 0, False, has_loss=has)).candidates for has in (True, False)
    )
    assert all(candidate.values["numeric_crosses"] for candidate in with_loss)
    assert not any(candidate.values["numeric_crosses"] for candidate in without)


def test_several_classes_are_searched_on_a_sketch_where_they_share_histograms():
    shared, apart = (
        effort_plan("balanced", FitFacts(10_000, 26, 0, False, shares_histograms=shares)).candidates
        for shares in (True, False)
    )
    assert [candidate.values["sketch_outputs"] for candidate in shared] == [4, 4]
    assert not any("sketch_outputs" in candidate.values for candidate in apart)
    assert all(candidate.values["refit"] == "replay" for candidate in shared + apart)


@pytest.mark.parametrize("n_classes, rate", [(0, 0.05), (2, 0.05), (3, 0.1), (10, 0.1), (15, 0.125), (40, 0.15)])
def test_the_rate_rises_with_the_number_of_classes(n_classes, rate):
    leafwise, _ = effort_plan("balanced", FitFacts(20_000, n_classes, 0, False)).candidates
    found = leafwise.values["learning_rate"]
    assert (found if n_classes == 2 else found.start) == pytest.approx(rate)


@pytest.mark.parametrize("n_rows, factor", [(1_000, 0.6), (5_000, 0.6), (10_000, 0.8), (15_000, 1.0), (90_000, 1.0)])
def test_the_rates_of_several_classes_rise_with_the_rows(n_rows, factor):
    leafwise, symmetric = effort_plan("balanced", FitFacts(n_rows, 5, 0, False)).candidates
    assert leafwise.values["learning_rate"].start == pytest.approx(0.1 * factor)
    assert symmetric.values["learning_rate"].start == pytest.approx(0.2 * factor)


@pytest.mark.parametrize("n_classes, rounds", [(0, 1_000), (3, 500), (10, 500), (15, 375), (26, 250)])
def test_rates_rise_in_the_course_of_a_fit(n_classes, rounds):
    for candidate in effort_plan("balanced", FitFacts(20_000, n_classes, 0, False)).candidates:
        rate = candidate.values["learning_rate"]
        factors = [rate(round) / rate(0) for round in (0, rounds // 5, rounds, 3 * rounds, 9 * rounds)]
        assert factors == pytest.approx([1.0, 1.2, 2.0, 4.0, 4.0])


@pytest.mark.parametrize("n_classes", [0, 2])
def test_symmetric_trees_are_replayed_and_leafwise_ones_trained_again(n_classes):
    leafwise, symmetric = effort_plan("balanced", FitFacts(20_000, n_classes, 0, False)).candidates
    assert "refit" not in leafwise.values
    assert symmetric.values["refit"] == "replay"


def test_small_improvements_end_training():
    number, binary, several = (
        resolve_params({}, 10_000, task, n).evaluation.early_stopping_rounds
        for task, n in (("regression", 0), ("classification", 2), ("classification", 5))
    )
    assert number.min_delta == 0.0 < number.min_relative_delta
    assert binary.min_delta > 0.0 == binary.min_relative_delta
    assert several.min_delta > 0.0 < several.min_relative_delta
