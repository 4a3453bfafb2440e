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
import weakref
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from sapwood.native import sources
from sapwood.native.kernel import Kernel
from sapwood.native.signature import Array, Record, Scalar, Type, flatten

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
    packers = [Packer(kernel.name, sync + variant) for variant in kernel.variants]
    first = len(sync)

    def launch(*args: Any) -> Callable[[int, int], None]:
        number = kernel.variant_of(args[first:]) if len(packers) > 1 else 0
        return Call(entries[number], addresses[number], packers[number].pack(args), args)

    return launch


class Call:
    """A prepared call of a compiled kernel: where its code is, where its arguments are, and the arrays among them."""

    __slots__ = ("_args", "_block", "_entry", "entry_address")

    def __init__(self, entry: Any, entry_address: int, block: bytes, args: tuple[Any, ...]) -> None:
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
        return ctypes.cast(ctypes.c_char_p(self._block), ctypes.c_void_p).value or 0


def _entry(symbol: str) -> Any:
    entry = getattr(library(), symbol)
    entry.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    entry.restype = None
    return entry


class Packer:
    """Puts the arguments of one kernel variant into blocks of slots."""

    def __init__(self, name: str, types: tuple[Type, ...]) -> None:
        self._name = name
        self._is_record = [isinstance(kind, Record) for kind in types]
        self._flat = flatten(types)
        self._format = struct.Struct("<" + "".join(_slot_format(kind) for kind in self._flat))

    def pack(self, args: tuple[Any, ...]) -> bytes:
        """Make a block; wrong types are our own mistake and raise TypeError."""
        if len(args) != len(self._is_record):
            raise TypeError(f"{self._name} takes {len(self._is_record)} arguments, got {len(args)}")
        items: list[Any] = []
        for is_record, value in zip(self._is_record, args, strict=True):
            items.extend(value) if is_record else items.append(value)
        slots: list[Any] = []
        for kind, value in zip(self._flat, items, strict=True):
            if type(kind) is not Array:
                slots.append(value)
                continue
            known = _known.get(id(value))
            if known is None or known[0]() is not value or (known[1] is not kind and known[1] != kind):
                known = _know(self._name, kind, value)
            slots += known[2]
        try:
            return self._format.pack(*slots)
        except struct.error as error:
            raise TypeError(f"{self._name}: {error}") from None


def _slot_format(kind: Scalar | Array) -> str:
    if isinstance(kind, Array):
        return "q" * kind.n_slots
    return {"f64": "d", "u64": "Q"}.get(kind.kind, "q")


# Arrays that were packed before, most of them in every round, by identity: a reference, the type, address and shape.
_known: dict[int, tuple[Any, Array, tuple[int, ...]]] = {}


def _know(name: str, kind: Array, value: Any) -> tuple[Any, Array, tuple[int, ...]]:
    """Look at an array once, for as long as it lives."""
    if not kind.matches(value) or not value.flags.c_contiguous:
        raise TypeError(f"{name}: expected a C-contiguous {kind.kind}[{kind.ndim}], got {_described(value)}")
    key = id(value)
    known = (
        weakref.ref(value, lambda _: _known.pop(key, None)), kind, (value.__array_interface__["data"][0], *value.shape),
    )  # fmt: skip
    _known[key] = known
    return known


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{value.ndim}] ({'' if value.flags.c_contiguous else 'not '}contiguous)"
    return type(value).__name__
