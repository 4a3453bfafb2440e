"""XGBoost's objective step by step: five rows in three leaves, then the gain of a split.

The loss is expanded to second order in the score, sum(g f + h f^2 / 2), and a tree with T leaves of values w pays
gamma T + lambda sum(w^2) / 2. For fixed leaves the best value is w = -G / (H + lambda), which gives the objective
-G^2 / (H + lambda) / 2 + gamma per leaf.
"""

from __future__ import annotations

import numpy as np

from sapwood import SapwoodRegressor

LAMBDA, GAMMA = 1.0, 0.1


def leaf(g: np.ndarray, h: np.ndarray) -> tuple[float, float]:
    """Return the value of a leaf and its part of the objective."""
    G, H = g.sum(), h.sum()
    return -G / (H + LAMBDA), -0.5 * G**2 / (H + LAMBDA) + GAMMA


def main() -> None:
    """Print leaves, objective and gain, and check them against a tree of the engine."""
    y = np.array([1.0, 4.0, 2.0, -1.0, 5.0])
    g, h = -y, np.ones(5)  # squared error (y - F)^2 / 2 at F = 0
    leaves = {"I1 = {1, 3}": [0, 2], "I2 = {4}": [3], "I3 = {2, 5}": [1, 4]}
    total = 0.0
    for name, rows in leaves.items():
        value, objective = leaf(g[rows], h[rows])
        total += objective
        G, H = g[rows].sum(), h[rows].sum()
        print(f"{name:12s} G = {G:5.1f}  H = {H:.0f}  w = {value:7.4f}  objective {objective:8.4f}")
    print(f"objective of the tree: {total:.4f}")

    # Splitting {1, 3} from {4}: the decrease of the objective, minus the price of one more leaf.
    before = leaf(g[[0, 2, 3]], h[[0, 2, 3]])[1]
    gain = before - leaf(g[[0, 2]], h[[0, 2]])[1] - leaf(g[[3]], h[[3]])[1]
    print(f"gain of splitting {{1, 3, 4}} into {{1, 3}} and {{4}}: {gain:.4f}")

    # A feature whose values order the rows 4 | 1 3 | 2 5, so that the engine finds the same three leaves.
    x = np.array([1.0, 2.0, 1.0, 0.0, 2.0])[:, None]
    model = SapwoodRegressor(
        n_estimators=1, learning_rate=1.0, init=0.0, max_leaves=3, reg_lambda=LAMBDA, min_split_gain=GAMMA,
        min_child_samples=1, min_child_weight=0.0,
    ).fit(x, y)  # fmt: skip
    print(model.model_.to_text())
    np.testing.assert_allclose(model.predict([[1.0], [0.0], [2.0]]), [leaf(g[r], h[r])[0] for r in leaves.values()])


if __name__ == "__main__":
    main()
