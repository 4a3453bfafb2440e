"""Gradient boosting for Python, written in Python to the last kernel."""

from __future__ import annotations

import importlib
from typing import Any

from sapwood import errors

__version__ = "0.1.0"

_WHERE = {
    "Auto": "sapwood.encodings",
    "Crossing": "sapwood.encodings",
    "Frequency": "sapwood.encodings",
    "Greedy": "sapwood.encodings",
    "Holdout": "sapwood.encodings",
    "LeaveOneOut": "sapwood.encodings",
    "OneHot": "sapwood.encodings",
    "Ordered": "sapwood.encodings",
    "Partition": "sapwood.encodings",
    "Bayesian": "sapwood.choices",
    "Bundle": "sapwood.choices",
    "Dart": "sapwood.choices",
    "Dataset": "sapwood.estimators.binned",
    "EffectiveNumber": "sapwood.choices",
    "Goss": "sapwood.choices",
    "LastRows": "sapwood.choices",
    "Mvs": "sapwood.choices",
    "Linear": "sapwood.choices",
    "Symmetric": "sapwood.choices",
    "Uniform": "sapwood.choices",
    "SapwoodClassifier": "sapwood.estimators.classifier",
    "SapwoodRegressor": "sapwood.estimators.regressor",
    "Model": "sapwood.model.model",
    "cv": "sapwood.estimators.cv",
    "load": "sapwood.model.serialize",
    "show_versions": "sapwood.versions",
}

__all__ = [*sorted(_WHERE), "__version__", "errors"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _WHERE:
        raise AttributeError(f"module 'sapwood' has no attribute {name!r}")
    value = getattr(importlib.import_module(_WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
