"""Metrics for regression by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.errors import InputError
from sapwood.metrics.registry import resolve_metric


def test_several_quantiles_are_averaged():
    prediction = np.array([[0.0, 2.0]])
    assert resolve_metric("quantile@0.1,0.9")([1.0], prediction) == pytest.approx((0.1 + 0.1) / 2)


def test_r2_of_equal_targets_follows_scikit_learn():
    assert resolve_metric("r2")([2.0, 2.0], [2.0, 2.0]) == 1.0
    assert resolve_metric("r2")([2.0, 2.0], [2.0, 3.0]) == 0.0


def test_a_deviance_names_the_row_it_cannot_measure():
    with pytest.raises(InputError, match="row 1"):
        resolve_metric("poisson_deviance")([1.0, 2.0], [1.0, -1.0])


def test_concordance_by_hand():
    """Pairs of different targets: (1, 2) ordered, (1, 3) tied, (2, 3) reversed."""
    assert resolve_metric("concordance")([1.0, 2.0, 3.0], [5.0, 7.0, 5.0]) == 0.5
    assert np.isnan(resolve_metric("concordance")([2.0, 2.0], [1.0, 3.0]))


def test_concordance_without_ties_follows_kendalls_tau():
    from scipy.stats import kendalltau

    random = np.random.default_rng(2)
    y, prediction = random.normal(size=(2, 200))
    tau = kendalltau(y, prediction).statistic
    assert resolve_metric("concordance")(y, prediction) == pytest.approx((1 + tau) / 2, rel=1e-12)


def test_the_median_error_lies_between_two_rows_of_half_the_weight():
    assert resolve_metric("medae")([0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 4.0, 8.0]) == 3.0
    assert resolve_metric("medae")([0.0, 0.0], [1.0, 2.0], np.array([1.0, 3.0])) == 2.0


def test_the_maximum_error_leaves_out_rows_without_weight():
    assert resolve_metric("max_error")([0.0, 0.0], [1.0, 2.0]) == 2.0
    assert resolve_metric("max_error")([0.0, 0.0], [1.0, 2.0], np.array([1.0, 0.0])) == 1.0


def test_robust_errors_by_hand():
    assert resolve_metric("huber@2")([0.0, 0.0], [1.0, 4.0]) == (0.5 + 2 * 3) / 2
    assert resolve_metric("pseudo_huber@2")([0.0], [2.0 * 3.0**0.5]) == pytest.approx(4.0)
    assert resolve_metric("expectile@0.9")([0.0, 0.0], [1.0, -1.0]) == pytest.approx((0.1 + 0.9) / 2)
    assert resolve_metric("smape")([1.0, 0.0], [3.0, 0.0]) == 0.5
