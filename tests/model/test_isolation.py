"""Prediction needs NumPy and the library alone."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.model.example_models import class_model

FOREIGN = ("sklearn", "pandas", "polars", "pyarrow", "scipy", "narwhals", "lightgbm", "xgboost", "catboost")
TRAINING = ("sapwood.boost", "sapwood.grow", "sapwood.estimators", "sapwood.explain", "sapwood.metrics")

PROGRAM = """
import sys
import numpy as np
import sapwood
model = sapwood.load(sys.argv[1])
np.save(sys.argv[2], model.predict(np.load(sys.argv[3])))
print(*sorted(sys.modules))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory) -> tuple[set[str], np.ndarray]:
    folder = tmp_path_factory.mktemp("isolation")
    model = class_model(3)
    model.save(folder / "m.sapwood")
    np.save(folder / "x.npy", np.eye(4))
    mode = "native" if os.environ.get("SAPWOOD_KERNELS", "native") == "native" else "python"
    output = subprocess.run(
        [sys.executable, "-c", PROGRAM, folder / "m.sapwood", folder / "y.npy", folder / "x.npy"],
        env=os.environ | {"SAPWOOD_KERNELS": mode},
        capture_output=True,
        text=True,
        check=True,
    )
    return set(output.stdout.split()), np.load(folder / "y.npy")


@pytest.mark.parametrize("name", [*FOREIGN, "numba", "llvmlite"])
def test_prediction_does_not_import(name, loaded):
    assert name not in loaded[0]


@pytest.mark.parametrize("name", TRAINING)
def test_prediction_does_not_import_training(name, loaded):
    assert not [module for module in loaded[0] if module == name or module.startswith(name + ".")]


def test_a_fresh_process_predicts_the_same(loaded):
    np.testing.assert_array_equal(loaded[1], class_model(3).predict(np.eye(4)))
