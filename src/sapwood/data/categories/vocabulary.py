"""Categorical columns: categories as strings, the codes of rows, and the vocabulary of a fitted column.

A category is identified by a string. Integers, and floats with an integer value, become digits without a decimal point,
booleans become ``True`` and ``False``: so 3, 3.0 and "3" are one category in every container. None, NaN, NA, NaT and
null are missing values.
"""

from __future__ import annotations

import datetime
import numbers
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.cached_property import WithCaches, cached_property
from sapwood.data.tables.conversion import BYTES_REMEDY, is_missing, is_number
from sapwood.distributed.workers import Workers
from sapwood.errors import InputError, InputTypeError
from sapwood.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from sapwood.data.tables.table import Table

FRACTION = re.compile(r"-?(\d+\.\d+|\d+(\.\d+)?e[-+]\d+|inf)")
# Code of missing values; the codes of a vocabulary's categories follow, and the last is that of unknown categories.
MISSING = 0
REMEDY = (
    "categories must be strings, integers or booleans; convert the values to strings, or leave the column out of "
    "categorical_features"
)


@dataclass(frozen=True, eq=False)
class CategoricalColumn:
    """A column as int32 codes, −1 where missing, and the categories that they index, in any order."""

    codes: np.ndarray
    categories: tuple[str, ...]

    @classmethod
    def of(cls, codes: np.ndarray, values: Iterable[Any], column: str, fractions: bool = False) -> CategoricalColumn:
        """Merge values with the same category name; ``codes`` index ``values`` of any type, negative where missing."""
        code_of: dict[str, int] = {}
        new_codes = []
        for value in values:
            name = category_name(value, column, fractions)
            new_codes.append(-1 if name is None else code_of.setdefault(name, len(code_of)))
        if new_codes == list(range(len(new_codes))):
            return cls(codes.astype(np.int32, copy=False), tuple(code_of))
        new_codes.append(-1)  # read by negative codes
        table = np.array(new_codes, dtype=np.int32)
        return cls(table[np.where(codes < 0, len(new_codes) - 1, codes)], tuple(code_of))

    def take(self, rows: np.ndarray) -> CategoricalColumn:
        """Return the column of some rows."""
        return CategoricalColumn(self.codes[rows], self.categories)

    @cached_property
    def observed(self) -> list[str]:
        """Categories of at least one row."""
        is_observed = np.zeros(len(self.categories) + 1, dtype=bool)
        is_observed[self.codes] = True
        return [name for name, observed in zip(self.categories, is_observed, strict=False) if observed]


@dataclass(frozen=True, eq=False)
class Vocabulary(WithCaches):
    """Categories of a fitted column: missing has code 0, ``categories[k]`` code k + 1, unknown categories the last."""

    categories: tuple[str, ...]

    @classmethod
    def of(cls, observed: Collection[str], earlier: Vocabulary | None = None) -> Vocabulary:
        """Return the observed categories in alphabetical order, after those of an earlier vocabulary."""
        if earlier is None:
            return cls(tuple(sorted(observed)))
        return cls(earlier.categories + tuple(sorted(set(observed) - earlier.codes.keys())))

    @cached_property
    def codes(self) -> dict[str, int]:
        """Code of each category."""
        return {name: k + 1 for k, name in enumerate(self.categories)}

    @property
    def n_codes(self) -> int:
        """Number of codes: of missing values, of each category, and of unknown categories."""
        return len(self.categories) + 2

    def encode(self, column: CategoricalColumn) -> np.ndarray:
        """Return the code of each row as int32."""
        unknown, codes = self.n_codes - 1, self.codes
        table = np.array([*(codes.get(name, unknown) for name in column.categories), MISSING], dtype=np.int32)
        return table[column.codes]

    def encode_column(self, table: Table, feature: int) -> np.ndarray:
        """Return the code of each row of a column of a table as int32."""
        return self.encode(table.categorical_column(feature, self.has_fractions))

    @cached_property
    def has_fractions(self) -> bool:
        """Whether some category is a number that is not an integer."""
        return any(FRACTION.fullmatch(name) for name in self.categories)

    def code_of(self, value: Any, column: str) -> int:
        """Return the code of one value."""
        name = category_name(value, column, self.has_fractions)
        return MISSING if name is None else self.codes.get(name, self.n_codes - 1)


