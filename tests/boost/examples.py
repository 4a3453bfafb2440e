"""Small tables for the tests of boosting."""

from __future__ import annotations

import numpy as np

FAST = {"learning_rate": 0.5, "min_child_samples": 5}


def example(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return a table of three columns and a noisy numeric target."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, X[:, 0] + np.sin(3 * X[:, 1]) + random.normal(scale=0.5, size=n)


def labelled(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return the same table with three classes as target."""
    X, y = example(n, seed)
    return X, np.array(["low", "middle", "high"])[np.digitize(y, [-0.7, 0.7])]
