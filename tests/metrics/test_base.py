"""Metrics for tasks, and those of users."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.errors import ParameterError
from sapwood.metrics.registry import resolve_metric


def test_a_function_says_itself_that_greater_is_better():
    def hits(y, prediction, weight):
        return 1.0

    hits.greater_is_better = True
    assert resolve_metric(hits).greater_is_better


def test_a_function_that_returns_no_number_is_refused():
    with pytest.raises(ParameterError, match="allowed is a number"):
        resolve_metric(lambda y, prediction, weight: "good")(np.zeros(1), np.zeros(1))


def test_auc_is_not_for_several_classes():
    with pytest.raises(ParameterError, match="measures binary, is not supported with multiclass"):
        resolve_metric("auc").check_task("multiclass")
