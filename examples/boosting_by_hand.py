"""Gradient boosting in a few lines of NumPy, and the same model by the engine.

For squared error the negative gradient is the residual, so each stump is fitted to what the stumps before it left over.
"""

from __future__ import annotations

import numpy as np

from sapwood import SapwoodRegressor

ROUNDS, RATE = 20, 0.3


def fit_stump(x: np.ndarray, residual: np.ndarray) -> tuple[float, float, float]:
    """Return the threshold and the two leaf values with the least squared error."""
    order = np.argsort(x)
    x, residual = x[order], residual[order]
    n_left = np.arange(1, len(x))
    left, right = np.cumsum(residual)[:-1], residual.sum() - np.cumsum(residual)[:-1]
    gain = left**2 / n_left + right**2 / (len(x) - n_left)
    best = int(np.argmax(gain))
    return (x[best] + x[best + 1]) / 2.0, left[best] / n_left[best], right[best] / (len(x) - n_left[best])


def main() -> None:
    """Boost stumps by hand, then with Sapwood, and compare the predictions."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10.0, 200)
    y = np.sin(x) + 0.1 * rng.normal(size=200)

    scores = np.full(200, y.mean())  # the best constant for squared error
    for round in range(ROUNDS):
        threshold, left, right = fit_stump(x, y - scores)
        scores += RATE * np.where(x <= threshold, left, right)
        if round in (0, 1, ROUNDS - 1):
            print(
                f"round {round + 1:2d}: split at {threshold:.3f}, mean squared error {np.mean((y - scores) ** 2):.5f}"
            )

    engine = SapwoodRegressor(
        n_estimators=ROUNDS, learning_rate=RATE, max_leaves=2, reg_lambda=0.0, min_child_samples=1, split_search="exact"
    ).fit(x[:, None], y)
    difference = np.abs(engine.predict(x[:, None]) - scores).max()
    print(f"largest difference between the two models: {difference:.1e}")
    assert difference < 1e-6


if __name__ == "__main__":
    main()
