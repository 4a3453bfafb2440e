"""Prepare calls of compiled kernels.

The arguments of a call are packed once into a block of 64-bit slots: a number is one slot, an array its address and
shape.
"""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Sequence
from itertools import accumulate
from operator import is_
from typing import Any

import numpy as np

from sapwood.native.runtime.kernel import Kernel
from sapwood.native.runtime.library import library
from sapwood.native.runtime.signature import Array, Record, Scalar, Type, flatten


class Launcher:
    """Prepares calls of a kernel: ``Launcher(kernel)(*args)(member, members)``."""

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
        """Prepare a call in the block of an earlier call of this method, which has ended; pack only what changed."""
        if call is None or len(self._packers) > 1:
            prepared = self(*args)
            prepared.block = ctypes.create_string_buffer(prepared.block, len(prepared.block))
            return prepared
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
    """A prepared call of a compiled kernel: entry point, packed arguments, and the arrays that these point to."""

    __slots__ = ("_entry", "args", "block", "entry_address")

    def __init__(self, entry: Any, entry_address: int, block: Any, args: tuple[Any, ...]) -> None:
        self._entry = entry
        self.entry_address = entry_address
        self.block = block
        self.args = args

    def __call__(self, member: int, members: int) -> None:
        """Run one member's part on this thread."""
        self._entry(self.block, member, members)

    @property
    def block_address(self) -> int:
        """The address of the packed arguments."""
        if isinstance(self.block, bytes):
            return ctypes.cast(ctypes.c_char_p(self.block), ctypes.c_void_p).value or 0
        return ctypes.addressof(self.block)


def _entry(symbol: str) -> Any:
    entry = getattr(library(), symbol)
    entry.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    entry.restype = None
    return entry


class Packer:
    """Packs the arguments of one kernel variant into blocks of slots."""

    def __init__(self, name: str, types: tuple[Type, ...]) -> None:
        self._name = name
        self._is_record = [isinstance(kind, Record) for kind in types]
        self._has_numbers_only = [
            isinstance(kind, Record) and all(isinstance(field, Scalar) for field in kind.fields) for kind in types
        ]
        self._flat = flatten(types)
        self._format = _format(self._flat)
        kinds = [flatten((kind,)) for kind in types]
        formats = [_format(fields) for fields in kinds]
        offsets = accumulate((form.size for form in formats), initial=0)
        self._arguments = list(zip(kinds, formats, offsets, strict=False))

    def pack(self, args: tuple[Any, ...]) -> bytes:
        """Return a block; wrong types raise TypeError."""
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
        """Pack one argument into a writable block."""
        kinds, form, offset = self._arguments[number]
        try:
            if self._has_numbers_only[number]:
                form.pack_into(block, offset, *value)
            elif self._is_record[number]:
                form.pack_into(block, offset, *self._slots(kinds, value))
            elif type(kinds[0]) is Array:
                packed = _packed_arrays.get(id(value))
                if packed is None or packed() is not value or packed.kind != kinds[0]:
                    slots = _array_slots(self._name, kinds[0], value)
                else:
                    slots = packed.slots
                form.pack_into(block, offset, *slots)
            else:
                form.pack_into(block, offset, value)
        except struct.error as error:
            raise TypeError(f"{self._name}: {error}") from None

    def _slots(self, kinds: list[Scalar | Array], items: Sequence[Any]) -> list[Any]:
        slots: list[Any] = []
        for kind, value in zip(kinds, items, strict=True):
            if type(kind) is not Array:
                slots.append(value)
                continue
            packed = _packed_arrays.get(id(value))
            if packed is None or packed() is not value or (packed.kind is not kind and packed.kind != kind):
                packed = _pack_array(self._name, kind, value)
            slots += packed.slots
        return slots


def _format(kinds: list[Scalar | Array]) -> struct.Struct:
    return struct.Struct("<" + "".join(_slot_format(kind) for kind in kinds))


def _slot_format(kind: Scalar | Array) -> str:
    if isinstance(kind, Array):
        return "q" * kind.n_slots
    return {"f64": "d", "u64": "Q"}.get(kind.kind, "q")


class PackedArray(weakref.ref[np.ndarray]):
    """A weak reference to an array that was packed, with its identity, its type, and its address and shape.

    It is one object, since there are many of them, and the garbage collector looks at each.
    """

    __slots__ = ("key", "kind", "slots")
    key: int
    kind: Array
    slots: tuple[int, ...]


# The first byte of a writable buffer: its address is read in a quarter of the time that ``ndarray.ctypes`` takes.
_first_byte = ctypes.c_char.from_buffer

# Arrays that were packed before, most of them in every round, by identity.
_packed_arrays: dict[int, PackedArray] = {}


def _pack_array(name: str, kind: Array, value: Any) -> PackedArray:
    """Check an array and remember its slots for as long as it exists."""
    slots = _array_slots(name, kind, value)
    packed = PackedArray(value, _forget)
    packed.key, packed.kind, packed.slots = id(value), kind, slots
    _packed_arrays[packed.key] = packed
    return packed


def _forget(packed: Any) -> None:
    _packed_arrays.pop(packed.key, None)


def _array_slots(name: str, kind: Array, value: Any) -> tuple[int, ...]:
    """Return the address and shape of an array, which must have this type."""
    if not kind.matches(value) or not value.flags.c_contiguous:
        raise TypeError(f"{name}: expected a C-contiguous {kind.kind}[{kind.ndim}], got {_described(value)}")
    if value.size and value.flags.writeable:
        return ctypes.addressof(_first_byte(value)), *value.shape
    return value.ctypes.data, *value.shape


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}[{value.ndim}] ({'' if value.flags.c_contiguous else 'not '}contiguous)"
    return type(value).__name__
