"""A custom loss in one line: squared error for large targets, absolute error for the others.

Gradient, hessian, initial score and metric are derived from the function.
"""

from __future__ import annotations

import numpy as np

from sapwood import SapwoodRegressor


def mixed_error(y, score):
    """Squared error where |y| > 2, absolute error elsewhere."""
    return np.where(np.abs(y) > 2, (y - score) ** 2, np.abs(y - score))


def main() -> None:
    """Compare it with squared error on data in which one in seven of the small targets is too low."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (4000, 3))
    truth = 3 * X[:, 0] + np.sin(4 * X[:, 1])
    is_small = np.abs(truth) < 1
    y = truth + 0.1 * random.normal(size=len(X)) - (is_small & (random.uniform(size=len(X)) < 1 / 7))
    train, test = slice(0, 3000), slice(3000, None)
    for name, objective in [("squared", "squared"), ("mixed", mixed_error)]:
        model = SapwoodRegressor(objective=objective, n_estimators=200, random_state=0).fit(X[train], y[train])
        error = np.abs(model.predict(X[test]) - truth[test])
        others = error[~is_small[test]].mean()
        print(f"{name:<8} mean absolute error: small targets {error[is_small[test]].mean():.3f}, others {others:.3f}")


if __name__ == "__main__":
    main()
