"""Prediction shift: residuals of rows that a model was trained on are smaller than those of new rows.

Two binary features, y = c1 x1 + c2 x2, two stumps with a learning rate of 1: the first stump splits on x1, the second
on x2. Trained on the same sample, the effect of x2 is too small by c2 / (n - 1); on two independent samples it is
unbiased (Prokhorenkova and others, 2018).
"""

from __future__ import annotations

import numpy as np

N, C1, C2, REPEATS = 15, 6.0, 2.0, 20_000


def stump(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the mean of y where x is 0 and where it is 1."""
    return np.array([y[x == 0].mean(), y[x == 1].mean()])


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a sample in which both features have both values."""
    while True:
        x = rng.integers(0, 2, (N, 2))
        if (x.min(axis=0) == 0).all() and (x.max(axis=0) == 1).all():
            return x, C1 * x[:, 0] + C2 * x[:, 1]


def main() -> None:
    """Estimate the bias of the effect of x2 by simulation."""
    rng = np.random.default_rng(0)
    for name, is_same in (("the same sample twice", True), ("two independent samples", False)):
        slopes = np.empty(REPEATS)
        for k in range(REPEATS):
            x, y = draw(rng)
            first = stump(x[:, 0], y)
            if not is_same:
                x, y = draw(rng)
            second = stump(x[:, 1], y - first[x[:, 0]])
            slopes[k] = second[1] - second[0]
        error = slopes.std() / np.sqrt(REPEATS)
        expected = -C2 / (N - 1) if is_same else 0.0
        bias = slopes.mean() - C2
        print(f"{name}: bias of the effect of x2 {bias:+.4f} (standard error {error:.4f}), in theory {expected:+.4f}")
        assert abs(bias - expected) < 4.0 * error + 2e-3
    print("boosting='ordered' takes the gradient of each row from models that have not seen it (docs/boosting.md).")


if __name__ == "__main__":
    main()
