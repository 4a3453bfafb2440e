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


def test_ece_by_hand():
    """Bins of a fifth: 0.1 and 0.15 with targets 0 and 1, 0.9 with 1: |0.25 - 1| + |0.9 - 1| over three rows."""
    assert resolve_metric("ece@5")([0.0, 1.0, 1.0], [0.1, 0.15, 0.9]) == pytest.approx(0.85 / 3)


def test_ece_is_the_weighted_gap_of_scikit_learns_calibration_curve():
    from sklearn.calibration import calibration_curve

    random = np.random.default_rng(8)
    y, p = random.integers(0, 2, 500).astype(float), random.uniform(0.001, 0.999, 500)
    observed, predicted = calibration_curve(y, p, n_bins=10)
    share = np.bincount((p * 10).astype(int), minlength=10) / 500
    assert resolve_metric("ece")(y, p) == pytest.approx(np.sum(share * np.abs(observed - predicted)), rel=1e-12)


def test_ece_of_several_classes_is_that_of_the_likeliest():
    probability = np.array([[0.5, 0.25, 0.25], [0.0, 0.75, 0.25]])
    assert resolve_metric("ece@1")([0.0, 2.0], probability) == pytest.approx(abs(1.25 - 1) / 2)
