"""Real tables that need no network: one of classes with few values, one of classes with many, one of numbers."""

from __future__ import annotations

import numpy as np
from bench.parity import Data
from sklearn.datasets import load_breast_cancer, load_diabetes

from sapwood.datasets import load_adult

N_ADULT = 6000


def _adult() -> Data:
    adult = load_adult(None, numeric_only=True)
    return Data(adult.X[:N_ADULT], adult.y[:N_ADULT].astype(np.float64), binary=True)


def _breast_cancer() -> Data:
    X, y = load_breast_cancer(return_X_y=True)
    return Data(X.astype(np.float32), y.astype(np.float64), binary=True)


def _diabetes() -> Data:
    X, y = load_diabetes(return_X_y=True)
    return Data(X.astype(np.float32), y, binary=False)


REAL_TABLES = {"adult": _adult(), "breast_cancer": _breast_cancer(), "diabetes": _diabetes()}
