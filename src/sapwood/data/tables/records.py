"""Tables of rows with names: lists of dicts or dataclasses, structured arrays; a dict, tuple or Series as one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sapwood.data.tables.table import ArrayTable, Table, check_shape
from sapwood.errors import InputError, SchemaError

# Types whose values mean the same in a row as in a column of a data frame.
PLAIN_TYPES = frozenset(
    {
        float, int, bool, str, type(None), np.float64, np.float32, np.float16, np.bool_, np.int8, np.int16, np.int32,
        np.int64, np.uint8, np.uint16, np.uint32, np.uint64,
    }
)  # fmt: skip
NAMES_SHOWN = 5


class RecordTable(ArrayTable):
    """An array of objects with column names."""

    def __init__(self, array: np.ndarray, names: Sequence[str]) -> None:
        super().__init__(array)
        self.names, self.has_string_names = tuple(names), True

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        assert self.names is not None
        return RecordTable(self._array[:, list(features)], [self.names[f] for f in features])


def read_records(rows: Sequence[Any]) -> Table:
    """Read a list of dicts, named tuples, dataclasses or Series, which must have the same names, as a table."""
    records = [named_values(row) for row in rows]
    names = [str(name) for name in records[0] or ()]
    check_shape((len(records), len(names)))
    array = np.empty((len(records), len(names)), dtype=object)
    for i, record in enumerate(records):
        if record is None:
            raise InputError(f"row {i} of X is of type {type(rows[i]).__name__}, but the first row is a dict")
        by_name = {str(name): value for name, value in record.items()}
        if by_name.keys() != set(names):
            raise SchemaError(describe_difference(list(by_name), names, f"row {i} of X"))
        for f, name in enumerate(names):
            array[i, f] = _check_single(by_name[name], name)
    return RecordTable(array, names)


def read_structured(array: np.ndarray) -> Table:
    """Read a structured or record array of one dimension, whose fields are the columns, as a table."""
    names = array.dtype.names or ()
    check_shape((*array.shape, len(names)))
    columns = np.empty((len(array), len(names)), dtype=object)
    for f, name in enumerate(names):
        if array.dtype[name].shape or array.dtype[name].names:
            raise InputError(f"field {name!r} of X holds several values per row: give each a field of its own")
        columns[:, f] = array[name].tolist()
    return RecordTable(columns, names)


def read_row(row: Any) -> Table:
    """Read a single row, for which ``is_row`` holds, as a table."""
    if named_values(row) is not None:
        return read_records([row])
    array = np.empty((1, len(row)), dtype=object)
    array[0] = row
    return ArrayTable(array)


def _check_single(value: Any, name: str) -> Any:
    if not is_scalar(value):
        raise InputError(
            f"a dict is one row, but its value for column {name!r} is of type {type(value).__name__}: pass one value "
            "per column, or a data frame made of the columns"
        )
    return value


def is_record(row: Any) -> bool:
    """Return whether an entry of a list is a row with names."""
    return isinstance(row, Mapping) or (not isinstance(row, list | np.ndarray) and named_values(row) is not None)


def describe_difference(names: Sequence[str], expected: Sequence[str], what: str, trained: str | None = None) -> str:
    """Return which of the ``expected`` names are missing and which are unknown, with the remedy."""
    missing, unknown = ([n for n in a if n not in set(b)] for a, b in ((expected, names), (names, expected)))
    parts = []
    if missing:
        parts.append(
            f"{what} has no value for {list_names(missing)}: add "
            f"{'it' if len(missing) == 1 else 'them'}, with None where the value is missing"
        )
    if unknown:
        import difflib

        near = difflib.get_close_matches(unknown[0], missing or list(expected), n=1)
        index_remedy = "; use itertuples(index=False)" if unknown[0] == "Index" else ""
        guess = f"; did you mean {near[0]!r}?" if near else f": leave it out{index_remedy}"
        is_column = "which is no column" if len(unknown) == 1 else "which are no columns"
        parts.append(f"{what} has {list_names(unknown)}, {is_column} of the model{guess}")
    if trained:
        parts.append(f"the model was trained {trained}: its columns are {list_names(expected)}")
    return "; ".join(parts)


def list_names(names: Sequence[str]) -> str:
    """Return the first few names for an error message."""
    shown = ", ".join(repr(name) for name in names[:NAMES_SHOWN])
    return shown + (f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else "")


def named_values(row: Any) -> Mapping[Any, Any] | None:
    """Return the values of a dict, named tuple, dataclass, structured scalar or Series by name, else None."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "__dataclass_fields__") and not isinstance(row, type):
        return {name: getattr(row, name) for name in row.__dataclass_fields__}
    if isinstance(row, np.void) and row.dtype.names:
        return dict(zip(row.dtype.names, row.tolist(), strict=True))
    if isinstance(row, tuple) and hasattr(row, "_fields"):
        return dict(zip(row._fields, row, strict=True))
    if type(row).__name__ == "Series" and hasattr(row, "index") and hasattr(row, "items"):
        return dict(row.items())
    return None


def is_row(X: Any) -> bool:
    """Return whether X is one row rather than a table: a dict, a Series, a named tuple or a tuple of plain values."""
    if isinstance(X, tuple):
        return len(X) > 0 and all(type(value) in PLAIN_TYPES or is_scalar(value) for value in X)
    return named_values(X) is not None


def is_scalar(value: Any) -> bool:
    """Return whether a value is a single one rather than a container."""
    return not hasattr(value, "__len__") or isinstance(value, str | bytes)
