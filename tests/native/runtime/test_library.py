"""The library that is loaded is the one that belongs to these sources and this CPU."""

from __future__ import annotations

import json
import subprocess

import pytest

from sapwood.native.compiler import sources
from sapwood.native.runtime import library
from sapwood.native.runtime.library import LibraryError
from sapwood.native.system.cpu_level import best_cpu_level


@pytest.fixture
def unloaded(monkeypatch):
    """A process that has not opened the library yet."""
    monkeypatch.setattr(library, "_library", None)


@pytest.fixture
def stale(unloaded, monkeypatch):
    """Sources that no library belongs to."""
    monkeypatch.setattr(sources, "source_hash", lambda: "0" * 16)


def test_a_stale_library_is_never_loaded_outside_a_checkout(stale, monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "PACKAGE", tmp_path / "site-packages" / "sapwood")
    with pytest.raises(LibraryError, match=r"missing or belong to other sources: reinstall sapwood"):
        library.library()


def test_a_stale_library_is_never_loaded_without_numba(stale, monkeypatch):
    monkeypatch.setattr(library, "find_spec", lambda name: None)
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
