"""The library that is loaded is the one that belongs to these sources and this CPU."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from sapwood.native.compiler import sources
from sapwood.native.runtime import library
from sapwood.native.runtime.library import LibraryError
from sapwood.native.system.cpu_level import best_cpu_level

LIBRARY = sources.library_path(best_cpu_level(), sources.source_hash())


@pytest.fixture
def unloaded(monkeypatch):
    """A process that has not opened the library yet."""
    monkeypatch.setattr(library, "_library", None)


@pytest.fixture
def stale(unloaded, monkeypatch):
    """Sources that no library belongs to."""
    monkeypatch.setattr(sources, "source_hash", lambda: "0" * 16)


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """The folder of libraries of a package that was installed from a wheel."""
    monkeypatch.setattr(library, "NATIVE", str(tmp_path))
    monkeypatch.setattr(library, "CHECKOUT_FILE", str(tmp_path / "pyproject.toml"))
    (tmp_path / "lib").mkdir()
    return tmp_path / "lib"


def test_a_missing_library_outside_a_checkout_is_an_error(stale, installed):
    with pytest.raises(LibraryError, match=r"missing or belong to other sources: reinstall sapwood"):
        library.library()


def test_an_installed_package_loads_its_only_library_without_a_look_at_its_sources(stale, installed):
    shutil.copy(LIBRARY, installed)
    assert library.library()._name == str(installed / LIBRARY.name)


def test_of_several_libraries_the_sources_decide(stale, installed):
    for name in ("1111", "2222"):
        (installed / f"sapwood-{name}-{best_cpu_level()}.so").touch()
    with pytest.raises(LibraryError, match="missing or belong to other sources"):
        library.library()


def test_a_stale_library_is_never_loaded_without_numba(stale, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(LibraryError, match=r"SAPWOOD_KERNELS=jit with sapwood\[jit\]"):
        library.library()


def test_a_build_that_fails_says_why(stale, monkeypatch):
    broken = [library.sys.executable, "-c", "import sys; sys.exit('no space left')"]
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **settings: run(broken, **settings))
    with pytest.raises(LibraryError, match=r"(?s)rebuilding the kernels failed.*no space left"):
        library.library()


def test_the_library_says_what_it_was_made_of():
    made_of = json.loads(library.manifest())
    assert made_of["sources"] == sources.source_hash()
    assert made_of["level"] == best_cpu_level()
    assert {"numba", "llvmlite"} <= made_of.keys()
