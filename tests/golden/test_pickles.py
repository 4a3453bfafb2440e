"""Pickles of version 0.1 name modules that have moved; they open all the same."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

PICKLES = Path(__file__).parent / "pickles"
EXPECTED = json.loads((PICKLES / "v0.1.json").read_text())


def unpickled(name: str) -> Any:
    with open(PICKLES / f"v0.1-{name}.pickle", "rb") as file:
        return pickle.load(file)


@pytest.mark.parametrize("kind", ["options", "losses"])
def test_options_and_losses_of_earlier_pickles_are_what_they_were(kind):
    """Fields that an option has gained since then follow the old ones, with their defaults."""
    for option, expected in zip(unpickled("options")[kind], EXPECTED[kind], strict=True):
        assert repr(option).startswith(expected.removesuffix(")"))


def test_estimators_of_earlier_pickles_predict_as_they_did():
    regressor, classifier = unpickled("estimators")
    X = np.array(EXPECTED["X"])
    frame = pd.DataFrame({"a": X[:, 0], "b": EXPECTED["b"]})
    assert [one.model_.fingerprint() for one in (regressor, classifier)] == EXPECTED["fingerprints"]
    assert regressor.predict(X[:10]).tolist() == EXPECTED["predictions"][0]
    assert classifier.predict_proba(frame[:10]).tolist() == EXPECTED["predictions"][1]
