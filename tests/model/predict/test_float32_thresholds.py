from __future__ import annotations

import numpy as np

from sapwood.model.predict.float32_thresholds import Thresholds


def test_float32_thresholds_are_never_above_the_exact_ones():
    values = np.array([0.1, -0.1, 1e300, -1e300, np.inf, -np.inf, 1e-50, -1e-50, 16777217.0, 0.5])
    rounded = Thresholds(values).of_type(np.dtype(np.float32))
    assert rounded.dtype == np.float32
    assert np.all(rounded.astype(np.float64) <= values)
    with np.errstate(over="ignore"):
        next_up = np.nextafter(rounded, np.float32(np.inf)).astype(np.float64)
    assert np.all((next_up > values) | (values == np.inf))
