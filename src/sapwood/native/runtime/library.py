"""Load the library that belongs to these sources, and call its kernels through ctypes, which releases the GIL.

A call's arguments are packed once into a block of 64-bit slots: a number is one slot, an array its address and shape.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import weakref
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import accumulate
from operator import is_
from typing import Any

import numpy as np

from sapwood.native.compiler import sources
from sapwood.native.runtime.kernel import Kernel
from sapwood.native.runtime.signature import Array, Record, Scalar, Type, flatten

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
    import subprocess  # needed in a checkout only

    result = subprocess.run(
        [sys.executable, "-m", "sapwood.native.compiler.build", level], capture_output=True, text=True
    )
    if result.returncode != 0:
        raise LibraryError(f"rebuilding the kernels failed: {remedy}\n{result.stdout}{result.stderr}")


def manifest() -> str:
    """What the loaded library was made of, as JSON."""
    return ctypes.string_at(ctypes.addressof(ctypes.c_char.in_dll(library(), "sapwood_manifest"))).decode()


class Launcher:
    """How calls of a kernel are prepared: ``Launcher(kernel)(*args)(member, members)``."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._entries = [_entry(f"sapwood_{kernel.name}_{variant}") for variant in range(len(kernel.variants))]
        self._addresses = [ctypes.cast(entry, ctypes.c_void_p).value or 0 for entry in self._entries]
        sync = (Array("i64", 1),) if kernel.takes_team else ()
        self._packers = [Packer(kernel.name, sync + variant) for variant in kernel.variants]
        self._first = len(sync)

    def __call__(self, *args: Any) -> Call:
        """Prepare a call."""
        number = self._kernel.variant_of(args[self._first :]) if len(self._packers) > 1 else 0
        return Call(self._entries[number], self._addresses[number], self._packers[number].pack(args), args)

    def repeat(self, call: Call | None, args: tuple[Any, ...]) -> Call:
        """Prepare a call like an earlier one of this method, which is over; what it was given again is in its place."""
        if call is None or len(self._packers) > 1:
            made = self(*args)
            made.block = ctypes.create_string_buffer(made.block, len(made.block))
            return made
        same = [*map(is_, call.args, args)]
        if len(same) != len(args):
            raise TypeError(f"{self._kernel.name} takes {len(same)} arguments, got {len(args)}")
        if False in same:
            for k, is_same in enumerate(same):
                if not is_same:
                    self._packers[0].replace(call.block, k, args[k])
            call.args = args
        return call


class Call:
    """A prepared call of a compiled kernel: where its code is, where its arguments are, and the arrays among them."""

    __slots__ = ("_entry", "args", "block", "entry_address")

    def __init__(self, entry: Any, entry_address: int, block: Any, args: tuple[Any, ...]) -> None:
        self._entry = entry
        self.entry_address = entry_address
        self.block = block
        self.args = args

    def __call__(self, member: int, members: int) -> None:
        """Make the call on this thread, as one member of a team."""
        self._entry(self.block, member, members)

    @property
    def block_address(self) -> int:
        """Where the arguments are."""
        if isinstance(self.block, bytes):
            return ctypes.cast(ctypes.c_char_p(self.block), ctypes.c_void_p).value or 0
        return ctypes.addressof(self.block)


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
        self._has_numbers_only = [
            isinstance(kind, Record) and all(isinstance(field, Scalar) for field in kind.fields) for kind in types
        ]
        self._flat = flatten(types)
        self._format = _format(self._flat)
        kinds = [flatten((kind,)) for kind in types]
        forms = [_format(own) for own in kinds]
        self._places = list(zip(kinds, forms, accumulate((form.size for form in forms), initial=0), strict=False))

    def pack(self, args: tuple[Any, ...]) -> bytes:
        """Make a block; wrong types are our own mistake and raise TypeError."""
        if len(args) != len(self._is_record):
            raise TypeError(f"{self._name} takes {len(self._is_record)} arguments, got {len(args)}")
        items: list[Any] = []
        for is_record, value in zip(self._is_record, args, strict=True):
            items.extend(value) if is_record else items.append(value)
        try:
            return self._format.pack(*self._slots(self._flat, items))
        except struct.error as error:
            raise TypeError(f"{self._name}: {error}") from None

    def replace(self, block: Any, number: int, value: Any) -> None:
        """Put another argument into a block that can be written."""
        kinds, form, first = self._places[number]
        try:
            if self._has_numbers_only[number]:
                form.pack_into(block, first, *value)
            elif self._is_record[number]:
                form.pack_into(block, first, *self._slots(kinds, value))
            elif type(kinds[0]) is Array:
                known = _known.get(id(value))
                if known is None or known[0]() is not value or known[1] != kinds[0]:
                    place = _place(self._name, kinds[0], value)
                else:
                    place = known[2]
                form.pack_into(block, first, *place)
            else:
                form.pack_into(block, first, value)
        except struct.error as error:
            raise TypeError(f"{self._name}: {error}") from None

    def _slots(self, kinds: list[Scalar | Array], items: Sequence[Any]) -> list[Any]:
        slots: list[Any] = []
        for kind, value in zip(kinds, items, strict=True):
            if type(kind) is not Array:
                slots.append(value)
                continue
            known = _known.get(id(value))
            if known is None or known[0]() is not value or (known[1] is not kind and known[1] != kind):
                known = _know(self._name, kind, value)
            slots += known[2]
        return slots


def _format(kinds: list[Scalar | Array]) -> struct.Struct:
    return struct.Struct("<" + "".join(_slot_format(kind) for kind in kinds))


def _slot_format(kind: Scalar | Array) -> str:
    if isinstance(kind, Array):
        return "q" * kind.n_slots
    return {"f64": "d", "u64": "Q"}.get(kind.kind, "q")


# Arrays that were packed before, most of them in every round, by identity: a reference, the type, address and shape.
_known: dict[int, tuple[Any, Array, tuple[int, ...]]] = {}


def _know(name: str, kind: Array, value: Any) -> tuple[Any, Array, tuple[int, ...]]:
    """Look at an array once, for as long as it lives."""
    place, key = _place(name, kind, value), id(value)
    known = (weakref.ref(value, lambda _: _known.pop(key, None)), kind, place)
    _known[key] = known
    return known


def _place(name: str, kind: Array, value: Any) -> tuple[int, ...]:
    """The address and shape of an array, which must have this type."""
    if not kind.matches(value) or not value.flags.c_contiguous:
        raise TypeError(f"{name}: expected a C-contiguous {kind.kind}[{kind.ndim}], got {_described(value)}")
    return value.__array_interface__["data"][0], *value.shape


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{value.ndim}] ({'' if value.flags.c_contiguous else 'not '}contiguous)"
    return type(value).__name__
