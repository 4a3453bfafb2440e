"""Load the library that belongs to these sources, and call its kernels through ctypes, which releases the GIL.

A call's arguments are packed once into a block of 64-bit slots: a number is one slot, an array its address and shape.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from sapwood.native import sources
from sapwood.native.kernel import Kernel
from sapwood.native.signature import Array, Record, Type

_lock = threading.Lock()
_library: ctypes.CDLL | None = None


def _open_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open_lock)  # another thread of the parent may have held it


class LibraryError(ImportError):
    """The compiled kernels are missing or belong to other sources."""


def library() -> ctypes.CDLL:
    """The library for this CPU and these sources; an editable install builds it when it is stale."""
    global _library
    if _library is None:
        with _lock:
            if _library is None:
                _library = _open()
    return _library


def _open() -> ctypes.CDLL:
    path = sources.library_path(sources.best_level(), sources.source_hash())
    if not path.exists():
        _rebuild(sources.best_level())
    return ctypes.CDLL(str(path))


def _rebuild(level: str) -> None:
    remedy = "reinstall sapwood, or set SAPWOOD_KERNELS=jit with sapwood[jit] installed"
    in_checkout = (sources.PACKAGE.parent.parent / "pyproject.toml").exists()
    if not in_checkout or find_spec("numba") is None:
        raise LibraryError(f"sapwood's compiled kernels are missing or belong to other sources: {remedy}")
    result = subprocess.run([sys.executable, "-m", "sapwood.native.build", level], capture_output=True, text=True)
    if result.returncode != 0:
        raise LibraryError(f"rebuilding the kernels failed: {remedy}\n{result.stdout}{result.stderr}")


def manifest() -> str:
    """What the loaded library was made of, as JSON."""
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library(), "sapwood_manifest"))).decode()


def launcher(kernel: Kernel) -> Callable[..., Callable[[int, int], None]]:
    """How calls of a kernel are prepared: ``launcher(kernel)(*args)(member, members)``."""
    entries = [_entry(f"sapwood_{kernel.name}_{variant}") for variant in range(len(kernel.variants))]
    addresses = [ctypes.cast(entry, ctypes.c_void_p).value or 0 for entry in entries]
    sync = (Array("i64", 1),) if kernel.takes_team else ()
    types = [sync + variant for variant in kernel.variants]
    first = len(sync)

    def launch(*args: Any) -> Callable[[int, int], None]:
        number = kernel.variant_of(args[first:]) if len(types) > 1 else 0
        return Call(entries[number], addresses[number], pack(kernel.name, types[number], args), args)

    return launch


class Call:
    """A prepared call of a compiled kernel: where its code is, where its arguments are, and the arrays among them."""

    __slots__ = ("_args", "_block", "_entry", "entry_address")

    def __init__(self, entry: Any, entry_address: int, block: Any, args: tuple[Any, ...]) -> None:
        self._entry = entry
        self.entry_address = entry_address
        self._block = block
        self._args = args

    def __call__(self, member: int, members: int) -> None:
        """Make the call on this thread, as one member of a team."""
        self._entry(self._block, member, members)

    @property
    def block_address(self) -> int:
        """Where the arguments are."""
        return ctypes.addressof(self._block)


def _entry(symbol: str) -> Any:
    entry = getattr(library(), symbol)
    entry.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    entry.restype = None
    return entry


def pack(name: str, types: tuple[Type, ...], args: tuple[Any, ...]) -> Any:
    """Put arguments into a block of slots; wrong types are our own mistake and raise TypeError."""
    if len(types) != len(args):
        raise TypeError(f"{name} takes {len(types)} arguments, got {len(args)}")
    slots: list[int] = []
    for kind, value in zip(types, args, strict=True):
        _append(name, kind, value, slots)
    return (ctypes.c_int64 * len(slots))(*slots)


def _append(name: str, kind: Type, value: Any, slots: list[int]) -> None:
    if isinstance(kind, Array):
        if not kind.matches(value) or not value.flags.c_contiguous:
            raise TypeError(f"{name}: expected a C-contiguous {kind.kind}[{kind.ndim}], got {_described(value)}")
        slots.append(value.__array_interface__["data"][0])
        slots.extend(value.shape)
    elif isinstance(kind, Record):
        for field, item in zip(kind.fields, value, strict=True):
            _append(name, field, item, slots)
    elif kind.kind == "f64":
        slots.append(struct.unpack("<q", struct.pack("<d", value))[0])
    else:
        number = int(value)
        slots.append(number - 2**64 if number >= 2**63 else number)


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{value.ndim}] ({'' if value.flags.c_contiguous else 'not '}contiguous)"
    return type(value).__name__
