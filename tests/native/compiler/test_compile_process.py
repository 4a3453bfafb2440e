"""Processes that compile kernels: each module is taken by one of them, and none waits when all are translated."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sapwood.native.compiler import compile_process, object_files
from sapwood.native.runtime.kernel import REGISTRY
from sapwood.native.system.cpu_level import cpu_levels


def test_a_process_translates_and_optimises_what_lacks_an_object(tmp_path):
    pytest.importorskip("numba")
    levels = list(cpu_levels())
    object_files.import_kernels()
    kernel = REGISTRY["draw_many"]
    folder, shared = tmp_path / "objects", tmp_path / "shared"
    shared.mkdir()
    paths = [object_files.object_path(kernel, 0, level, folder) for level in levels]
    object_files.write_atomically(paths[0], b"an object of an earlier build")
    search = [str(Path(object_files.__file__).parents[3]), *filter(None, sys.path)]
    code = (
        f"import sys; sys.path[:] = {search!r}; from pathlib import Path; "
        "from sapwood.native.compiler.compile_process import compile_objects; "
        f"compile_objects({levels!r}, ['draw_many'], Path({str(folder)!r}), Path({str(shared)!r}), 1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    assert paths[0].read_bytes() == b"an object of an earlier build"
    assert all(path.read_bytes().startswith((b"\x7fELF", b"\xcf\xfa\xed\xfe")) for path in paths[1:])
    assert not [*shared.glob("*/*.bc"), *shared.glob("*/*.taken")]


def test_a_kernel_is_claimed_once(tmp_path):
    assert [compile_process._claim(tmp_path / "draw_many_0") for _ in range(2)] == [True, False]


def test_the_largest_module_is_taken_first_and_each_once(tmp_path):
    for name, size in {"small": 1, "large": 3, "middle": 2}.items():
        object_files.write_atomically(tmp_path / "level" / f"{name}.bc", b"x" * size)
    taken = [compile_process._take_module(tmp_path) for _ in range(4)]
    assert [path and path.name for path in taken] == ["large.taken", "middle.taken", "small.taken", None]


def test_a_process_whose_parent_has_died_does_not_wait_for_translators(tmp_path, monkeypatch):
    parents = iter([1, 1, 2])
    monkeypatch.setattr(os, "getppid", lambda: next(parents))
    compile_process.optimise(tmp_path, tmp_path, n_translators=1)
