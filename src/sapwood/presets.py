"""Presets: the defaults of other machines, in our words.

A preset fills what the user left unset; what a preset leaves out comes from the declared default in ``params.py``.
"""

from __future__ import annotations

from typing import Any

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # Friedman's machine with its small trees: no penalty on leaves, no minimum beyond one row.
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
        "max_leaves": 31,
        "min_child_samples": 20,
        "min_child_weight": 1e-3,
        "reg_lambda": 0.0,
    },
}
