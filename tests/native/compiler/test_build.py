"""Building the library: the symbols it may need, its size, progress, and errors of the build."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from sapwood.native.compiler import build, object_files
from sapwood.native.compiler.elf import undefined_symbols
from sapwood.native.runtime import kernel
from sapwood.native.runtime import library as load
from sapwood.native.runtime.kernel import Kernel
from sapwood.native.system.cpu_level import cpu_levels

on_linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files")
LARGEST_LIBRARY = 1_500_000


needs_linker = pytest.mark.skipif(build.find_linker() is None, reason="linking needs a C compiler, a linker or ziglang")


@on_linux
@pytest.mark.parametrize("level", cpu_levels())
def test_the_library_needs_nothing_but_libc_and_exact_functions_of_libm(libraries, level):
    assert undefined_symbols(libraries[level].read_bytes()) <= build.ALLOWED_UNDEFINED


@pytest.mark.parametrize("level", cpu_levels())
def test_the_library_is_small(libraries, level):
    assert libraries[level].stat().st_size < LARGEST_LIBRARY


def test_a_build_with_nothing_to_do_returns_the_libraries_at_once(libraries, monkeypatch):
    monkeypatch.setattr(build, "_start", lambda *_: pytest.fail("compiled again"))
    assert build.build() == list(libraries.values())


def test_a_change_that_leaves_all_kernels_as_they_are_only_links(libraries, monkeypatch, tmp_path):
    monkeypatch.setattr(build, "_start", lambda *_: pytest.fail("compiled again"))
    monkeypatch.setattr(build.sources, "LIBRARY_FOLDER", tmp_path)
    monkeypatch.setattr(build.sources, "source_hash", lambda: "other comments")
    monkeypatch.setattr(object_files, "missing_kernels", lambda *_: [])
    [path] = build.build([next(iter(cpu_levels()))])
    assert path.parent == tmp_path and path.exists()


def test_every_entry_point_is_in_the_library():
    object_files.import_kernels()
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


def test_the_build_reports_progress_on_stderr(monkeypatch, tmp_path, capsys):
    def start(levels, names, folder, shared, n_translators, output):
        path = object_files.object_path(kernel.REGISTRY["draw_many"], 0, *levels, folder)
        code = "import sys, time; from pathlib import Path; path = Path(sys.argv[1]); path.parent.mkdir(); path.touch()"
        return subprocess.Popen([sys.executable, "-c", f"{code}; time.sleep(1)", path], stdout=output, text=True)

    object_files.import_kernels()
    monkeypatch.setattr(build, "_start", start)
    monkeypatch.setattr(build, "REPORT_SECONDS", 0.1)
    build._compile(["x86-64-v3"], ["draw_many"], tmp_path)
    assert capsys.readouterr().err == "sapwood: compiled 1 of 1 kernels\n"


def test_a_failed_compilation_stops_the_others_and_shows_what_the_compiler_said(monkeypatch, tmp_path):
    started = []

    def start(levels, names, folder, shared, n_translators, output):
        fails = "print('no such type', flush=True); raise SystemExit(1)"
        code = fails if started else "import time; time.sleep(600)"
        started.append(subprocess.Popen([sys.executable, "-c", code], stdout=output, text=True))
        return started[-1]

    object_files.import_kernels()
    monkeypatch.setattr(build, "_start", start)
    monkeypatch.setattr(build, "usable_cpus", lambda: 2)
    with pytest.raises(build.BuildError, match=r"(?s)compiling the kernels failed.*no such type"):
        build._compile(["x86-64-v3"], ["draw_many", "draw_split_noise"], tmp_path)
    assert [process.returncode for process in started] == [-15, 1]
