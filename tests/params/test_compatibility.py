"""Incompatibilities: every rule can apply, none applies to the defaults, and all messages have the same form."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sapwood import LastRows, SapwoodClassifier, SapwoodRegressor
from sapwood.errors import InputError, ParameterError
from sapwood.params import compatibility_conditions as c
from sapwood.params.compatibility import RULES, check_compatibility, is_compatible
from sapwood.params.compatibility_conditions import Condition
from sapwood.params.declaration import FIELDS, Params
from sapwood.params.encodings import Ordered, Partition
from sapwood.params.fit_context import Context, DatasetConflict, InitModel
from sapwood.params.options import Bayesian, Bundle, Goss, Uniform

# Facts with which each condition holds; ``values`` are parameters, which count as set by the user.
HOLDS: dict[str, dict] = {
    "EXACT": {"values": {"split_search": "exact"}},
    "INTERVALS": {"values": {"intervals": 0.9}},
    "EFFORT": {"values": {"effort": "best"}},
    "RANDOM": {"values": {"split_search": "random"}},
    "FEATURE_WEIGHTS": {"values": {"feature_weights": [1.0]}},
    "ALL_COLUMNS": {},
    "SYMMETRIC": {"values": {"growth": "symmetric"}},
    "LINEAR": {"values": {"leaf_model": "linear"}},
    "ORDERED": {"values": {"boosting": "ordered"}},
    "FOREST": {"values": {"boosting": "forest"}},
    "NOT_ORDERED": {"values": {"boosting": "plain"}},
    "TREE_COMBINATIONS": {"values": {"tree_combinations": True}},
    "SINGLE_COLUMNS": {"values": {"max_combination": 1}},
    "ORDERED_SCORING": {"values": {"ordered_scoring": True}},
    "LEAF_STEPS": {"values": {"leaf_steps": 3}},
    "MAX_BINS": {"values": {"max_bins": 63}},
    "PACKED": {"values": {"precision": "packed"}},
    "BUNDLE": {"values": {"bundle": True}},
    "CONFLICTS": {"values": {"bundle": Bundle(0.1)}},
    "MIN_CHILD_SAMPLES": {"values": {"min_child_samples": 20}},
    "DEEP": {"values": {"max_depth": 20}},
    "MONOTONE_PARAMETER": {"values": {"monotone_constraints": [1]}},
    "MONOTONE_COLUMNS": {"has_monotone_columns": True},
    "LEARNING_RATE": {"values": {"learning_rate": 0.3}},
    "SAME_TREES": {"values": {"sampling": "none"}},
    "PARALLEL_TREES": {"values": {"parallel_trees": 4}},
    "SUBSAMPLE": {"values": {"subsample": 0.5}},
    "NO_SAMPLING": {"values": {"sampling": "none"}},
    "GOSS": {"values": {"sampling": Goss()}},
    "BAYESIAN": {"values": {"sampling": Bayesian()}},
    "OOB_SCORE": {"values": {"oob_score": True}},
    "OOB_FUNCTION": {"values": {"oob_score": max}},
    "BOOSTING": {},
    "NO_ROWS_LEFT_OUT": {},
    "BY_GROUPS": {"values": {"sampling": Uniform(by="groups")}},
    "BY_CLASSES": {"values": {"sampling": Uniform(by="classes")}},
    "SKETCH": {"values": {"sketch_outputs": 4}},
    "SCALAR_LEAVES": {"objective_name": "softmax", "vector_leaves": False, "n_outputs": 3},
    "VECTOR_LEAVES": {"objective_name": "softmax", "vector_leaves": True, "n_outputs": 3},
    "CLASS_SCORES": {"task": "multiclass", "n_classes": 3, "objective_name": "softmax"},
    "QUANTILE_LEAVES": {"objective_name": "absolute", "has_quantile_leaves": True},
    "CLASS_OBJECTIVE": {"objective_name": "softmax", "objective_tasks": frozenset({"multiclass"})},
    "NUMBER_OBJECTIVE": {"objective_name": "squared", "objective_tasks": frozenset({"regression"})},
    "BINARY_OBJECTIVE": {"objective_name": "hinge", "objective_tasks": frozenset({"binary"})},
    "OTHER_METRIC": {"metric_name": "auc", "metric_tasks": frozenset({"binary"})},
    "KNOWN_TASK": {"task": "regression"},
    "REGRESSION": {"task": "regression"},
    "CLASSIFICATION": {"task": "binary", "n_classes": 2},
    "MULTICLASS": {"task": "multiclass", "n_classes": 3},
    "PARTITION": {"encodings": (Partition(),)},
    "TWO_PARTITIONS": {"encodings": (Partition(), Partition(penalty=1.0))},
    "PERMUTATIONS": {"encodings": (Ordered(permutations=2),)},
    "STATISTIC_BINS": {"encodings": (Ordered(bins=16),)},
    "MONOTONE_CATEGORY": {"monotone_categories": ("'city'",)},
    "HAS_TIME": {"values": {"has_time": "day"}},
    "TIME_CATEGORY": {"time_category": "'day'"},
    "DATASET": {"is_dataset": True},
    "SPARSE_DATASET": {"is_dataset": True, "has_sparse_bins": True},
    "DATASET_SETTING": {"dataset_conflict": DatasetConflict("max_bins", 63, 255)},
    "OTHER_DATASET": {"dataset_conflict": DatasetConflict("max_bins", 63, 255)},
    "EVAL_SET": {"has_eval_set": True},
    "NO_EVAL_SET": {},
    "EVAL_WEIGHTS": {"has_eval_weights": True},
    "VALIDATION_FRACTION": {"values": {"validation_fraction": 0.2}},
    "LAST_ROWS": {"values": {"validation_fraction": LastRows()}},
    "GROUPS": {"has_groups": True},
    "NO_GROUPS": {"has_groups": False},
    "INIT": {"values": {"init": 1.0}},
    "INIT_TO_FIT": {"values": {"init": LinearRegression()}},
    "INIT_WITHOUT_PROBABILITIES": {"values": {"init": LinearRegression()}, "init_has_probabilities": False},
    "INIT_WITHOUT_WEIGHTS": {"values": {"init": LinearRegression()}, "init_takes_weights": False},
    "WEIGHTS": {"has_weights": True},
    "CLASSES": {"values": {"classes": ["a", "b"]}},
    "INIT_MODEL": {"init_model": InitModel(False, "", 1, 1)},
    "MODEL_ZEROS": {"init_model": InitModel(True, "", 1, 1)},
    "OTHER_ZEROS": {"init_model": InitModel(True, "", 1, 1)},
    "MODEL_OUTPUTS": {"init_model": InitModel(False, "log", 1, 1)},
    "OTHER_OUTPUTS": {"init_model": InitModel(False, "log", 1, 1)},
    "MODEL_LEAVES": {"init_model": InitModel(False, "", 1, 3)},
    "OTHER_LEAVES": {"init_model": InitModel(False, "", 1, 3)},
    "WITHOUT_LOSS": {"has_loss": False},
    "CROSSES": {"values": {"numeric_crosses": True}},
    "REPLAYED": {"values": {"refit": "replay"}},
    "CHECKPOINT": {"values": {"checkpoint": "file"}},
    "CROSS_VALIDATION": {"is_cross_validation": True},
    "DISTRIBUTED": {"distributed": "features"},
    "DISTRIBUTED_ROWS": {"distributed": "rows"},
    "DISTRIBUTED_FEATURES": {"distributed": "features"},
    "ROW_NUMBERS": {"has_row_numbers": True},
}
NAMED = {name: value for name, value in vars(c).items() if isinstance(value, Condition)}


def context_of(*facts: dict) -> Context:
    values = {name: value for one in facts for name, value in one.get("values", {}).items()}
    others = {name: value for one in facts for name, value in one.items() if name != "values"}
    return Context(values, frozenset(values), **others)


def rule_facts() -> list:
    name_of = {id(condition): name for name, condition in NAMED.items()}
    cases = []
    for rule in RULES:
        first, second = name_of[id(rule.first)], name_of[id(rule.second)]
        cases.append(pytest.param(rule, [HOLDS[first], HOLDS[second]], id=f"{first} x {second}"))
    return cases


def test_the_defaults_are_compatible():
    assert is_compatible(Context())
    assert is_compatible(Context(Params().values(), frozenset(FIELDS) - {"max_bins", "min_child_samples"}))


@pytest.mark.parametrize("name", NAMED)
def test_a_condition_holds_for_its_facts_and_belongs_to_a_rule(name):
    assert NAMED[name].holds(context_of(HOLDS[name]))
    assert any(NAMED[name] in (rule.first, rule.second) for rule in RULES)


@pytest.mark.parametrize("rule, facts", rule_facts())
def test_a_rule_applies_where_both_of_its_conditions_hold_and_says_so(rule, facts):
    context = context_of(*facts)
    assert rule.applies(context)
    message = rule.message(context)
    assert re.fullmatch(r".+ is not supported (with|without) .+: .+; .+\.", message)
    assert "{" not in message
    assert "`" not in message
    with pytest.raises((ParameterError, InputError), match="is not supported with"):
        check_compatibility(context)


def test_no_two_rules_are_about_the_same_two_conditions():
    pairs = [frozenset((rule.first.text, rule.second.text)) for rule in RULES]
    assert len(pairs) == len(set(pairs))


def test_values_that_the_user_did_not_set_may_be_ignored():
    symmetric = {"growth": "symmetric", "min_child_samples": 20, "learning_rate": 0.1, "boosting": "plain"}
    assert is_compatible(Context(symmetric, frozenset({"growth"})))
    assert not is_compatible(Context(symmetric, frozenset(symmetric)))


X, Y = np.arange(40.0).reshape(20, 2), np.arange(20.0) % 3


@pytest.mark.parametrize(
    "params, arguments, error, words",
    [
        ({"validation_fraction": LastRows(0.2)}, {"groups": Y}, InputError, "LastRows.* is not supported with groups"),
        ({"growth": "symmetric", "max_depth": 17}, {}, ParameterError, "max_depth=17 is not supported with growth"),
        ({"growth": "symmetric", "max_leaves": 2**17}, {}, ParameterError, "max_depth=17 is not supported"),
        ({"growth": "symmetric", "max_depth": 10**30}, {}, ParameterError, "use a max_depth of at most 16"),
        ({"growth": "symmetric", "min_child_samples": 2}, {}, ParameterError, "min_child_samples=2 is not supported"),
        ({"sampling": "goss", "subsample": 0.5}, {}, ParameterError, r"subsample=0\.5 is not .* sampling='goss'"),
        ({"monotone_constraints": [1, 0], "leaf_model": "linear"}, {}, ParameterError, "unset one of them"),
    ],
)
def test_a_fit_is_refused_before_it_begins(params, arguments, error, words, tmp_path):
    file = tmp_path / "checkpoint"
    with pytest.raises(error, match=words):
        SapwoodRegressor(checkpoint=file, **params).fit(X, Y, **arguments)
    assert not file.exists()


def test_classes_are_named_by_their_number():
    with pytest.raises(ParameterError, match="objective='focal' is not supported with 3 classes"):
        SapwoodClassifier(objective="focal").fit(X, Y)
