"""The best split of a histogram, against every split tried with fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from sapwood.kernels import layout
from sapwood.kernels.layout import CANDIDATE_BIN, CANDIDATE_MISSING_LEFT, CANDIDATE_SUMS
from sapwood.kernels.numeric import fixed_point
from sapwood.kernels.split import numeric as split_numeric
from sapwood.kernels.split.cumulative_sums import PADDING
from tests.guarded import Guards
from tests.reference.grower import CLOSE, TooCloseError

UNIT_G, UNIT_H = 2.0**10, 2.0**12
ANY_BIN = 1 << 40
NO_LIMITS = np.array([1, ANY_BIN, 1, ANY_BIN])


def make_params(**chosen) -> layout.GrowParams:
    return layout.GrowParams(**dict.fromkeys(layout.GrowParams._fields, 0) | {"min_child_samples": 1} | chosen)


@dataclass
class Scan:
    """A histogram of one feature: per output a (gradient, hessian) quantised for each bin, bin 0 missing."""

    cells: list[list[tuple[int, int]]]
    params: layout.GrowParams
    limits: np.ndarray
    direction: int = 0
    bounds: tuple[float, float] = (-np.inf, np.inf)

    @property
    def n_bins(self) -> int:
        return len(self.cells[0]) - 1

    def run(self) -> tuple[float, tuple]:
        """Return the gain and the split (bin, side, left sums) that the kernels find."""
        n_outputs, guards = len(self.cells), Guards()
        planes = []
        for output in self.cells:
            if self.params.wide:
                planes += [[g for g, _ in output], [h for _, h in output]]
            else:
                planes.append([(g << 32) + h for g, h in output])
        n_planes = len(planes)
        # Another feature lies before and one behind, so that cells and planes are found by their offsets.
        histogram = guards.array((n_planes, 3 + self.n_bins + 1 + 2), np.int64)
        histogram[:, 3 : 3 + self.n_bins + 1] = planes
        n_bins = np.array([2, self.n_bins, 1])
        start = np.concatenate([[0], np.cumsum(n_bins + 1)])
        more = (
            3,
            np.zeros(3, np.int64),
            np.arange(3),
            np.arange(3),
            np.full(3, -1),
            start,
            np.array([0, 3]),
            *(np.empty(0, np.int64), np.empty(0, np.uint32)) * 2,
            np.array([3, 0, 1, 2], np.int32),
        )
        features = layout.FeatureMeta(n_bins, start, np.array([0, 3]), np.array([0, self.direction, 0]), *more)
        hessian_range = np.array([[1, 2**40]] * n_outputs)
        scales = layout.Scales(np.array([[UNIT_G, UNIT_H]] * n_outputs), np.ones((n_outputs, 2)), hessian_range)
        sums = np.array([sum(plane) for plane in planes])
        candidate = guards.array(CANDIDATE_SUMS + n_planes, np.int64)
        buffer = guards.array(2 * n_planes + 3 * (self.n_bins + PADDING), np.int64)
        arguments = histogram.reshape(-1), 1, features, sums, *self.bounds
        with np.errstate(all="ignore"):
            gain = split_numeric.scan_feature(*arguments, NO_LIMITS, self.params, scales, buffer, candidate)
            narrow = (self.limits != NO_LIMITS).any()
            if narrow or (gain > 0 and candidate[CANDIDATE_BIN] == 0):
                located = split_numeric.locate_split(*arguments, self.limits, self.params, scales, buffer, candidate)
                assert narrow or located == gain
                gain = located
        guards.check()
        left = tuple(candidate[CANDIDATE_SUMS:].tolist())
        return float(gain), (int(candidate[CANDIDATE_BIN]), int(candidate[CANDIDATE_MISSING_LEFT]), left)

    # --- the slow way -------------------------------------------------------------------------------------------------

    def value(self, g: Fraction, h: Fraction) -> Fraction:
        reg_lambda, alpha = Fraction(self.params.reg_lambda), Fraction(self.params.reg_alpha)
        bottom = h + reg_lambda
        value = -max(abs(g) - alpha, Fraction(0)) * (1 if g > 0 else -1) / bottom if bottom > 0 else Fraction(0)
        step = Fraction(self.params.max_delta_step)
        if step:
            value = min(max(value, -step), step)
        low, high = self.bounds
        value = max(value, Fraction(low)) if low > -np.inf else value
        return min(value, Fraction(high)) if high < np.inf else value

    def score(self, sums: list[tuple[int, int]]) -> Fraction:
        reg_lambda, alpha = Fraction(self.params.reg_lambda), Fraction(self.params.reg_alpha)
        total = Fraction(0)
        for steps_g, steps_h in sums:
            g, h = steps_g / Fraction(UNIT_G), steps_h / Fraction(UNIT_H)
            value = self.value(g, h)
            total += -(2 * g * value + (h + reg_lambda) * value**2) - 2 * alpha * abs(value)
        return total

    def is_allowed(self, left, right) -> bool:
        for side in (left, right):
            for _, hessian in side:
                h = hessian / Fraction(UNIT_H)
                if h < Fraction(self.params.min_child_weight) or h + Fraction(self.params.reg_lambda) <= 0:
                    return False
        if self.direction == 0:
            return True
        below, above = (
            self.value(side[0][0] / Fraction(UNIT_G), side[0][1] / Fraction(UNIT_H)) for side in (left, right)
        )
        return self.direction * (above - below) >= 0

    def search(self) -> tuple[Fraction, tuple]:
        """Return the largest gain and the first split that has it: missing right before left, then the first bin."""
        everything = [(sum(g for g, _ in output), sum(h for _, h in output)) for output in self.cells]
        before = self.score(everything)
        narrow = (self.limits != NO_LIMITS).any()
        has_missing = any(output[0] != (0, 0) for output in self.cells) or (self.limits[:2] != self.limits[2:]).any()
        found = []
        for side in (0, 1) if has_missing else (0,):
            for b in range(1, self.n_bins + (1 if has_missing and side == 0 else 0)):
                has_values = any(output[i] != (0, 0) for output in self.cells for i in range(1, b + 1))
                if not (has_values or narrow) or not self.limits[2 * side] <= b <= self.limits[2 * side + 1]:
                    continue
                inside = [*range(1, b + 1), *([0] if side == 1 else [])]
                left = [(sum(output[i][0] for i in inside), sum(output[i][1] for i in inside)) for output in self.cells]
                right = [(g - gl, h - hl) for (g, h), (gl, hl) in zip(everything, left, strict=True)]
                if not self.is_allowed(left, right):
                    continue
                after = self.score(left) + self.score(right)
                gain = (after - before) / 2 - Fraction(self.params.min_split_gain)
                if after != before and min(abs(after - before), abs(gain)) <= CLOSE * (abs(after) + abs(before)):
                    raise TooCloseError
                if after > before and gain > 0:
                    found.append((gain, (b, side, self.packed(left)), frozenset([tuple(left), tuple(right)])))
        if not found:
            return Fraction(0), ()
        best = max(found, key=lambda each: each[0])
        if any(gain >= best[0] * (1 - CLOSE) and sides != best[2] for gain, _, sides in found):
            raise TooCloseError
        return best[0], best[1]

    def packed(self, sums: list[tuple[int, int]]) -> tuple[int, ...]:
        if self.params.wide:
            return tuple(steps for pair in sums for steps in pair)
        return tuple((g << 32) + h for g, h in sums)


CELL = st.one_of(st.just((0, 0)), st.tuples(st.integers(-5000, 5000), st.integers(1, 9000)))


def limits_of(rows: list[int], min_rows: int) -> np.ndarray:
    """Return the first and last bin of a split that leaves so many rows on both sides; missing right, then left."""
    limits = []
    for side in range(2):
        lefts = {b: sum(rows[1 : b + 1]) + (rows[0] if side == 1 else 0) for b in range(1, len(rows))}
        fitting = [b for b, left in lefts.items() if min(left, sum(rows) - left) >= min_rows]
        limits += [min(fitting), max(fitting)] if fitting else [len(rows), 0]
    return np.array(limits)


@st.composite
def scans(draw, max_outputs: int = 1, monotone: bool = False) -> Scan:
    n_bins, n_outputs = draw(st.integers(1, 9)), draw(st.integers(1, max_outputs))
    cells = [draw(st.lists(CELL, min_size=n_bins + 1, max_size=n_bins + 1)) for _ in range(n_outputs)]
    if draw(st.booleans()):
        for output in cells:
            output[0] = (0, 0)
    for b in range(n_bins + 1):  # a bin is empty in all outputs or in none
        if any(output[b] == (0, 0) for output in cells):
            for output in cells:
                output[b] = (0, 0)
    params = make_params(
        wide=draw(st.integers(0, 1)),
        has_monotone=int(monotone),
        reg_lambda=draw(st.sampled_from([0.0, 1.0, 0.37])),
        reg_alpha=draw(st.sampled_from([0.0, 0.0, 0.5])),
        max_delta_step=draw(st.sampled_from([0.0, 0.0, 0.9])),
        min_split_gain=draw(st.sampled_from([0.0, 0.0, 0.3])),
        min_child_weight=draw(st.sampled_from([0.0, 0.001, 1.5])),
    )
    limits = NO_LIMITS
    if draw(st.booleans()):
        rows = [draw(st.integers(0 if cell == (0, 0) else 1, 4)) for cell in cells[0]]  # rows may add up to nothing
        limits = limits_of(rows, draw(st.integers(1, 8)))
    scan = Scan(cells, params, limits)
    if monotone:
        scan.direction = draw(st.sampled_from([-1, 0, 1]))
        scan.bounds = draw(st.sampled_from([(-np.inf, np.inf), (-0.5, 0.25), (0.0, np.inf)]))
    return scan


def compare(scan: Scan) -> None:
    """Compare the gains and, where there is one, the splits with their sums."""
    try:
        gain, candidate = scan.search()
    except TooCloseError:
        reject()
    found_gain, found = scan.run()
    assert max(found_gain, 0.0) == pytest.approx(float(gain), rel=1e-8)
    if gain > 0:
        assert found == candidate


@settings(max_examples=400)
@given(scans())
def test_the_split_of_one_output_is_the_best_of_all_splits(scan):
    compare(scan)


@settings(max_examples=150)
@given(scans(max_outputs=3))
def test_the_split_of_several_outputs_is_the_best_for_all_together(scan):
    compare(scan)


@settings(max_examples=150)
@given(scans(monotone=True))
def test_a_monotone_split_is_the_best_of_those_that_keep_the_direction(scan):
    compare(scan)


def scan_of(cells, **chosen) -> tuple[float, tuple]:
    return Scan([cells], make_params(reg_lambda=1.0, **chosen), NO_LIMITS).run()


@pytest.mark.parametrize("wide", [0, 1])
def test_of_equal_splits_the_first_bin_wins(wide):
    cells = [(0, 0), (1024, 4096), (0, 0), (0, 0), (-1024, 4096)]
    assert scan_of(cells, wide=wide)[1][:2] == (1, 0)


@pytest.mark.parametrize("wide", [0, 1])
def test_of_equal_sides_missing_goes_right(wide):
    """The missing bin weighs the same on either side."""
    cells = [(0, 4096), (1024, 4096), (-1024, 4096)]
    assert scan_of(cells, wide=wide)[1][:2] == (1, 0)


@pytest.mark.parametrize("wide", [0, 1])
def test_missing_values_alone_can_be_split_off(wide):
    cells = [(4096, 4096), (-1024, 4096), (-1024, 4096)]
    assert scan_of(cells, wide=wide)[1][:2] == (2, 0)


@pytest.mark.parametrize("wide", [0, 1])
def test_a_feature_of_one_bin_and_nothing_missing_has_no_split(wide):
    assert scan_of([(0, 0), (1024, 4096)], wide=wide)[0] == 0.0


def test_the_extremes_of_a_packed_cell_are_read_right():
    for g, h in [(-(2**31) + 1, 0), (2**31 - 1, 2**32 - 1), (-1, 1), (0, 2**32 - 1), (-(2**31) + 1, 2**32 - 1)]:
        packed = np.int64((g << 32) + h)
        with np.errstate(all="ignore"):
            assert fixed_point.high_half(packed) == g
            assert fixed_point.low_half(packed) == h
            assert fixed_point.gradient_sum(np.array([packed]), 0, 0, np.array([[1.0, 1.0]])) == g
            assert fixed_point.quantised_hessian(np.array([packed]), 0, 0) == h
