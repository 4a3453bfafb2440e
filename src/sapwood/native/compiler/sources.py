"""The source files of the compiled library, their hash, and the path of the library they are compiled to."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
LIBRARY_FOLDER = PACKAGE / "native" / "lib"
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"
# Packages with kernels; the kernels of a loss are in the module of the loss.
KERNEL_PACKAGES = ("kernels", "objectives.losses")


def source_files() -> list[Path]:
    """Return the files that decide what the library contains."""
    folders = [PACKAGE / package.replace(".", "/") for package in KERNEL_PACKAGES]
    kernels = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    return [*kernels, *compiler_files(), PACKAGE / "native/threads/spin_wait.py"]


def compiler_files() -> list[Path]:
    """Return the files that decide how kernels are compiled."""
    names = (
        "runtime/signature", "runtime/intrinsics", "compiler/entry_point", "compiler/intrinsics", "compiler/llvm",
        "compiler/numba", "system/cpu_level",
    )  # fmt: skip
    return [PACKAGE / "native" / f"{name}.py" for name in names]


def source_hash() -> str:
    """Return the hash of kernels and compiler, which is part of the library's file name."""
    digest = hashlib.sha256()
    for path in source_files():
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def library_path(level: str, identity: str) -> Path:
    """Return the path of the library of a CPU level that was compiled from sources with a hash."""
    return LIBRARY_FOLDER / f"sapwood-{identity}-{level}{SUFFIX}"
