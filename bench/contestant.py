"""Interface of the libraries that are compared: fit raw arrays and predict."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bench.workloads import Settings


class Contestant(ABC):
    """Fit and predict with one library in one configuration."""

    name: ClassVar[str]
    package: ClassVar[str]
    importing: ClassVar[str]
    family: ClassVar[str]
    variant: ClassVar[bool] = False
    growths: ClassVar[frozenset[str]] = frozenset({"leafwise", "levelwise"})
    # Python that predicts ``row`` with the model that ``save`` wrote to ``path``.
    reopening: ClassVar[str] = "import pickle; pickle.load(open(path, 'rb')).predict(row)"

    def __init__(self, settings: Settings, task: str) -> None:
        self.settings = settings
        self.task = task
        self.binary = task == "binary"
        self.n_classes = 2
        self.model: Any = None

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Fit from raw arrays."""
        if self.task == "multiclass":
            self.n_classes = int(y.max()) + 1
        self.model = self._fitted(X, y)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the probability of class 1 or the value of each row, or the probabilities of several classes."""
        if self.task == "regression":
            return self.model.predict(X)
        found = self.model.predict_proba(X)
        return found[:, 1] if self.binary else found

    def save(self, path: str) -> None:
        """Write the model to a file, in the library's own format where it has one."""
        Path(path).write_bytes(pickle.dumps(self.model))

    def row_predictor(self) -> Callable[[np.ndarray], object]:
        """Return a function that predicts a table of one row: the library's own for single rows, if it has one."""
        return self.predict

    @abstractmethod
    def _fitted(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Train a model of the library."""

    @property
    def hessian_floor(self) -> float:
        """Replace ``min_child_samples`` where a library has only a minimum hessian.

        With squared error the hessian is the row count; log loss has no equal, and XGBoost's default is taken.
        """
        return float(self.settings.min_child_samples) if self.task == "regression" else 1.0

    @classmethod
    def installed(cls) -> bool:
        """Return whether the library can be imported."""
        return find_spec(cls.package) is not None

    @classmethod
    def version(cls) -> str:
        """Return the library's version."""
        return str(import_module(cls.package).__version__)
