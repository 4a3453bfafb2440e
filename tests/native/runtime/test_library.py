"""The library that is loaded is the one that belongs to these sources and this CPU."""

from __future__ import annotations

import json
import subprocess

import pytest

from sapwood.native.compiler import sources
from sapwood.native.runtime import library as load
from sapwood.native.runtime.library import LibraryError


@pytest.fixture
def unloaded(monkeypatch):
    """A process that has not opened the library yet."""
    monkeypatch.setattr(load, "_library", None)


@pytest.fixture
def stale(unloaded, monkeypatch):
    """Sources that no library belongs to."""
    monkeypatch.setattr(sources, "source_hash", lambda: "0" * 16)


def test_a_stale_library_is_never_loaded_outside_a_checkout(stale, monkeypatch, tmp_path):
    monkeypatch.setattr(sources, "PACKAGE", tmp_path / "site-packages" / "sapwood")
    with pytest.raises(LibraryError, match=r"missing or belong to other sources: reinstall sapwood"):
        load.library()


def test_a_stale_library_is_never_loaded_without_numba(stale, monkeypatch):
    monkeypatch.setattr(load, "find_spec", lambda name: None)
    with pytest.raises(LibraryError, match=r"SAPWOOD_KERNELS=jit with sapwood\[jit\]"):
        load.library()


def test_a_build_that_fails_says_why(stale, monkeypatch):
    broken = [load.sys.executable, "-c", "import sys; sys.exit('no space left')"]
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda command, **settings: run(broken, **settings))
    with pytest.raises(LibraryError, match=r"(?s)rebuilding the kernels failed.*no space left"):
        load.library()


def test_the_library_says_what_it_was_made_of():
    made_of = json.loads(load.manifest())
    assert made_of["sources"] == sources.source_hash()
    assert made_of["level"] == sources.best_level()
    assert {"numba", "llvmlite"} <= made_of.keys()


def test_the_identity_changes_with_every_source(monkeypatch, tmp_path):
    paths = []
    for name in ("a.py", "b.py"):
        paths.append(tmp_path / name)
        paths[-1].write_text(name)
    monkeypatch.setattr(sources, "PACKAGE", tmp_path)
    monkeypatch.setattr(sources, "source_files", lambda: paths)
    before = sources.source_hash()
    paths[1].write_text("b.py ")
    assert sources.source_hash() != before


def test_the_kernels_are_among_the_sources():
    names = {path.relative_to(sources.PACKAGE).as_posix() for path in sources.source_files()}
    compiler = {"native/compiler/numba.py", "native/runtime/signature.py"}
    assert {"kernels/layout.py", "kernels/grow/histogram_tree.py"} | compiler <= names


def test_a_cpu_level_can_be_chosen(monkeypatch):
    for level in sources.levels():
        monkeypatch.setenv("SAPWOOD_CPU", level)
        assert sources.best_level() == level


def test_an_unknown_cpu_level_is_refused(monkeypatch):
    monkeypatch.setenv("SAPWOOD_CPU", "pentium")
    with pytest.raises(ValueError, match=r"SAPWOOD_CPU must be one of .*, got 'pentium'"):
        sources.best_level()


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("avx avx2 bmi1 bmi2 f16c fma abm movbe sse4_2", "x86-64-v3"),
        ("avx avx2 bmi1 bmi2 f16c abm movbe sse4_2", "x86-64-v2"),
        ("", "x86-64-v2"),
    ],
)
def test_the_best_level_is_what_the_cpu_has(monkeypatch, flags, level):
    monkeypatch.delenv("SAPWOOD_CPU", raising=False)
    monkeypatch.setattr(sources.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(sources, "_cpu_flags", lambda: set(flags.split()))
    assert sources.best_level() == level


def test_arm_has_one_level(monkeypatch):
    monkeypatch.delenv("SAPWOOD_CPU", raising=False)
    monkeypatch.setattr(sources.platform, "machine", lambda: "arm64")
    assert sources.best_level() == "generic"
