"""Directions of oblique splits against ridge regressions by NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.classic.trees.entries import EntryBuffer
from sapwood.kernels.split.hyperplane import fit_directions
from tests.guarded import Guards

RIDGE = 1e-3


def directions(values, target, weight, n_classes):
    guards = Guards()
    n = len(values)
    units, scratch = guards.array((n, 2), np.float64), guards.array((2, n * (n + 1) // 2 + n), np.float64)
    out = guards.array((n_classes if n_classes > 2 else 1, n), np.float64)
    entries = EntryBuffer.of(values, target, weight).arrays
    fit_directions(entries, 0, len(target), np.arange(n), n_classes, RIDGE, units, scratch, out)
    guards.check()
    return units, out


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_directions_are_ridge_regressions_on_standardised_columns(n_classes):
    rng = np.random.default_rng(n_classes)
    values, weight = rng.normal(size=(4, 80)), rng.uniform(0.5, 2.0, 80)
    values[1] += 100.0
    values[2, ::7] = np.nan
    target = rng.normal(size=80) if n_classes == 0 else rng.integers(0, n_classes, 80).astype(float)
    units, out = directions(values, target, weight, n_classes)
    known = ~np.isnan(values)
    for column, is_known, unit in zip(values, known, units, strict=True):
        mean = np.average(column[is_known], weights=weight[is_known])
        scale = np.sqrt(np.average((column[is_known] - mean) ** 2, weights=weight[is_known]))
        np.testing.assert_allclose(unit, [mean, 1.0 / scale], rtol=1e-10)
    U = np.where(known, (values - units[:, :1]) * units[:, 1:], 0.0)
    matrix = (U * weight) @ U.T
    targets = [target] if n_classes < 3 else [(target == k).astype(float) for k in range(n_classes)]
    for t, direction in zip(targets, out, strict=True):
        slopes = np.linalg.solve(matrix + RIDGE * np.diag(np.diag(matrix)), U @ (weight * t))
        np.testing.assert_allclose(direction, slopes * units[:, 1], rtol=1e-8, atol=1e-12)


def test_constant_and_infinite_columns_have_no_coefficient():
    rng = np.random.default_rng(0)
    values = np.stack([rng.normal(size=30), np.full(30, 5.0), np.where(np.arange(30) == 3, np.inf, 1.0)])
    units, out = directions(values, values[0].copy(), np.ones(30), 0)
    assert units[1:, 1].tolist() == [0.0, 0.0]
    assert out[0, 1:].tolist() == [0.0, 0.0]
    assert out[0, 0] == pytest.approx(1.0, rel=2e-3)
