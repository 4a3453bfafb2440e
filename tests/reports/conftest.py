"""Models and tables that are reported on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

import sapwood

HOSTILE = ["</script><script>hacked()</script>", "<img src=x onerror=hacked()>", "\"'&amp;\u2028 `${hacked()}`"]


class Case(NamedTuple):
    model: Any
    X: Any
    y: Any
    X_train: Any
    y_train: Any


def people(n: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table with numbers, categories and missing values, and labels."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n).astype(float)
    job = np.array(["nurse", "clerk", "pilot", "baker", "miner", "smith"])[rng.integers(0, 6, n)]
    score = age / 20 + np.isin(job, ["pilot", "nurse"]) * 2 + rng.normal(size=n)
    age[::17] = np.nan
    X = pd.DataFrame({"age": age, "job": job, "noise": rng.normal(size=n), "same": 1.0})
    return X, np.where(score > 3.2, "rich", "poor")


@pytest.fixture(scope="session")
def binary() -> Case:
    """Return a classifier of two classes with a history, held-out rows and its training rows."""
    (X_train, y_train), (X, y) = people(800), people(400, 1)
    model = sapwood.SapwoodClassifier(n_estimators=30).fit(X_train, y_train, eval_set=[(X_train, y_train), (X, y)])
    return Case(model, X, y, X_train, y_train)


@pytest.fixture(scope="session")
def regression() -> Case:
    """Return a regressor without a history."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = 3 * X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * rng.normal(size=900)
    model = sapwood.SapwoodRegressor(n_estimators=40).fit(X[:600], y[:600])
    return Case(model, X[600:], y[600:], X[:600], y[:600])


@pytest.fixture(scope="session")
def hostile() -> Case:
    """Return a classifier whose columns, categories and labels are markup."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 3)), columns=HOSTILE)
    X["<b>kind</b>"] = rng.choice(["</script><script>hacked()</script>", "<svg onload=hacked()>", "ok"], 500)
    y = np.where(X.iloc[:, 0] + (X["<b>kind</b>"] == "ok") > 0, "</script><script>hacked()</script>", "<i>no</i>")
    model = sapwood.SapwoodClassifier(n_estimators=5, validation_fraction=0.2).fit(X, y)
    return Case(model, X, y, None, None)
