"""Bins of calibration curves."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.explain.calibration import calibration_bins


def test_bins_of_a_calibration_have_means_frequencies_and_intervals():
    bins = calibration_bins(np.array([0.1, 0.9, 0.2, 0.8]), np.array([False, True, True, True]), 2)
    np.testing.assert_allclose(bins["predicted"], [0.15, 0.85])
    np.testing.assert_allclose(bins["observed"], [0.5, 1.0])
    # Wilson's interval of 1 of 2: centre 1/2, half width 1.96 sqrt(1/8 + 1.96²/16) / (1 + 1.96²/2).
    half = 1.96 * np.sqrt(0.125 + 1.96**2 / 16) / (1 + 1.96**2 / 2)
    np.testing.assert_allclose([bins["low"][0], bins["high"][0]], [0.5 - half, 0.5 + half])


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(0)
    p, hit = np.sort(rng.random(40)), rng.random(40) < 0.5
    once = calibration_bins(p, hit, 1, np.full(40, 2.0))
    assert once["observed"][0] == pytest.approx(hit.mean())
