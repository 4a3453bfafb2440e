"""One of the processes that compile kernels: it translates them to LLVM IR, optimises what is translated, or both.

The processes share a folder. A translator claims a kernel by a file of its name, and leaves the bitcode in the folder
of each CPU level, ``level/object.bc``; whoever renames that file optimises it. Few processes translate, because kernels
call much the same functions, which each translator has to translate; all optimise once there is nothing to translate.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Sequence
from pathlib import Path

from sapwood.native.compiler import object_files
from sapwood.native.runtime.kernel import REGISTRY

WAIT_SECONDS = 0.05
GARBAGE_THRESHOLD = 10_000  # objects; Numba makes millions
TRANSLATED = "translated"  # the suffix of a file that a translator leaves when it has finished


def compile_objects(
    levels: Sequence[str], names: Sequence[str], folder: Path, shared: Path, n_translators: int
) -> None:
    """Translate kernels unless ``names`` is empty, then optimise what this and other processes have translated."""
    if names:
        translate(levels, names, folder, shared)
        Path(shared, f"{os.getpid()}.{TRANSLATED}").touch()
    optimise(folder, shared, n_translators)


def translate(levels: Sequence[str], names: Sequence[str], folder: Path, shared: Path) -> None:
    """Translate the kernels that no other process has claimed, and that lack an object."""
    from sapwood.native.compiler import numba

    gc.set_threshold(GARBAGE_THRESHOLD)
    numba.compile_ahead_of_time()
    object_files.import_kernels()
    for kernel in (REGISTRY[name] for name in names):
        for variant in range(len(kernel.variants)):
            if not _claim(shared / f"{kernel.name}_{variant}"):
                continue
            code = numba.llvm_module(kernel, variant).as_bitcode()
            gc.freeze()  # what Numba keeps of a kernel lives as long as the process
            for level in levels:
                path = object_files.object_path(kernel, variant, level, folder)
                if not path.exists():
                    object_files.write_atomically(shared / level / f"{path.stem}.bc", code)


def optimise(folder: Path, shared: Path, n_translators: int) -> None:
    """Compile translated kernels to objects until all translators have finished and nothing is left."""
    from sapwood.native.compiler import llvm

    parent = os.getppid()
    while os.getppid() == parent:
        is_translated = len(list(shared.glob(f"*.{TRANSLATED}"))) == n_translators
        path = _take_module(shared)
        if path is not None:
            level = path.parent.name
            data = llvm.optimised_object(path.read_bytes(), level)
            object_files.write_atomically(folder / level / f"{path.stem}.o", data)
            path.unlink()
        elif is_translated:
            return
        else:
            time.sleep(WAIT_SECONDS)


def _claim(mark: Path) -> bool:
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _take_module(shared: Path) -> Path | None:
    """Rename the largest module that no other process has taken; return its new path, None if there is none."""
    for path in sorted(shared.glob("*/*.bc"), key=_size, reverse=True):
        taken = path.with_suffix(".taken")
        try:
            path.rename(taken)
        except FileNotFoundError:
            continue
        return taken
    return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # taken by another process
        return 0
