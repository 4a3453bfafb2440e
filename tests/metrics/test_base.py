"""Metrics for tasks."""

from __future__ import annotations

import pytest

from sapwood.errors import ParameterError
from sapwood.metrics.registry import resolve_metric


def test_average_precision_is_not_for_several_classes():
    with pytest.raises(ParameterError, match="measures binary, is not supported with multiclass"):
        resolve_metric("average_precision").check_task("multiclass")
