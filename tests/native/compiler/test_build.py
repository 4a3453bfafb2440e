"""Building the library: what it may need, how large it is, and which objects are taken from the cache."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from sapwood.kernels.numeric import random
from sapwood.native.compiler import build, objects, sources
from sapwood.native.compiler.elf import undefined_symbols
from sapwood.native.runtime import kernel
from sapwood.native.runtime import library as load
from sapwood.native.runtime.kernel import Kernel

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")
LARGEST_LIBRARY = 1_500_000


needs_linker = pytest.mark.skipif(build.find_linker() is None, reason="linking needs a C compiler, a linker or ziglang")


@on_linux
@pytest.mark.parametrize("level", sources.levels())
def test_the_library_needs_nothing_but_libc_and_exact_functions_of_libm(libraries, level):
    assert undefined_symbols(libraries[level].read_bytes()) <= build.ALLOWED_UNDEFINED


@pytest.mark.parametrize("level", sources.levels())
def test_the_library_is_small(libraries, level):
    assert libraries[level].stat().st_size < LARGEST_LIBRARY


def test_a_build_with_nothing_to_do_returns_the_libraries_at_once(libraries, monkeypatch):
    monkeypatch.setattr(build, "_start", lambda *_: pytest.fail("compiled again"))
    assert build.build() == list(libraries.values())


def test_every_entry_point_is_in_the_library():
    objects.import_kernels()
    library = load.library()
    for made in kernel.REGISTRY.values():
        for variant in range(len(made.variants)):
            assert hasattr(library, f"sapwood_{made.name}_{variant}")


@needs_linker
@on_linux
def test_a_library_that_needs_python_or_inexact_functions_is_refused(tmp_path):
    path = tmp_path / "foreign.o"
    path.write_bytes(_object_of("declare double @pow(double, double) define double @f(double %x) { "
                                "%y = call double @pow(double %x, double %x) ret double %y }"))  # fmt: skip
    with pytest.raises(build.BuildError, match=r"neither libc's nor exact libm's: \['pow'\]"):
        build._link([path], tmp_path / "lib" / "foreign.so")
    assert not list((tmp_path / "lib").iterdir())


@needs_linker
def test_objects_that_cannot_be_linked_stop_the_build(tmp_path):
    path = tmp_path / "garbage.o"
    path.write_bytes(b"not an object")
    with pytest.raises(build.BuildError, match="failed"):
        build._link([path], tmp_path / "garbage.so")


def test_without_a_linker_the_build_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "find_linker", lambda: None)
    with pytest.raises(build.BuildError, match="install a C compiler, or the ziglang package"):
        build._link([], tmp_path / "nothing.so")


def test_a_kernel_that_allocates_cannot_be_compiled():
    numba = pytest.importorskip("numba")
    from sapwood.native.compiler import numba as compile

    made = Kernel(_allocates, ("f64[:]",))
    with pytest.raises(numba.core.errors.NumbaError, match="Only accept returning of array passed into the function"):
        compile.dispatcher(made).compile(compile.argument_types(made, 0))


def _allocates(out):
    out[0] = np.zeros(3)[1]


def _object_of(text: str) -> bytes:
    llvm = pytest.importorskip("llvmlite.binding")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(reloc="pic")
    return machine.emit_object(llvm.parse_assembly(text))


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x01\x01 32 bits", b"MZ"])
def test_only_elf_files_of_64_bits_are_read(data):
    with pytest.raises(ValueError, match="not a 64-bit little-endian ELF file"):
        undefined_symbols(data)


# --- the cache of objects ---------------------------------------------------------------------------------------------

FACTOR = 2.0


def _scaled(pair, out):
    out[0] = pair.first * FACTOR


def name_of(made: Kernel) -> str:
    """The name of its object in the cache."""
    return objects.object_path(made, 0, next(iter(sources.levels())), Path("cache")).name


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
    before = name_of(random.draw_all)
    monkeypatch.setattr(objects, "compilers", lambda: {"numba": "0.1", "llvmlite": "0.1"})
    assert name_of(random.draw_all) != before


def test_the_object_changes_with_the_cpu_level():
    names = {objects.object_path(random.draw_all, 0, level, Path("cache")).name for level in ("x86-64-v2", "x86-64-v3")}
    assert len(names) == 2


def test_the_object_changes_with_a_kernel_far_below(monkeypatch):
    before = name_of(random.draw_all)

    def mix64(x):
        return x

    monkeypatch.setitem(random.draw.function.__globals__, "mix64", Kernel(mix64, ()))
    assert name_of(random.draw_all) != before
