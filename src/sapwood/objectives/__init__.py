"""Losses: what training lowers. ``registry.resolve`` finds one by its name."""

from __future__ import annotations

import importlib
from typing import Any

_WHERE = {
    "regression": ("Squared", "Absolute", "Mape", "Quantile", "Huber", "Expectile", "LogCosh"),
    "log_link": ("Poisson", "Gamma", "Tweedie", "Msle"),
    "classification": ("Logistic", "CrossEntropy", "Exponential", "Focal", "Hinge", "Softmax", "OneVsAll"),
    "custom": ("CustomLoss", "GradientLoss"),
    "base": ("Objective", "mean_loss"),
    "registry": ("resolve", "restore"),
    "links": ("link_from_name",),
}


def __getattr__(name: str) -> Any:
    """Import a loss when it is first used: prediction needs the links alone."""
    for module, names in _WHERE.items():
        if name in names:
            return getattr(importlib.import_module(f"sapwood.objectives.{module}"), name)
    raise AttributeError(f"module 'sapwood.objectives' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(name for names in _WHERE.values() for name in names)
