"""Fits small enough to be made by many threads and processes at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sapwood import SapwoodRegressor

X = np.random.default_rng(5).normal(size=(600, 5))
Y = X[:, 0] - X[:, 1] ** 2


def fingerprint(seed: int = 0) -> str:
    return SapwoodRegressor(n_estimators=5, subsample=0.8, random_state=seed).fit(X, Y).model_.fingerprint()


def in_threads(n: int) -> str:
    """The model that several threads make at once."""
    with ThreadPoolExecutor(n) as pool:
        (made,) = set(pool.map(fingerprint, [0] * n))
    return made
