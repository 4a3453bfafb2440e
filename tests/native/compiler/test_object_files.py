"""Names of objects in the cache: they change with everything that decides the code, and with nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from sapwood.kernels.numeric import random
from sapwood.native.compiler import object_files
from sapwood.native.runtime import kernel
from sapwood.native.runtime.kernel import Kernel
from sapwood.native.system.cpu_level import cpu_levels

FACTOR = 2.0


def _scaled(pair, out):
    out[0] = pair.first * FACTOR


def name_of(made: Kernel) -> str:
    """The name of its object in the cache."""
    return object_files.object_path(made, 0, next(iter(cpu_levels())), Path("cache")).name


def name_with(monkeypatch, **fields: str) -> str:
    """The name of the object of a kernel that takes a record with these fields."""
    record = NamedTuple("Pair", [(name, object) for name in fields])  # type: ignore[misc]
    record.__annotations__ = fields
    monkeypatch.setitem(kernel.LAYOUTS, "Pair", record)
    return name_of(Kernel(_scaled, ("Pair, f64[:]",)))


def test_the_same_kernel_has_the_same_object(monkeypatch):
    assert name_with(monkeypatch, first="f64", second="f64") == name_with(monkeypatch, first="f64", second="f64")


def test_the_object_changes_when_fields_change_places(monkeypatch):
    assert name_with(monkeypatch, first="f64", second="f64") != name_with(monkeypatch, second="f64", first="f64")


def test_the_object_changes_with_a_constant(monkeypatch):
    before = name_with(monkeypatch, first="f64")
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert name_with(monkeypatch, first="f64") != before


def test_the_object_changes_with_the_compiler(monkeypatch):
    before = name_of(random.draw_many)
    monkeypatch.setattr(object_files, "compiler_versions", lambda: {"numba": "0.1", "llvmlite": "0.1"})
    assert name_of(random.draw_many) != before


def test_the_object_changes_with_the_cpu_level():
    levels = ("x86-64-v2", "x86-64-v3")
    names = {object_files.object_path(random.draw_many, 0, level, Path("cache")).name for level in levels}
    assert len(names) == 2


def test_the_object_changes_with_a_kernel_far_below(monkeypatch):
    before = name_of(random.draw_many)

    def mix64(x):
        return x

    monkeypatch.setitem(random.draw.function.__globals__, "mix64", Kernel(mix64, ()))
    assert name_of(random.draw_many) != before


def test_comments_and_docstrings_do_not_change_the_object():
    plain = "def f(x):\n    return x + 1\n"
    documented = 'def f(x):\n    """Add one."""\n    # a comment\n    return x + 1\n'
    assert object_files._without_comments(documented) == object_files._without_comments(plain)
