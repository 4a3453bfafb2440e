"""The public names, and what importing them brings along."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import sapwood
from sapwood.native.runtime.kernel import mode
from sapwood.native.runtime.library import CHECKOUT_FILE


@pytest.mark.parametrize("name", sapwood.__all__)
def test_every_public_name_can_be_reached(name):
    assert getattr(sapwood, name) is not None
    assert name in dir(sapwood)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'SapwoodRanker'"):
        _ = sapwood.SapwoodRanker


def modules_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after running ``code``."""
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(result.stdout.split())


def test_importing_sapwood_loads_nothing_but_itself():
    loaded = modules_after("import sapwood")
    assert loaded & {"numpy", "sklearn", "numba", "narwhals", "sapwood.estimators"} == set()


def test_prediction_from_a_file_loads_nothing_of_training(tmp_path):
    path = tmp_path / "model.sapwood"
    X = [[float(i)] for i in range(50)]
    sapwood.SapwoodRegressor(n_estimators=2).fit(X, [row[0] for row in X]).save(path)
    loaded = modules_after(f"import sapwood; sapwood.load({str(path)!r}).predict({X!r})")
    unwanted = {
        "sapwood.estimators",
        "sapwood.boost",
        "sapwood.grow",
        "sapwood.params.declaration",
        "sklearn",
        "narwhals",
        "pandas",
    }
    assert loaded & unwanted == set()
    assert ("numba" in loaded) == (mode() == "jit")


def test_training_on_an_array_imports_only_what_it_uses():
    table = "import numpy as np; X = np.arange(2000.0).reshape(500, 4)"
    train = "import sapwood; sapwood.train({'n_estimators': 2}, X, X[:, 0]).predict(X)"
    loaded = modules_after(f"{table}; {train}") - modules_after(table)
    unwanted = {
        "sklearn", "scipy", "pandas", "narwhals", "safetensors", "numpy.ma", "numpy.random", "logging", "json",
        "hashlib", "secrets", "pathlib", "difflib", "sapwood.estimators", "sapwood.model.io.serialize",
        "sapwood.params.aliases.lightgbm", "sapwood.data.categories.encoders", "sapwood.data.tables.frames",
        "sapwood.boost.linear_leaves", "sapwood.boost.leaf_refit", "sapwood.boost.boosters.dart", "sapwood.grow.exact",
        "sapwood.boost.checkpoint.log", "sapwood.boost.sampling.goss", "sapwood.grow.distributed",
        "sapwood.objectives.losses.softmax", "sapwood.native.compiler.build",
    }  # fmt: skip
    if os.path.exists(CHECKOUT_FILE):  # whose kernels may be stale, which a hash tells
        unwanted -= {"pathlib", "hashlib"}
    assert loaded & unwanted == set()
