"""GOSS and exclusive feature bundling in numbers.

GOSS keeps the rows with the largest gradients and draws some of the others, whose gradients it multiplies so that sums
stay unbiased. Bundling lets columns that are never non-zero together share the work of one column.
"""

from __future__ import annotations

import time

import numpy as np

from sapwood import Goss, SapwoodClassifier


def main() -> None:
    """Show that GOSS is unbiased, and that bundles leave the model as it is."""
    rng = np.random.default_rng(0)
    gradient = rng.standard_t(3, 10_000)
    top, other = 0.2, 0.1
    n_top, n_drawn = 2_000, 1_000
    order = np.argsort(-np.abs(gradient))
    estimates = []
    for _ in range(2_000):
        drawn = rng.choice(order[n_top:], n_drawn, replace=False)
        estimates.append(gradient[order[:n_top]].sum() + gradient[drawn].sum() * (10_000 - n_top) / n_drawn)
    error = np.std(estimates) / np.sqrt(len(estimates))
    print(f"sum of 10,000 gradients: {gradient.sum():.1f}")
    print(f"mean of 2,000 GOSS estimates: {np.mean(estimates):.1f} with a standard error of {error:.1f}")
    print(f"  each from {top + other:.0%} of the rows; the multiplier of the drawn rows is {(1 - top) / other:.0f}")
    assert abs(np.mean(estimates) - gradient.sum()) < 4.0 * error

    X = rng.normal(size=(20_000, 10))
    y = X[:, 0] * X[:, 1] + X[:, 2] > 0.0
    for name, sampling in (("all rows", "none"), ("GOSS, 30 % of the rows", Goss(top, other))):
        model = SapwoodClassifier(n_estimators=50, sampling=sampling, random_state=0).fit(X[:15_000], y[:15_000])
        print(f"  {name}: accuracy {model.score(X[15_000:], y[15_000:]):.4f}")

    one_hot = np.eye(200)[rng.integers(0, 200, 20_000)]
    target = one_hot @ rng.normal(size=200) + 0.1 * rng.normal(size=20_000) > 0.0
    fingerprints = []
    for bundle in (False, True):
        start = time.perf_counter()
        model = SapwoodClassifier(n_estimators=30, bundle=bundle, random_state=0).fit(one_hot, target)
        fingerprints.append(model.model_.fingerprint())
        print(
            f"200 one-hot columns, bundle={bundle}: {time.perf_counter() - start:.2f} s, model {fingerprints[-1][:8]}"
        )
    assert fingerprints[0] == fingerprints[1]


if __name__ == "__main__":
    main()
