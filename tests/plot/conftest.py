"""Models that the plots of the tests show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sapwood

matplotlib = pytest.importorskip("matplotlib", reason="sapwood.plot needs matplotlib")
matplotlib.use("Agg")
LONG = "a column whose name goes on for eighty letters with $ and _ and {braces} number"


@pytest.fixture(autouse=True)
def close_figures():
    """Close all figures after each test."""
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="session")
def people():
    """Return a table with numbers, categories and missing values, labels, and a classifier with a history."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 600).astype(float)
    age[::17] = np.nan
    job = np.array(["nurse", "clerk", "pilot", "baker", "miner", "smith"])[rng.integers(0, 6, 600)]
    X = pd.DataFrame({"age": age, "job": job, f"{LONG} 1": rng.normal(size=600)})
    score = np.nan_to_num(age, nan=40) / 20 + np.isin(job, ["pilot", "nurse"]) * 2 + rng.normal(size=600)
    y = np.where(score > np.median(score), "rich", "poor")
    model = sapwood.SapwoodClassifier(n_estimators=20, max_depth=4).fit(X, y, eval_set=[(X, y), (X[:200], y[:200])])
    return X, y, model


@pytest.fixture(scope="session")
def houses():
    """Return numbers, prices and a regressor without a history."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 4))
    y = 3 * X[:, 0] + X[:, 1] ** 2 + 0.3 * rng.normal(size=500)
    return X, y, sapwood.SapwoodRegressor(n_estimators=30).fit(X, y)


@pytest.fixture(scope="session")
def letters():
    """Return a table, 50 labels and a classifier."""
    rng = np.random.default_rng(2)
    k = rng.integers(0, 50, 1500)
    names = np.array([f"class number {i:02d}" for i in range(50)])
    X = np.column_stack([k + 0.4 * rng.normal(size=1500), rng.normal(size=1500)])
    return X, names[k], sapwood.SapwoodClassifier(n_estimators=3).fit(X, names[k])
