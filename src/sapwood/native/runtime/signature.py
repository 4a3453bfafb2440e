"""Signatures: the notation in which kernels declare the types of their arguments.

``"u8[:,:], i64[:], f64"`` is a matrix of bytes, a vector of 64-bit integers and a number. A name such as
``Gradients`` is a NamedTuple of ``kernels/layout.py``, whose fields are declared in the same notation. Arrays are
C-contiguous.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

KINDS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "f32", "f64")
DTYPES = {kind: np.dtype(f"{kind[0]}{int(kind[1:]) // 8}") for kind in KINDS}
SCALARS = ("i64", "u64", "f64")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number, in one slot."""

    kind: str

    @property
    def n_slots(self) -> int:
        """Number of slots."""
        return 1

    def matches(self, value: object) -> bool:
        """Return whether ``value`` can be passed; packing checks numbers."""
        return True


@dataclass(frozen=True, slots=True)
class Array:
    """A C-contiguous array: a slot for its address and one for each length."""

    kind: str
    ndim: int

    @property
    def n_slots(self) -> int:
        """Number of slots: the address and the shape."""
        return 1 + self.ndim

    def matches(self, value: Any) -> bool:
        """Return whether ``value`` has this element type and number of axes."""
        return isinstance(value, np.ndarray) and value.ndim == self.ndim and value.dtype == DTYPES[self.kind]


@dataclass(frozen=True, slots=True)
class Record:
    """A NamedTuple of arrays and numbers, passed field by field."""

    layout: type
    fields: tuple[Scalar | Array, ...]

    @property
    def n_slots(self) -> int:
        """Number of slots of all fields."""
        return sum(field.n_slots for field in self.fields)

    def matches(self, value: Any) -> bool:
        """Return whether ``value`` is this NamedTuple with fields of these types."""
        if not isinstance(value, self.layout):
            return False
        items: tuple[Any, ...] = tuple(value)  # type: ignore[arg-type]
        return all(field.matches(item) for field, item in zip(self.fields, items, strict=True))


Type = Scalar | Array | Record

_ITEM = re.compile(r"\s*([A-Za-z]\w*)\s*(\[[:,\s]*\])?\s*(?:,|$)")


def parse(text: str, layouts: dict[str, type]) -> tuple[Type, ...]:
    """Parse a signature such as ``"u8[:,:], i64"``; ``layouts`` are the NamedTuples that it may name."""
    types: list[Type] = []
    position = 0
    while position < len(text.rstrip()):
        match = _ITEM.match(text, position)
        if match is None:
            raise TypeError(f"cannot read the signature {text!r} at {text[position:]!r}")
        position = match.end()
        types.append(_type(match[1], match[2], layouts))
    return tuple(types)


def _type(word: str, axes: str | None, layouts: dict[str, type]) -> Type:
    if word in layouts:
        layout = layouts[word]
        fields = tuple(parse(_text(hint), {})[0] for hint in layout.__annotations__.values())
        return Record(layout, fields)  # type: ignore[arg-type]
    if axes:
        if word not in DTYPES:
            raise TypeError(f"{word!r} is not an element type; they are {', '.join(DTYPES)}")
        return Array(word, axes.count(":"))
    if word not in SCALARS:
        raise TypeError(f"{word!r} is neither one of {SCALARS} nor a layout")
    return Scalar(word)


def _text(hint: Any) -> str:
    """Return a field's annotation as written: NamedTuple wraps it in a ForwardRef."""
    return str(getattr(hint, "__forward_arg__", hint)).strip("\"'")


def flatten(types: tuple[Type, ...]) -> list[Scalar | Array]:
    """Return the types with each record replaced by its fields."""
    flat: list[Scalar | Array] = []
    for kind in types:
        flat.extend(kind.fields if isinstance(kind, Record) else [kind])
    return flat
