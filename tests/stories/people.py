"""Rows of the census as a new user has them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from sapwood.datasets import load_adult

QUICK = {"n_estimators": 8, "max_leaves": 8}


@cache
def people(frame: str = "pandas", n: int = 800) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """X and y to train on, X and y to test on."""
    adult = load_adult(frame)
    (X, y), (X_test, y_test) = adult.train, adult.test
    return X[:n], y[:n], X_test[:300], y_test[:300]
