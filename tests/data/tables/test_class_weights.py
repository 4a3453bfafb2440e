"""Weights of classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import EffectiveNumber, SapwoodClassifier
from sapwood.data.tables.class_weights import class_weights, effective_number_weights
from sapwood.errors import ParameterError

CLASSES = np.array(["a", "b", "c"])
CODES = np.repeat([0.0, 1.0, 2.0], [90, 9, 1])


def factors(spec, weight=None) -> np.ndarray:
    return class_weights(spec, CLASSES, CODES, weight)


def totals(spec) -> np.ndarray:
    return factors(spec) * [90, 9, 1]


def test_balanced_classes_have_the_same_total():
    assert np.allclose(totals("balanced"), 100 / 3)


@given(st.floats(0.0, 0.9999999))
def test_effective_numbers_follow_the_formula_and_keep_the_total(beta):
    """U2: the weight of class c is in proportion to (1 - beta) / (1 - beta^n_c), and the total is kept."""
    found = factors(EffectiveNumber(beta))
    expected = np.array([(1 - beta) / -np.expm1(n * np.log(beta)) if beta > 0 else 1.0 for n in (90, 9, 1)])
    assert np.allclose(found / found[0], expected / expected[0], rtol=1e-6)
    assert found @ [90, 9, 1] == pytest.approx(100.0)


def test_beta_zero_is_no_weight_and_beta_near_one_is_balanced():
    assert np.allclose(factors(EffectiveNumber(0.0)), 1.0)
    assert np.allclose(totals(EffectiveNumber(1 - 1e-12)), 100 / 3, rtol=1e-6)


def test_effective_by_name_is_that_of_the_default_beta():
    assert np.array_equal(factors("effective"), factors(EffectiveNumber()))


def test_rows_of_weight_two_count_twice():
    repeated = class_weights("effective", CLASSES, np.repeat(CODES, 2), None)
    assert np.allclose(factors("effective", np.full(100, 2.0)), repeated)


def test_a_class_without_weight_has_no_factor():
    assert effective_number_weights(np.array([5.0, 0.0]), 0.9)[1] == 0.0


@pytest.mark.parametrize("beta", [1.0, -0.1, float("nan")])
def test_beta_out_of_range_is_refused(beta):
    with pytest.raises(ParameterError, match="EffectiveNumber: beta must be a number of at least 0 and below 1"):
        EffectiveNumber(beta)


def test_rare_classes_become_more_probable():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 2))
    y = (X[:, 0] + random.normal(size=600) > 2.0).astype(int)
    share = [
        SapwoodClassifier(n_estimators=20, class_weight=spec).fit(X, y).predict_proba(X)[:, 1].mean()
        for spec in (None, EffectiveNumber(0.99), "balanced")
    ]
    assert share[0] < share[1] < share[2]


def test_the_spelling_of_others_is_answered_with_ours():
    with pytest.raises(TypeError, match=r"scale_pos_weight: did you mean class_weight=\{0: 1, 1: 3\}\?"):
        SapwoodClassifier(scale_pos_weight=3)


def test_a_fit_with_effective_numbers_is_one_with_the_weights_of_the_formula():
    """U2: 270 rows and 30 rows, beta = 0.99: weights in proportion to 1 / (1 - 0.99^270) and 1 / (1 - 0.99^30)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.repeat([0, 1], [270, 30])
    X[y == 1, 0] += 1.0
    weight = np.where(y == 0, 1.0 / (1.0 - 0.99**270), 1.0 / (1.0 - 0.99**30))
    weight *= 300.0 / weight.sum()
    settings = {"n_estimators": 20, "learning_rate": 0.1, "effort": "fast"}
    by_formula = SapwoodClassifier(**settings).fit(X, y, sample_weight=weight)
    by_name = SapwoodClassifier(class_weight=EffectiveNumber(0.99), **settings).fit(X, y)
    assert np.allclose(by_name.predict_proba(X), by_formula.predict_proba(X), atol=1e-5)


def test_larger_beta_finds_more_rows_of_a_rare_class():
    """U2: from no weight (0) to inverse frequency (near 1), more rare rows are found, and more are called rare."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 3))
    y = (X[:, 0] + rng.normal(size=4000) > 2.3).astype(int)
    train, test = slice(0, 2000), slice(2000, 4000)
    recalls, called = [], []
    for beta in (0.0, 0.99, 0.999999):
        model = SapwoodClassifier(class_weight=EffectiveNumber(beta), n_estimators=20, max_leaves=4, effort="fast")
        is_called = model.fit(X[train], y[train]).predict(X[test]) == 1
        recalls.append(is_called[y[test] == 1].mean())
        called.append(is_called.mean())
    assert recalls[0] + 0.1 < recalls[1] < recalls[2]
    assert called[0] < called[1] < called[2]
