"""A loss in one line: squared error for high and low targets, absolute error for the middle.

Errors at the ends of the range count most, outliers among the many ordinary targets least. Gradient, hessian, starting
score and metric are derived from the function.
"""

from __future__ import annotations

import numpy as np

from sapwood import SapwoodRegressor


def squared_at_the_ends(y, score):
    """Squared error where |y| > 1, absolute error elsewhere."""
    return np.where(np.abs(y) > 1, (y - score) ** 2, np.abs(y - score))


def main() -> None:
    """Compare it with squared error on data whose middle has outliers."""
    random = np.random.default_rng(0)
    X = random.uniform(-2, 2, (4000, 3))
    truth = X[:, 0] + 0.5 * np.sin(3 * X[:, 1])
    y = truth + 0.1 * random.normal(size=len(X))
    y[(np.abs(truth) < 0.8) & (random.uniform(size=len(X)) < 0.1)] -= 3
    train, test = slice(0, 3000), slice(3000, None)
    for name, objective in [("squared", "squared"), ("squared at the ends", squared_at_the_ends)]:
        model = SapwoodRegressor(objective=objective, n_estimators=200, random_state=0).fit(X[train], y[train])
        error = np.abs(model.predict(X[test]) - truth[test])
        middle = np.abs(truth[test]) < 0.8
        print(f"{name:<20} mean absolute error: middle {error[middle].mean():.3f}, ends {error[~middle].mean():.3f}")


if __name__ == "__main__":
    main()
