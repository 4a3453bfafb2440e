"""A loss in one line: squared error for high and low targets, absolute error for the middle.

Errors at the ends of the range count most, outliers among the many ordinary targets least. Gradient, hessian, starting
score and metric are derived from the function.
"""

from __future__ import annotations

import numpy as np

from sapwood import SapwoodRegressor


def squared_at_the_ends(y, score):
    """Squared error where |y| > 2, absolute error elsewhere."""
    return np.where(np.abs(y) > 2, (y - score) ** 2, np.abs(y - score))


def main() -> None:
    """Compare it with squared error on data in whose middle one row in seven reads too low."""
    random = np.random.default_rng(0)
    X = random.uniform(-1, 1, (4000, 3))
    truth = 3 * X[:, 0] + np.sin(4 * X[:, 1])
    middle = np.abs(truth) < 1
    y = truth + 0.1 * random.normal(size=len(X)) - (middle & (random.uniform(size=len(X)) < 1 / 7))
    train, test = slice(0, 3000), slice(3000, None)
    for name, objective in [("squared", "squared"), ("squared at the ends", squared_at_the_ends)]:
        model = SapwoodRegressor(objective=objective, n_estimators=200, random_state=0).fit(X[train], y[train])
        error = np.abs(model.predict(X[test]) - truth[test])
        ends = error[~middle[test]].mean()
        print(f"{name:<20} mean absolute error: middle {error[middle[test]].mean():.3f}, ends {ends:.3f}")


if __name__ == "__main__":
    main()
