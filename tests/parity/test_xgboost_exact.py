"""X3: exact search grows XGBoost's trees, node by node."""

from __future__ import annotations

import numpy as np
import pytest
from bench.parity import Data, Settings, match_exact, punched

from tests.parity.real_tables import REAL_TABLES

xgboost = pytest.importorskip("xgboost")

TABLES = {
    **REAL_TABLES,
    "adult, a tenth missing, weights": punched(REAL_TABLES["adult"]),
    "breast_cancer, a tenth missing, weights": punched(REAL_TABLES["breast_cancer"]),
    "diabetes, a tenth missing, weights": punched(REAL_TABLES["diabetes"]),
}
SETTINGS = {
    "default": Settings(rounds=5, learning_rate=0.3),
    "deep": Settings(rounds=3, max_depth=10, learning_rate=0.5, min_child_weight=0.0, reg_lambda=0.1),
    "heavy leaves": Settings(rounds=5, max_depth=4, reg_lambda=10.0, min_child_weight=20.0),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("settings", SETTINGS)
def test_trees_are_those_of_xgboost_exact(table, settings):
    """X3: feature, threshold between the same two values, missing side, leaf values to 1e-5; under 1 % below ties."""
    found = match_exact(TABLES[table], SETTINGS[settings])
    assert found.differences == []
    assert found.skipped < 0.01 * found.nodes


def numbers() -> Data:
    rng = np.random.default_rng(0)
    X = rng.random((1000, 4), dtype=np.float32)
    return Data(X, X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(len(X)), binary=False)


@pytest.mark.parametrize("data", [REAL_TABLES["adult"], numbers()], ids=["adult", "numbers"])
def test_predictions_for_new_rows_are_those_of_xgboost_exact(data):
    """X3: thresholds lie halfway between two values, so that rows that training did not see go the same way."""
    half = len(data.y) // 2
    known, new = Data(data.X[:half], data.y[:half], data.binary), data.X[half:]
    settings = Settings(rounds=20)
    ours = settings.sapwood(known, split_search="exact", growth="levelwise")
    first = np.full(half, ours.model_.base_scores[0])
    theirs = settings.xgboost(known, first, settings.rounds, tree_method="exact")
    scores = theirs.predict(xgboost.DMatrix(new, base_margin=first), output_margin=True)
    np.testing.assert_allclose(ours.predict_raw(new), scores, rtol=0, atol=1e-5)
