"""Gradient-boosted decision trees; all of it, kernels included, is written in Python."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sapwood import errors

if TYPE_CHECKING:
    from sapwood import plot as plot
    from sapwood.boost.train import train as train
    from sapwood.classic.adaboost import SapwoodAdaBoostClassifier as SapwoodAdaBoostClassifier
    from sapwood.classic.forest import SapwoodForestClassifier as SapwoodForestClassifier
    from sapwood.classic.forest import SapwoodForestRegressor as SapwoodForestRegressor
    from sapwood.classic.trees.classifier import SapwoodTreeClassifier as SapwoodTreeClassifier
    from sapwood.classic.trees.regressor import SapwoodTreeRegressor as SapwoodTreeRegressor
    from sapwood.data.dataset import Dataset as Dataset
    from sapwood.estimators.classifier import SapwoodClassifier as SapwoodClassifier
    from sapwood.estimators.cv import cv as cv
    from sapwood.estimators.regressor import SapwoodRegressor as SapwoodRegressor
    from sapwood.model.io.serialize import load as load
    from sapwood.model.model import Model as Model
    from sapwood.params.encodings import Auto as Auto
    from sapwood.params.encodings import Crossing as Crossing
    from sapwood.params.encodings import Frequency as Frequency
    from sapwood.params.encodings import Greedy as Greedy
    from sapwood.params.encodings import Holdout as Holdout
    from sapwood.params.encodings import LeaveOneOut as LeaveOneOut
    from sapwood.params.encodings import OneHot as OneHot
    from sapwood.params.encodings import Ordered as Ordered
    from sapwood.params.encodings import Partition as Partition
    from sapwood.params.options import AutoCategorical as AutoCategorical
    from sapwood.params.options import Bayesian as Bayesian
    from sapwood.params.options import Bundle as Bundle
    from sapwood.params.options import Dart as Dart
    from sapwood.params.options import EarlyStopping as EarlyStopping
    from sapwood.params.options import EffectiveNumber as EffectiveNumber
    from sapwood.params.options import Goss as Goss
    from sapwood.params.options import LastRows as LastRows
    from sapwood.params.options import Linear as Linear
    from sapwood.params.options import Mvs as Mvs
    from sapwood.params.options import NumericCrosses as NumericCrosses
    from sapwood.params.options import Symmetric as Symmetric
    from sapwood.params.options import Uniform as Uniform
    from sapwood.reports.report import report as report
    from sapwood.versions import show_versions as show_versions

__version__ = "0.2.0.dev0"

_MODULE_OF = {
    "Auto": "sapwood.params.encodings",
    "Crossing": "sapwood.params.encodings",
    "Frequency": "sapwood.params.encodings",
    "Greedy": "sapwood.params.encodings",
    "Holdout": "sapwood.params.encodings",
    "LeaveOneOut": "sapwood.params.encodings",
    "OneHot": "sapwood.params.encodings",
    "Ordered": "sapwood.params.encodings",
    "Partition": "sapwood.params.encodings",
    "AutoCategorical": "sapwood.params.options",
    "Bayesian": "sapwood.params.options",
    "Bundle": "sapwood.params.options",
    "Dart": "sapwood.params.options",
    "Dataset": "sapwood.data.dataset",
    "EarlyStopping": "sapwood.params.options",
    "EffectiveNumber": "sapwood.params.options",
    "Goss": "sapwood.params.options",
    "LastRows": "sapwood.params.options",
    "Mvs": "sapwood.params.options",
    "Linear": "sapwood.params.options",
    "NumericCrosses": "sapwood.params.options",
    "Symmetric": "sapwood.params.options",
    "Uniform": "sapwood.params.options",
    "SapwoodAdaBoostClassifier": "sapwood.classic.adaboost",
    "SapwoodClassifier": "sapwood.estimators.classifier",
    "SapwoodRegressor": "sapwood.estimators.regressor",
    "SapwoodForestClassifier": "sapwood.classic.forest",
    "SapwoodForestRegressor": "sapwood.classic.forest",
    "SapwoodTreeClassifier": "sapwood.classic.trees.classifier",
    "SapwoodTreeRegressor": "sapwood.classic.trees.regressor",
    "Model": "sapwood.model.model",
    "cv": "sapwood.estimators.cv",
    "load": "sapwood.model.io.serialize",
    "report": "sapwood.reports.report",
    "show_versions": "sapwood.versions",
    "train": "sapwood.boost.train",
}

_PACKAGES = ("plot",)

__all__ = [*sorted([*_MODULE_OF, *_PACKAGES]), "__version__", "errors"]


if not TYPE_CHECKING:  # so that type checkers report unknown names

    def __getattr__(name: str) -> Any:
        """Import a public name at its first use."""
        if name in _PACKAGES:
            return importlib.import_module(f"sapwood.{name}")
        if name not in _MODULE_OF:
            raise importlib.import_module("sapwood.params.unknown_attributes").unknown_attribute(
                "module 'sapwood'", name
            )
        value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)


# Modules that pickles of version 0.1 name, and where their classes are now.
_MOVED = {
    "sapwood.choices": "sapwood.params.options",
    "sapwood.encodings": "sapwood.params.encodings",
    "sapwood.model.serialize": "sapwood.model.io.serialize",
    "sapwood.objectives.classification": "sapwood.objectives",
    "sapwood.objectives.positive": "sapwood.objectives",
    "sapwood.objectives.regression": "sapwood.objectives",
}


class _MovedModule(ModuleType):
    """A module under its former name, so that pickles find their classes."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(_MOVED[self.__name__]), name)


for _old in _MOVED:
    sys.modules.setdefault(_old, _MovedModule(_old))
