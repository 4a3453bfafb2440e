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
