"""Prediction intervals: ranks, bounds and files."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import sapwood
from sapwood import SapwoodRegressor
from sapwood.distributed.row_order import RowOrder
from sapwood.errors import InputTypeError, ModelFileError, ParameterError
from sapwood.model.intervals import Intervals, excess_unit
from sapwood.model.io import serialize

RNG = np.random.default_rng(3)
X = RNG.normal(size=(600, 3))
Y = X[:, 0] + np.exp(0.5 * X[:, 1]) * RNG.normal(size=600)


@pytest.fixture(scope="module")
def model():
    return SapwoodRegressor(intervals=True, n_estimators=20).fit(X, Y).model_


def calibrate(y, bounds, min_unit=None):
    low, high = bounds.T
    excess = np.maximum(low - y, y - high) / excess_unit(low, high, min_unit)
    return Intervals.calibrate(None, excess, RowOrder.of(excess, np.arange(len(y), dtype=np.uint64)), min_unit)


class FixedBounds:
    """Stands for a model that predicts given bounds."""

    def __init__(self, bounds):
        self.bounds = np.array(bounds)

    def predict_raw(self, table, n_jobs=None):
        return self.bounds


def test_the_shift_is_an_order_statistic_of_the_excess():
    # 19 rows whose targets lie 1, 2, ..., 19 above the upper bound: 90 % is the rank 0.9 · 20 = 18.
    y, bounds = np.arange(1.0, 20.0), np.zeros((19, 2))
    intervals = calibrate(y, bounds)
    assert intervals.shift(0.9) == 18.0
    assert intervals.shift(0.5) == 10.0


def test_targets_inside_have_negative_excess():
    intervals = calibrate(np.zeros(9), np.tile([-2.0, 3.0], (9, 1)))
    assert intervals.shift(0.5) == -2.0


def test_excess_is_relative_to_half_the_width_of_each_interval():
    # Targets 1, 2 and 3 above intervals of half widths 2, 1 and 0.5, the last of which counts as 1: 0.5, 2 and 3.
    y, bounds = np.array([5.0, 3.0, 3.5]), np.array([[0.0, 4.0], [-1.0, 1.0], [-0.5, 0.5]])
    intervals = calibrate(y, bounds, min_unit=1.0)
    assert intervals.excess.tolist() == [0.5, 2.0, 3.0]


@pytest.mark.parametrize(
    ("min_unit", "widened"), [(None, [[-0.5, 4.5], [-0.5, 0.5]]), (1.0, [[-1.0, 5.0], [-0.5, 0.5]])]
)
def test_bounds_are_moved_by_units(min_unit, widened):
    intervals = Intervals(FixedBounds([[4.0, 0.0], [0.0, 0.0]]), np.array([0.5]), min_unit)
    assert intervals.predict(None, 0.5).tolist() == widened


def test_a_negative_shift_ends_at_the_middle():
    intervals = Intervals(FixedBounds([[0.0, 4.0], [0.0, 1.0]]), np.array([-0.75]), 1.0)
    assert intervals.predict(None, 0.5).tolist() == [[1.5, 2.5], [0.5, 0.5]]


def test_too_few_rows_for_a_coverage_give_infinite_intervals():
    assert calibrate(np.zeros(9), np.zeros((9, 2))).shift(0.95) == math.inf


def test_many_rows_are_kept_as_999_quantiles_that_are_exact_for_whole_permilles():
    y = RNG.permutation(np.arange(1.0, 10_000.0))
    intervals = calibrate(y, np.zeros((9_999, 2)))
    assert len(intervals.excess) == 999
    assert intervals.shift(0.9) == 9_000.0


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 90, "0.9", None, True])
def test_a_coverage_outside_0_and_1_is_refused(model, coverage):
    with pytest.raises(ParameterError, match="coverage must be a number between 0 and 1"):
        model.predict_interval(X, coverage)


def test_bounds_are_ordered_and_widen_with_the_coverage(model):
    narrow, wide = model.predict_interval(X, 0.02), model.predict_interval(X, 0.95)
    assert (narrow[:, 0] <= narrow[:, 1]).all()
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (wide[:, 1] >= narrow[:, 1]).all()


def test_a_file_holds_the_intervals(model, tmp_path):
    model.save(tmp_path / "model")
    loaded = sapwood.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_interval(X), model.predict_interval(X))
    assert loaded.fingerprint() == model.fingerprint() != replace(model, intervals=None).fingerprint()


def test_sums_of_models_have_no_intervals(model):
    with pytest.raises(ParameterError, match="train it with intervals=True"):
        (0.5 * model + 0.5 * model).predict_interval(X)


def test_files_of_intervals_without_units_are_read(model):
    plain = replace(model, intervals=replace(model.intervals, min_unit=None))
    data = serialize.to_bytes(plain)
    assert rb"version\":7" in data and rb"version\":8" in serialize.to_bytes(model)
    assert serialize.from_bytes(data).intervals.min_unit is None
    assert plain.fingerprint() != model.fingerprint()


@pytest.mark.parametrize("min_unit", [0.0, -1.0, math.inf, math.nan, "1", 1, True])
def test_a_file_with_a_wrong_unit_is_refused(model, min_unit):
    wrong = replace(model, intervals=replace(model.intervals, min_unit=min_unit))
    with pytest.raises((ModelFileError, InputTypeError)):
        serialize.from_bytes(serialize.to_bytes(wrong))


def test_a_file_whose_quantiles_do_not_fit_is_refused(model):
    wrong = replace(model.intervals, model=replace(model, intervals=None))
    with pytest.raises(ModelFileError, match="do not fit the model"):
        serialize.from_bytes(serialize.to_bytes(replace(model, intervals=wrong)))
    unsorted = replace(model.intervals, excess=np.array([2.0, 1.0]))
    with pytest.raises(ModelFileError, match="ascending"):
        serialize.from_bytes(serialize.to_bytes(replace(model, intervals=unsorted)))
