"""Presets: the defaults of other libraries, by our parameter names.

A preset replaces declared defaults (``declaration.py``); parameters that the user sets take precedence.
"""

from __future__ import annotations

import math
from typing import Any

from sapwood.params.encodings import Auto, Crossing, Ordered, Partition
from sapwood.params.options import Symmetric

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # Friedman's gradient boosting machine: small trees without penalties.
    "gbdt": {
        "growth": "levelwise",
        "max_depth": 3,
        "max_leaves": None,
        "min_child_samples": 1,
        "min_child_weight": 0.0,
        "reg_lambda": 0.0,
    },
    "xgboost": {
        "growth": "levelwise",
        "learning_rate": 0.3,
        "max_depth": 6,
        "max_leaves": None,
        "min_child_samples": 1,
        "min_child_weight": 1.0,
        "reg_lambda": 1.0,
    },
    "lightgbm": {
        "n_estimators": 100,
        "learning_rate": 0.1,
        "growth": "leafwise",
        "max_leaves": 31,
        "max_depth": None,
        "max_bins": 255,
        "min_child_samples": 20,
        "min_child_weight": 1e-3,
        "reg_lambda": 0.0,
        "one_hot_max": 4,
        "category_encoding": Auto(max_partition=None, partition=Partition(min_group_rows=100)),
    },
    # The learning rate depends on rows and rounds, and binary classification has further defaults: see below.
    "catboost": {
        "n_estimators": 1000,
        "learning_rate": "auto",
        "growth": Symmetric("cosine"),
        "max_depth": 6,
        "min_child_weight": 0.0,
        "reg_lambda": 3.0,
        "sampling": "mvs",
        "category_encoding": Auto(Ordered(bins=16)),
        "max_combination": 4,
        "tree_combinations": True,
    },
}

# Further defaults for binary classification.
CATBOOST_BINARY_FRACTION = 0.4  # of the rows, by minimum-variance sampling
CATBOOST_BINARY: dict[str, Any] = {
    "leaf_steps": 2,
    "category_encoding": Auto(Ordered(priors=(0.0, 1.0), bins=16, permutations=2)),
    "max_combination": Crossing(4, number_levels=16, priors=(None,)),
}

# With few rounds the preparation of categories would be most of the time, which matters if there are many rows: simpler
# encodings for binary classification.
CATBOOST_FEW_ROUNDS, CATBOOST_MANY_ROWS = 200, 10_000
CATBOOST_BINARY_FEW_ROUNDS: dict[str, Any] = {
    "category_encoding": Auto(Ordered(priors=(0.0, 1.0), bins=16)),
    "max_combination": Crossing(2, number_levels=16, priors=(None,)),
    "tree_combinations": False,
}

# CatBoost's learning rate: log rate = a·log(rows) + b + c·log(rounds / 1000), by the kind of target.
CATBOOST_RATES = {
    "regression": (0.158, -4.287, -0.813),
    "binary": (0.427, -7.525, -0.917),
    "multiclass": (0.051, -2.889, -0.845),
}
MAX_CATBOOST_RATE = 0.5


def catboost_learning_rate(kind: str, n_rows: int, n_rounds: int) -> float:
    """Return the default learning rate of CatBoost for a number of rows and rounds."""
    a, b, c = CATBOOST_RATES[kind]
    return min(MAX_CATBOOST_RATE, math.exp(a * math.log(max(n_rows, 1)) + b + c * math.log(n_rounds / 1000.0)))
