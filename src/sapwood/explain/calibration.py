"""Calibration: observed frequencies of bins of predicted probabilities."""

from __future__ import annotations

import numpy as np


def calibration_bins(
    probability: np.ndarray, is_class: np.ndarray, n_bins: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Return mean prediction, observed frequency, its 95 % interval and the weight of bins with equal rows."""
    weight = np.ones(len(probability)) if weight is None else weight
    order = np.argsort(probability, kind="stable")
    rows = []
    for part in np.array_split(order, min(n_bins, len(order))):
        total = weight[part].sum()
        if total <= 0:
            continue
        observed = float((weight[part] * is_class[part]).sum() / total)
        n_effective = float(total**2 / (weight[part] ** 2).sum())
        center, half = _wilson(observed, n_effective)
        predicted = float((weight[part] * probability[part]).sum() / total)
        rows.append((predicted, observed, center - half, center + half, total))
    names = ("predicted", "observed", "low", "high", "weight")
    return np.array(rows, dtype=[(name, np.float64) for name in names])


def _wilson(frequency: float, n: float, z: float = 1.96) -> tuple[float, float]:
    """Return centre and half width of Wilson's interval of a frequency among n rows."""
    scale = 1.0 + z * z / n
    half = z * np.sqrt(frequency * (1.0 - frequency) / n + z * z / (4.0 * n * n)) / scale
    return (frequency + z * z / (2.0 * n)) / scale, float(half)
