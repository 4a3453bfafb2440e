"""Interval scores, quantiles and shifts of bounds."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.boost.interval_calibration import CalibrationRows, balance_tails
from sapwood.distributed.workers import LOCAL


def rows_of(y, coverage=0.9):
    y = np.asarray(y, dtype=np.float64)
    return CalibrationRows(y, np.arange(len(y), dtype=np.uint64), coverage, LOCAL)


def test_the_interval_score_is_the_width_and_the_distance_outside():
    # Widths 2 and 4 with a coverage of 0.8: the second target lies 3 below, which costs 2 / 0.2 · 3 = 30.
    bounds = np.array([[0.0, 4.0], [2.0, 0.0]])
    assert rows_of([1.0, -3.0], 0.8).interval_score(bounds) == pytest.approx((2.0 + 4.0 + 30.0) / 2)


def test_quantiles_are_order_statistics_and_at_most_the_largest_value():
    rows = rows_of(np.zeros(19))
    values = np.arange(1.0, 20.0)
    assert rows.quantile(values, 0.9) == 18.0
    assert rows.quantile(values, 0.99) == 19.0


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_shifted_bounds_cover_the_targets(coverage):
    rng = np.random.default_rng(0)
    y = rng.normal(size=999)
    lower, upper = balance_tails(np.zeros((2, 999)), rows_of(y, coverage))
    assert np.mean((-lower <= y) & (y <= upper)) == pytest.approx(coverage, abs=0.002)


def test_symmetric_targets_have_equal_shifts_and_a_long_tail_has_more_rows_outside():
    normal = np.random.default_rng(1).normal(size=4_999)
    lower, upper = balance_tails(np.zeros((2, 9_998)), rows_of(np.concatenate([normal, -normal])))
    assert lower == pytest.approx(upper, rel=0.1)
    skewed = np.exp(normal)
    lower, upper = balance_tails(np.zeros((2, 4_999)), rows_of(skewed))
    assert np.mean(skewed < -lower) < 0.035
    assert np.mean(skewed > upper) > 0.065


def test_shifts_do_not_depend_on_the_order_of_the_rows():
    rng = np.random.default_rng(2)
    y, bounds, order = rng.exponential(size=500), np.sort(rng.normal(size=(2, 500)), axis=0), rng.permutation(500)
    assert balance_tails(bounds, rows_of(y)) == balance_tails(bounds[:, order], rows_of(y[order]))
