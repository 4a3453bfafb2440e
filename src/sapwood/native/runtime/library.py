"""Load the shared library that was compiled from these sources; calls through ctypes release the GIL."""

from __future__ import annotations

import ctypes
import os
import sys
import threading

from sapwood.native.system.cpu_level import best_cpu_level

NATIVE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CHECKOUT_FILE = os.path.join(NATIVE, "..", "..", "..", "pyproject.toml")

_lock = threading.Lock()
_library: ctypes.CDLL | None = None


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)  # another thread of the parent may have held it


class LibraryError(ImportError):
    """The compiled kernels are missing or were compiled from other sources."""


def library() -> ctypes.CDLL:
    """Return the library for this CPU and these sources; an editable install builds it when it is stale."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = _open()
    return _library


def _open() -> ctypes.CDLL:
    level = best_cpu_level()
    path = _installed_library(level)
    if path is None:
        from sapwood.native.compiler import sources  # hashes the sources of all kernels

        path = str(sources.library_path(level, sources.source_hash()))
    if not os.path.exists(path):
        _rebuild(level)
    return ctypes.CDLL(path)


def _installed_library(level: str) -> str | None:
    """Return the library of an installed package, whose sources do not change; None in a checkout or if in doubt."""
    folder = os.path.join(NATIVE, "lib")
    if os.path.exists(CHECKOUT_FILE) or not os.path.isdir(folder):
        return None
    names = [name for name in os.listdir(folder) if f"-{level}." in name]
    return os.path.join(folder, names[0]) if len(names) == 1 else None


def _rebuild(level: str) -> None:
    remedy = "reinstall sapwood, or set SAPWOOD_KERNELS=jit with sapwood[jit] installed"
    # Needed in a checkout only.
    import subprocess
    from importlib.util import find_spec

    if not os.path.exists(CHECKOUT_FILE) or find_spec("numba") is None:
        raise LibraryError(f"sapwood's compiled kernels are missing or belong to other sources: {remedy}")

    # On a terminal the progress of the build is shown.
    stderr = None if sys.stderr is not None and sys.stderr.isatty() else subprocess.PIPE
    result = subprocess.run(
        [sys.executable, "-m", "sapwood.native.compiler.build", level],
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )
    if result.returncode != 0:
        raise LibraryError(f"rebuilding the kernels failed: {remedy}\n{result.stdout}{result.stderr or ''}")


def manifest() -> str:
    """Return the versions, CPU level and sources that the loaded library was compiled from, as JSON."""
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library(), "sapwood_manifest"))).decode()
