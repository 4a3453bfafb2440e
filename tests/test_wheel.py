"""The wheel: small, for any Python of its platform, and at work with NumPy alone."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import numpy as np
import pytest

import sapwood
from sapwood import SapwoodRegressor
from sapwood.native.compiler import sources
from sapwood.native.system.cpu_level import cpu_levels
from tests.processes import ROOT

LARGEST = 3_000_000
HEAVY = ["sklearn", "pandas", "scipy", "numba", "llvmlite", "narwhals", "polars", "pyarrow"]

BLOCK = """
import importlib.abc, sys

class Refusal(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ImportError(f"{{name}} is not installed")

sys.meta_path.insert(0, Refusal())
import sapwood, numpy as np
assert sapwood.__file__.startswith({where!r}), sapwood.__file__
"""


def run(*command: str | Path, **environment: str) -> str:
    """Run a command and return what it prints."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, env=os.environ | environment, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling")
    pytest.importorskip("numba")
    folder = tmp_path_factory.mktemp("wheel")
    pip = sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"
    run(*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder, ROOT)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A folder with what the wheel installs and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def use(installed: Path, code: str, without: list[str]) -> str:
    """Run code with the installed wheel in a process that cannot import some packages."""
    prelude = BLOCK.format(names=set(without), where=str(installed))
    return run(sys.executable, "-c", prelude + code, PYTHONPATH=str(installed), SAPWOOD_KERNELS="native")


def test_the_wheel_is_for_any_python_of_the_platform(wheel):
    name, version, *tag = wheel.stem.split("-")
    assert (name, version) == ("sapwood", sapwood.__version__)
    assert tag[:2] == ["py3", "none"]
    assert tag[2] != "any"


def test_the_wheel_is_small(wheel):
    assert wheel.stat().st_size < LARGEST


def test_the_wheel_holds_the_library_of_every_cpu_level_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    libraries = {Path(name).name for name in names if name.endswith(sources.SUFFIX)}
    assert libraries == {sources.library_path(level, sources.source_hash()).name for level in cpu_levels()}
    assert all(name.startswith("sapwood") for name in names)
    assert not [name for name in names if "test" in Path(name).name or name.endswith((".o", ".pyc", ".part"))]


def test_the_wheel_needs_no_numba(wheel):
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    needs = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist")
    always = [need for need in needs if "extra ==" not in need]
    assert any(need.startswith("numpy") for need in always)
    assert not [need for need in always if need.startswith(("numba", "llvmlite"))]


def test_a_model_predicts_with_numpy_alone(installed, tmp_path):
    """The file is opened and used in a process that has NumPy and safetensors and none of the heavy packages."""
    X = np.random.default_rng(0).normal(size=(500, 4))
    model = SapwoodRegressor(n_estimators=5).fit(X, X[:, 0] * X[:, 1]).model_
    model.save(tmp_path / "model.sapwood")
    np.save(tmp_path / "X.npy", X)
    code = f"""
X = np.load({str(tmp_path / "X.npy")!r})
answer = sapwood.load({str(tmp_path / "model.sapwood")!r}).predict(X)
print(answer.tobytes().hex())
print(sorted(set(sys.modules) & {set(HEAVY)!r}))
"""
    answer, loaded = use(installed, code, HEAVY).splitlines()
    assert loaded == "[]"
    assert bytes.fromhex(answer) == model.predict(X).tobytes()


def test_the_wheel_trains_without_numba(installed):
    X = np.random.default_rng(0).normal(size=(3000, 4))
    expected = SapwoodRegressor(n_estimators=5).fit(X, X[:, 0] * X[:, 1]).model_.fingerprint()
    code = """
X = np.random.default_rng(0).normal(size=(3000, 4))
print(sapwood.SapwoodRegressor(n_estimators=5).fit(X, X[:, 0] * X[:, 1]).model_.fingerprint())
"""
    assert use(installed, code, ["numba", "llvmlite"]).strip() == expected
