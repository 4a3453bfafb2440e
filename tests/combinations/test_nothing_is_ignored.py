"""A parameter that is set has an effect, in every growth, search and kind of leaf, or is refused."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import Dart
from sapwood.errors import ParameterError
from tests.combinations.cells import KINDS, LOSSES, REFUSED, Rows, fitted

WAYS = [(growth, search) for growth in KINDS["growth"] for search in KINDS["split_search"]]
WAYS = [(g, s) for g, s in WAYS if (("growth", g), ("split_search", s)) not in REFUSED]
VECTORS = next(name for name, loss in LOSSES.items() if loss.vector_leaves)
LEAVES = {"newton": "Squared()", "renewed": "Absolute()", "per class": "OneVsAll(n_classes=0, vector_leaves=False)"}
LEAVES["vector"] = VECTORS

SET = {
    "subsample": 0.5,
    "colsample_bytree": 0.4,
    "colsample_bylevel": 0.4,
    "colsample_bynode": 0.4,
    "max_delta_step": 0.01,
    "reg_alpha": 20.0,
    "reg_lambda": 100.0,
    "min_split_gain": 60.0,
    "min_child_weight": 40.0,
    "min_child_samples": 60,
    "max_depth": 1,
    "leaf_model": "linear",
    "boosting": "ordered",
    "leaf_steps": 4,
    "random_strength": 500.0,
    "max_bins": 3,
    "learning_rate": 0.05,
    "monotone_constraints": [-1, 1, 0, 0, 0],
    "interaction_constraints": [[0], [1], [2], [3], [4]],
}


def fingerprint(growth: str, search: str, leaves: str, **more) -> str:
    cell = {kind: next(iter(choices)) for kind, choices in KINDS.items()}
    cell |= {"growth": growth, "split_search": search, "objective": LEAVES[leaves]}
    return fitted(cell, Rows.of(cell), n_estimators=3, **more).model_.fingerprint()


@pytest.mark.parametrize("parameter", SET)
@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("growth, search", WAYS)
def test_a_parameter_changes_the_model_or_is_refused_by_its_name(growth, search, leaves, parameter):
    value = SET[parameter]
    if (search, parameter) == ("random", "boosting"):
        value = Dart(1.0, skip=0.0)  # drawn splits are often the best of their node with the ordered gradients too
    try:
        changed = fingerprint(growth, search, leaves, **{parameter: value})
    except ParameterError as refusal:
        assert parameter in str(refusal)
        return
    assert changed != fingerprint(growth, search, leaves)


@pytest.mark.parametrize("leaves", LEAVES)
@pytest.mark.parametrize("growth, search", WAYS)
def test_weights_change_the_trees(growth, search, leaves):
    cell = {kind: next(iter(choices)) for kind, choices in KINDS.items()}
    cell |= {"growth": growth, "split_search": search, "objective": LEAVES[leaves]}
    rows = Rows.of(cell)
    weighted = Rows(rows.X, rows.y, np.where(rows.X[:, 2] > 0, 1.0, 9.0))
    plain, other = (fitted(cell, one, init=0.0).model_.ensemble for one in (rows, weighted))
    assert not np.array_equal(plain.threshold, other.threshold)
