"""Metrics for classification by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.metrics.registry import resolve_metric


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.floats(0, 3)), min_size=2, max_size=30),
)
def test_auc_is_the_chance_that_a_positive_row_scores_higher(rows):
    """U1, by counting all pairs."""
    y, score, weight = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    won = total = 0.0
    for i in np.flatnonzero(y == 1):
        for j in np.flatnonzero(y == 0):
            total += weight[i] * weight[j]
            won += weight[i] * weight[j] * ((score[i] > score[j]) + 0.5 * (score[i] == score[j]))
    got = resolve_metric("auc")(y, score, weight)
    if total > 1e-12:
        assert got == pytest.approx(won / total, rel=1e-9)


def test_auc_of_infinite_scores_counts_their_ties():
    assert resolve_metric("auc")([1.0, 0.0], [math.inf, math.inf]) == 0.5


def test_auc_needs_both_classes():
    assert math.isnan(resolve_metric("auc")([1.0, 1.0], [0.1, 0.2]))


def test_log_loss_of_several_classes_by_hand():
    probabilities = np.array([[0.5, 0.25, 0.25], [0.1, 0.1, 0.8]])
    assert resolve_metric("log_loss")([1.0, 2.0], probabilities) == pytest.approx(-(math.log(0.25) + math.log(0.8)) / 2)


def test_log_loss_of_a_confident_error_is_finite():
    assert resolve_metric("log_loss")([1.0], [0.0]) == pytest.approx(52 * math.log(2))


def test_cross_entropy_by_hand():
    assert resolve_metric("cross_entropy")([0.25], [0.5]) == pytest.approx(math.log(2))


def test_accuracy_of_several_classes_takes_the_likeliest():
    probabilities = np.array([[0.5, 0.25, 0.25], [0.1, 0.8, 0.1]])
    assert resolve_metric("accuracy")([0.0, 2.0], probabilities) == 0.5


def test_brier_of_several_classes_sums_over_them():
    assert resolve_metric("brier")([0.0], np.array([[0.5, 0.25, 0.25]])) == pytest.approx(0.25 + 2 * 0.0625)
