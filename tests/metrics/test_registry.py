"""Metrics found by name."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.errors import ParameterError
from sapwood.metrics.base import Metric
from sapwood.metrics.registry import resolve_metric


def test_an_unknown_name_gets_the_nearest():
    with pytest.raises(ParameterError, match="did you mean 'log_loss'"):
        resolve_metric("log_los")


def test_a_parameter_that_is_no_number_is_refused():
    with pytest.raises(ParameterError, match="numbers"):
        resolve_metric("quantile@high")


def test_a_metric_without_parameters_takes_none():
    with pytest.raises(ParameterError, match="no parameter"):
        resolve_metric("rmse@2")


def test_a_function_becomes_a_metric():
    def bias(y, prediction, weight):
        return float(np.mean(prediction - y))

    metric = resolve_metric(bias)
    assert isinstance(metric, Metric)
    assert (metric.name, metric.greater_is_better) == ("bias", False)
    assert metric(np.array([1.0]), np.array([3.0]), None) == 2.0