def observed_categories(
    columns: Mapping[int, CategoricalColumn], workers: Workers
) -> dict[int, Collection[str]]:  # fmt: skip
    """Return the categories of each column that at least one row of any worker has."""
    merged = workers.merge_names([column.observed for column in columns.values()])
    return dict(zip(columns, merged, strict=True))


def category_name(value: Any, column: str, fractions: bool = False) -> str | None:
    """Return the string that identifies the category of a value, None if it is missing; errors name the ``column``.

    Dates, and periods and intervals of pandas, are identified by their text. With ``fractions``, a number that is not
    an integer is a category too, identified by its shortest decimal form.
    """
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if is_number(value):
        return _number_name(value, column, fractions)
    if type(value).__name__ in ("Period", "Interval") or isinstance(value, datetime.date):
        return str(value)
    if isinstance(value, bytes):
        raise InputTypeError(f"{column} holds {value!r}, and {BYTES_REMEDY}")
    raise InputTypeError(f"{column} holds {value!r} of type {type(value).__name__}, which is not a category: {REMEDY}")


def _number_name(value: Any, column: str, fractions: bool) -> str | None:
    if value != value:
        return None
    if value in (float("inf"), float("-inf")) or value != int(value):
        if fractions:
            return repr(float(value))
        raise InputError(f"{column} holds {value!r}, which is not an integer and cannot be a category: {REMEDY}")
    return str(int(value))


def factorize_array(
    values: np.ndarray, column: str, mask: np.ndarray | None = None, fractions: bool = False
) -> CategoricalColumn:
    """Return a NumPy array as categories and codes; masked values are missing."""
    if values.dtype.kind in "OUT":
        found = factorize_objects(values.tolist(), column, fractions)
    elif values.dtype.kind in "biu":
        distinct, inverse = np.unique(values, return_inverse=True)
        found = CategoricalColumn.of(inverse.reshape(-1), distinct.tolist(), column)
    elif values.dtype.kind == "f":
        found = _factorize_floats(values, column, fractions)
    else:
        raise InputTypeError(f"{column} is of type {values.dtype}, which cannot be categories: {REMEDY}")
    if mask is None or not mask.any():
        return found
    return CategoricalColumn(np.where(mask, np.int32(-1), found.codes), found.categories)


def factorize_objects(values: Sequence[Any], column: str, fractions: bool = False) -> CategoricalColumn:
    """Return a list of objects as categories and codes."""
    keys: Sequence[Any] = values
    if bool in set(map(type, values)):
        keys = [(type(value), value) for value in values]  # True == 1, but they are different categories
    try:
        code_of = dict.fromkeys(keys)
    except TypeError as error:
        unhashable = next(value for value in values if getattr(value, "__hash__", None) is None)
        raise InputTypeError(f"{column} holds {unhashable!r}, which cannot be a category: {REMEDY}") from error
    for code, key in enumerate(code_of):
        code_of[key] = code
    codes = np.fromiter(map(code_of.__getitem__, keys), dtype=np.int32, count=len(keys))
    distinct = code_of if keys is values else [value for _, value in code_of]
    return CategoricalColumn.of(codes, distinct, column, fractions)


def _factorize_floats(values: np.ndarray, column: str, fractions: bool) -> CategoricalColumn:
    missing = np.isnan(values)
    is_integer = np.floor(values) == values
    wrong = ~(is_integer & np.isfinite(values)) & ~missing
    if wrong.any() and not fractions:
        row = int(np.argmax(wrong))
        raise InputError(
            f"{column} holds {values[row].item()!r} in row {row}, which is not an integer and cannot be a category: "
            f"{REMEDY}"
        )
    distinct, inverse = np.unique(np.where(missing, 0.0, values), return_inverse=True)
    codes = np.where(missing, -1, inverse.reshape(-1))
    return CategoricalColumn.of(codes, distinct.tolist(), column, fractions)
