"""Small models for tests."""

from __future__ import annotations

import numpy as np

from sapwood.data.tables.schema import Schema
from sapwood.model.model import Model
from tests.model.forests import random_ensemble


def regression_model(seed: int = 0, **changes) -> Model:
    """A model of one output on four named columns."""
    ensemble = random_ensemble(np.random.default_rng(seed), n_trees=5, leaves=changes.pop("leaves", (1, 12)))
    values = {
        "schema": Schema(4, ("a", "b", "c", "d")),
        "ensemble": ensemble,
        "base_scores": np.array([0.75]),
        "link": "identity",
        "objective": {"name": "squared_error"},
        "metadata": {"params": {"learning_rate": 0.1}, "best_iteration": 5},
    }
    return Model(**(values | changes))


def class_model(n_classes: int = 3, seed: int = 0, **changes) -> Model:
    """A model of several classes, one tree per class and round; two classes share one score."""
    n_outputs = 1 if n_classes == 2 else n_classes
    ensemble = random_ensemble(np.random.default_rng(seed), n_trees=3 * n_outputs, n_outputs=n_outputs, leaves=(2, 9))
    values = {
        "schema": Schema(4),
        "ensemble": ensemble,
        "base_scores": np.linspace(-0.5, 0.5, n_outputs),
        "link": "logit" if n_outputs == 1 else "softmax",
        "classes": np.array(["ash", "birch", "çedar", "døm", "elm"])[:n_classes],
    }
    return Model(**(values | changes))
