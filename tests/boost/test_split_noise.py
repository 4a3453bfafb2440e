"""Noise in the gains by which features are chosen."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sapwood import SapwoodRegressor, Symmetric
from sapwood.boost.sampling import SampledRows
from sapwood.boost.split_noise import noise_decay, split_noise_scale
from sapwood.native.runtime.kernel import run_serial
from sapwood.params.resolve import resolve_params

GROWTHS = [{"growth": "leafwise"}, {"growth": "levelwise"}, {"growth": "symmetric"}, {"growth": Symmetric("cosine")}]
GROWTHS += [{"growth": "leafwise", "split_search": "exact"}]


def twins(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Eight features that tell the same, one of them a little more."""
    random = np.random.default_rng(0)
    signal = random.normal(size=n)
    X = signal[:, None] + 0.3 * random.normal(size=(n, 8))
    return X, signal + 0.3 * random.normal(size=n)


def roots(**params) -> np.ndarray:
    X, y = twins()
    trees = SapwoodRegressor(**{"n_estimators": 40, "learning_rate": 0.01, "max_depth": 2} | params).fit(X, y).model_
    return trees.ensemble.feature[trees.ensemble.tree_start[:-1]]


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_features_of_nearly_the_same_gain_take_turns(growth):
    assert len(np.unique(roots(random_strength=100.0, **growth))) > len(np.unique(roots(**growth)))


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_the_seed_decides(growth):
    first, again, other = (roots(random_strength=50.0, random_state=seed, **growth) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_recorded_gains_are_without_noise():
    X, y = twins()
    model = SapwoodRegressor(
        n_estimators=1, max_leaves=2, random_strength=1e6, reg_lambda=0.0, learning_rate=1.0, min_child_samples=1
    ).fit(X, y)
    trees = model.model_.ensemble
    lost = 0.5 * np.sum((y - y.mean()) ** 2) - 0.5 * np.sum((y - model.predict(X)) ** 2)
    assert trees.gain[0] == pytest.approx(lost, rel=1e-4)


def test_the_unit_is_the_gain_of_a_split_by_chance():
    """By hand: gradients 1, −1, 3 with hessians 1, 1, 2 and weights 1, 2, 1: Σwg² / Σwh = 12 / 5."""
    pairs = np.array([[[1.0, 1.0], [-1.0, 1.0], [3.0, 2.0]]], dtype=np.float32)
    weight = np.array([1.0, 2.0, 1.0])
    for given, unit in [("leafwise", 1.2), ("symmetric", 2.4), (Symmetric("cosine"), math.sqrt(2.4))]:
        params = resolve_params({"random_strength": 2.0, "learning_rate": 0.5, "growth": given}, 3, "regression")
        assert split_noise_scale(params, pairs, SampledRows(None, weight), (0, 0), run_serial) == pytest.approx(
            2.0 * unit * 0.75
        )
        left = 3.0 * math.exp(-2.0)
        assert split_noise_scale(params, pairs, SampledRows(None, weight), (3, 1), run_serial) == pytest.approx(
            2.0 * unit * left / (1.0 + left)
        )


def test_noise_fades_from_nearly_one_to_nothing():
    assert noise_decay(1000, 0.0) == pytest.approx(1.0, abs=1e-2)
    assert noise_decay(1000, math.log(1000.0)) == pytest.approx(0.5)
    assert noise_decay(1000, 5000.0) < 1e-9
