"""Category columns: the text of every level, and the number of each row's level.

A level is known by its text. Integers, and floats that are whole, are written in digits without a point, truth values
as ``True`` and ``False``: so 3, 3.0 and "3" are one level wherever they come from. None, NaN, NA, NaT and null are
missing.
"""

from __future__ import annotations

import decimal
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.data.tables.conversion import is_missing
from sapwood.errors import InputError, InputTypeError

MISSING = 0  # the code of a missing value; the levels of a vocabulary follow, and what it does not know comes last
REMEDY = "levels are texts, integers or truth values: turn the values into texts, or leave the column out of categories"


@dataclass(frozen=True, eq=False)
class Levels:
    """A column as the numbers of its distinct texts (int32, −1 where missing); the texts are in any order."""

    numbers: np.ndarray
    texts: tuple[str, ...]

    @classmethod
    def of(cls, numbers: np.ndarray, distinct: Iterable[Any], name: str) -> Levels:
        """Join what has the same text; ``numbers`` point to ``distinct`` values of any kind, or are negative."""
        index: dict[str, int] = {}
        place = []
        for value in distinct:
            text = text_of(value, name)
            place.append(-1 if text is None else index.setdefault(text, len(index)))
        if place == list(range(len(place))):
            return cls(numbers.astype(np.int32, copy=False), tuple(index))
        place.append(-1)  # where negative numbers look
        table = np.array(place, dtype=np.int32)
        return cls(table[np.where(numbers < 0, len(place) - 1, numbers)], tuple(index))

    def take(self, rows: np.ndarray) -> Levels:
        """The levels of some rows."""
        return Levels(self.numbers[rows], self.texts)

    @cached_property
    def present(self) -> list[str]:
        """The texts that some row has."""
        seen = np.zeros(len(self.texts) + 1, dtype=bool)
        seen[self.numbers] = True
        return [text for text, is_there in zip(self.texts, seen, strict=False) if is_there]


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """The levels of a column of the model: missing has code 0, ``texts[k]`` has code k + 1, all others the last."""

    texts: tuple[str, ...]

    @classmethod
    def of(cls, levels: Levels, known: Vocabulary | None = None) -> Vocabulary:
        """The levels of a column in the order of their texts, behind those already known."""
        if known is None:
            return cls(tuple(sorted(levels.present)))
        return cls(known.texts + tuple(sorted(set(levels.present) - known.index.keys())))

    @cached_property
    def index(self) -> dict[str, int]:
        """The code of every text."""
        return {text: k + 1 for k, text in enumerate(self.texts)}

    @property
    def n_codes(self) -> int:
        """How many codes there are: missing, the levels, and whatever else there may be."""
        return len(self.texts) + 2

    def encode(self, levels: Levels) -> np.ndarray:
        """The code of each row's level, int32."""
        other, index = self.n_codes - 1, self.index
        table = np.array([*(index.get(text, other) for text in levels.texts), MISSING], dtype=np.int32)
        return table[levels.numbers]

    def code_of(self, value: Any, name: str) -> int:
        """The code of one value."""
        text = text_of(value, name)
        return MISSING if text is None else self.index.get(text, self.n_codes - 1)


def text_of(value: Any, name: str) -> str | None:
    """The text by which a level is known, None if the value is missing; ``name`` is the column in words."""
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real | decimal.Decimal):
        return _text_of_number(value, name)
    raise InputTypeError(f"{name} holds {value!r} of type {type(value).__name__}, which cannot be a level: {REMEDY}")


def _text_of_number(value: Any, name: str) -> str | None:
    if value != value:
        return None
    if value in (float("inf"), float("-inf")) or value != int(value):
        raise InputError(f"{name} holds {value!r}, which is not a whole number and cannot be a level: {REMEDY}")
    return str(int(value))


def levels_of_array(values: np.ndarray, name: str, mask: np.ndarray | None = None) -> Levels:
    """The levels of a column of NumPy's; masked values are missing."""
    if values.dtype.kind in "OUT":
        found = levels_of_objects(values.tolist(), name)
    elif values.dtype.kind in "biu":
        distinct, inverse = np.unique(values, return_inverse=True)
        found = Levels.of(inverse.reshape(-1), distinct.tolist(), name)
    elif values.dtype.kind == "f":
        found = _levels_of_floats(values, name)
    else:
        raise InputTypeError(f"{name} is of type {values.dtype}, which cannot be a level: {REMEDY}")
    if mask is None or not mask.any():
        return found
    return Levels(np.where(mask, np.int32(-1), found.numbers), found.texts)


def levels_of_objects(values: Sequence[Any], name: str) -> Levels:
    """The levels of a list of any objects."""
    keys: Sequence[Any] = values
    if bool in set(map(type, values)):
        keys = [(type(value), value) for value in values]  # True == 1, but their texts differ
    try:
        index = dict.fromkeys(keys)
    except TypeError as error:
        bad = next(value for value in values if getattr(value, "__hash__", None) is None)
        raise InputTypeError(f"{name} holds {bad!r}, which cannot be a level: {REMEDY}") from error
    for place, key in enumerate(index):
        index[key] = place
    codes = np.fromiter(map(index.__getitem__, keys), dtype=np.int32, count=len(keys))
    distinct = index if keys is values else [value for _, value in index]
    return Levels.of(codes, distinct, name)


def _levels_of_floats(values: np.ndarray, name: str) -> Levels:
    missing = np.isnan(values)
    whole = np.floor(values) == values
    bad = ~(whole & np.isfinite(values)) & ~missing
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{name} holds {values[row].item()!r} in row {row}, which is not a whole number and cannot be a level: "
            f"{REMEDY}"
        )
    distinct, inverse = np.unique(np.where(missing, 0.0, values), return_inverse=True)
    numbers_of_rows = np.where(missing, -1, inverse.reshape(-1))
    return Levels.of(numbers_of_rows, distinct.tolist(), name)
