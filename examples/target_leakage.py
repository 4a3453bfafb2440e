"""Target statistics that leak the target, and ordered ones that do not.

The statistic of a category is (sum of y + a p) / (count + a), with a prior p of weight a. What differs is the rows that
are summed: all rows (greedy), all but the row itself (leave-one-out), rows set aside (holdout), or rows that come
earlier in a random order (ordered). Categories that know nothing about the target show the leak: a threshold on the
statistic separates the training rows and is worthless on new ones.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from sapwood import Greedy, Ordered, SapwoodClassifier

PRIOR, WEIGHT = 0.5, 1.0


def statistic(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return the smoothed mean of a category from the sum and the number of its targets."""
    return (total + WEIGHT * PRIOR) / (count + WEIGHT)


def training_statistics(kind: str, codes: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the statistic of each row that is trained on, and which rows these are."""
    rows = np.arange(len(y))
    total, count = np.bincount(codes, y), np.bincount(codes)
    if kind == "greedy":
        return statistic(total[codes], count[codes]), rows
    if kind == "leave-one-out":
        return statistic(total[codes] - y, count[codes] - 1), rows
    if kind == "holdout":
        half = len(y) // 2
        total, count = (np.bincount(codes[:half], w, len(total)) for w in (y[:half], None))
        return statistic(total[codes[half:]], count[codes[half:]]), rows[half:]
    total, count, values = np.zeros(len(total)), np.zeros(len(total)), np.empty(len(y))
    for row in rows:  # the rows are in random order already
        values[row] = statistic(total[codes[row]], count[codes[row]])
        total[codes[row]] += y[row]
        count[codes[row]] += 1
    return values, rows


def best_threshold(values: np.ndarray, y: np.ndarray) -> tuple[float, int]:
    """Return the threshold, and the class above it, with the best accuracy."""
    thresholds = np.unique(np.concatenate([values - 1e-9, [values.max()]]))
    scores = np.array([np.mean((values > t) == (y == 1)) for t in thresholds])
    best, worst = int(np.argmax(scores)), int(np.argmin(scores))
    return (thresholds[best], 1) if scores[best] >= 1.0 - scores[worst] else (thresholds[worst], 0)


def main() -> None:
    """Compare training and test accuracy of the four kinds on categories without information."""
    rng = np.random.default_rng(0)
    n = 1_000
    y, y_test = rng.integers(0, 2, n), rng.integers(0, 2, n)
    for title, codes, unseen in (
        ("every category occurs once", np.arange(n), True),
        ("one category", np.zeros(n, int), False),
    ):
        print(title)
        for kind in ("greedy", "leave-one-out", "holdout", "ordered"):
            values, rows = training_statistics(kind, codes, y)
            threshold, above = best_threshold(values, y[rows])
            new = PRIOR if unseen else float(statistic(y.sum(), n))
            train = np.mean((values > threshold) == (y[rows] == above))
            test = np.mean((new > threshold) == (y_test == above))
            print(f"  {kind:14s} accuracy in training {train:.2f}, on new rows {test:.2f}")
            leaks = kind == "greedy" if unseen else kind == "leave-one-out"
            assert (train == 1.0) == leaks

    X = pd.DataFrame({"id": [f"id{i // 2}" for i in range(2 * n)], "x": rng.normal(size=2 * n)})
    target = (X["x"] + rng.normal(size=2 * n) > 0.0).to_numpy()
    train, test = np.arange(2 * n) % 2 == 0, np.arange(2 * n) % 2 == 1
    for encoding in (Greedy(), Ordered()):
        model = SapwoodClassifier(n_estimators=50, category_encoding={"id": encoding}, random_state=0)
        accuracy = model.fit(X[train], target[train]).score(X[test], target[test])
        print(f"ids beside a useful column, {type(encoding).__name__} statistics: accuracy on new rows {accuracy:.2f}")


if __name__ == "__main__":
    main()
