"""Bagging lowers the variance of deep trees, boosting the bias of small ones.

The same noisy function is learned from 30 samples; the error of the mean prediction is the bias, the spread of the
predictions around it the variance.
"""

from __future__ import annotations

import numpy as np

from sapwood import SapwoodRegressor

SAMPLES, ROWS = 30, 150


def main() -> None:
    """Estimate bias and variance of single trees and ensembles."""
    rng = np.random.default_rng(0)
    x = np.linspace(0.0, 1.0, 200)
    truth = np.sin(12.0 * x)
    trees = {"min_child_samples": 1, "reg_lambda": 0.0, "random_state": 0}
    models = {
        "one deep tree": {"n_estimators": 1, "learning_rate": 1.0, "max_leaves": 64},
        "bagged deep trees": {"n_estimators": 50, "boosting": "forest", "max_leaves": 64},
        "one stump": {"n_estimators": 1, "learning_rate": 1.0, "max_leaves": 2},
        "boosted stumps": {"n_estimators": 150, "learning_rate": 0.2, "max_leaves": 2},
    }
    results = {}
    for name, params in models.items():
        predictions = []
        for _ in range(SAMPLES):
            at = rng.uniform(0.0, 1.0, ROWS)
            y = np.sin(12.0 * at) + 0.4 * rng.normal(size=ROWS)
            predictions.append(SapwoodRegressor(**params, **trees).fit(at[:, None], y).predict(x[:, None]))
        bias = float(np.mean((np.mean(predictions, axis=0) - truth) ** 2))
        variance = float(np.mean(np.var(predictions, axis=0)))
        results[name] = bias, variance
        print(f"{name:18s} squared bias {bias:.3f}  variance {variance:.3f}  together {bias + variance:.3f}")
    assert results["bagged deep trees"][1] < 0.7 * results["one deep tree"][1]
    assert results["boosted stumps"][0] < 0.2 * results["one stump"][0]


if __name__ == "__main__":
    main()
