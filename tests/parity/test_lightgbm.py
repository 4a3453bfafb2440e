"""L8: with the same bins and parameters the predictions are LightGBM's.

The data are what L8 asks for: whole numbers of fewer than 200 levels and no zeros; with these seeds no two cuts tie.
Two habits of LightGBM's are stepped around. It guesses the rows of a side from its hessian, bin by bin: weights near 1
keep the guess right. And below a leaf in which no cut of a feature gains it never looks at that feature again, which
cannot happen without a penalty.
"""

from __future__ import annotations

import numpy as np
import pytest
from bench.parity import Data, Settings

pytest.importorskip("lightgbm")

# Between whole numbers: LightGBM adds a little to sums of hessians, which decides where a side has just the least.
SETTINGS = Settings(rounds=50, reg_lambda=0.0, min_child_weight=4.5)


def whole_numbers(seed: int, binary: bool, weighted: bool, missing: bool, n: int = 3000) -> Data:
    rng = np.random.default_rng(seed)
    X = rng.integers(1, 190, (n, 6)).astype(np.float64)
    X[:, 1] = rng.integers(1, 5, n)
    X[:, 2] *= -1
    signal = X[:, 0] / 60 + X[:, 1] * X[:, 3] / 90 - 4 + 0.01 * X[:, 2]
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    if binary:
        y = (rng.random(n) < 1 / (1 + np.exp(-signal))).astype(np.float64)
    else:
        y = (signal + rng.standard_normal(n)).astype(np.float32).astype(np.float64)  # LightGBM keeps targets in float32
    weight = (0.9 + 0.2 * rng.random(n)).astype(np.float32).astype(np.float64) if weighted else None
    return Data(X, y, binary, weight)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("seed", [0, 2])
def test_predictions_are_those_of_lightgbm(seed, binary, weighted, missing):
    data = whole_numbers(seed, binary, weighted, missing)
    ours = SETTINGS.sapwood(data, max_leaves=31, max_depth=None, precision="wide")
    theirs = SETTINGS.lightgbm(data, 31)
    for rounds in (1, 10, SETTINGS.rounds):
        expected = theirs.predict(data.X, raw_score=True, num_iteration=rounds)
        np.testing.assert_allclose(ours.model_.predict_raw(data.X, iterations=rounds), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("binary", [False, True])
def test_predictions_for_new_rows_are_those_of_lightgbm_where_no_category_is_empty(binary):
    data = whole_numbers(3, binary, weighted=True, missing=False, n=6000)
    few = Data(np.ceil(data.X / 24), data.y, binary, data.weight)
    few.X[few.X == 0] = 9.0
    known = Data(few.X[:3000], few.y[:3000], binary, few.weight[:3000])
    settings = Settings(rounds=20, reg_lambda=0.0, min_child_weight=4.5)
    ours = settings.sapwood(known, max_leaves=6, max_depth=None, precision="wide")
    expected = settings.lightgbm(known, 6).predict(few.X[3000:], raw_score=True)
    np.testing.assert_allclose(ours.predict_raw(few.X[3000:]), expected, rtol=0, atol=1e-6)
