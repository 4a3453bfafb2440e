"""Read rows that users pass one at a time: dicts, named tuples, Series, plain sequences, data frames of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sapwood.data.tables.records import describe_difference, list_names, named_values
from sapwood.data.tables.schema import Schema
from sapwood.errors import InputError, SchemaError


class RowReader:
    """Reads a row as its values in the order of the columns of training: by name where the row has names."""

    def __init__(self, schema: Schema) -> None:
        self._names = tuple(schema.name_of(f) for f in range(schema.n_features))
        self._name_list = list(self._names)
        self._is_named = schema.names is not None
        self._has_categories = bool(schema.categorical_columns)
        self.n_features = schema.n_features

    def read(self, row: Any) -> Any:
        """Return the values of a row: a sequence of ``n_features`` values, or an array of as many numbers."""
        named = named_values(row)
        if named is not None and (self._is_named or not _is_numbered(named)):
            if _is_numbered(named) and not isinstance(row, Mapping) and self._names[:1] != ("0",):
                raise SchemaError(
                    f"a Series is one row, whose index must be the column names {list_names(self._names)}: set its "
                    "index, or pass a column as a data frame, as in X[['name']]"
                )
            return self._in_order(named)
        values = row if named is None else list(named.values())
        try:
            n_values = len(values)
        except TypeError as error:
            raise InputError(
                f"the row must be a dict of column names and values, a Series or a sequence of {self.n_features} "
                f"values, got {type(row).__name__}"
            ) from error
        if n_values != self.n_features:
            raise SchemaError(f"the row has {n_values} values, the model was trained on {self.n_features} features")
        return values

    def read_single(self, X: Any) -> Any:
        """Return the values of a data frame of one row with the names of training, None if X is anything else."""
        library = type(X).__module__.partition(".")[0]
        if not self._is_named or type(X).__name__ != "DataFrame" or library not in ("pandas", "polars"):
            return None
        if X.shape != (1, self.n_features):
            return None
        is_pandas = library == "pandas"
        names = X.columns.tolist() if is_pandas else X.columns
        order = None if names == self._name_list else self._order_of(names)
        if order == ():
            return None
        values = self._pandas_values(X) if is_pandas else X.row(0)
        if isinstance(values, np.ndarray):
            return values if order is None else values[list(order)]
        return values if order is None else [values[k] for k in order]

    def _pandas_values(self, X: Any) -> Any:
        """Return the values of a pandas frame of one row; numbers as an array where all columns are numeric."""
        if not self._has_categories:
            row = X.to_numpy()[0]
            return row if row.dtype.kind in "biuf" else row.tolist()
        value_at = X.iat
        return [value_at[0, k] for k in range(self.n_features)]

    def _order_of(self, names: Sequence[Any]) -> tuple[int, ...]:
        """Return the position of each column of training among ``names``, () if they are not the same names."""
        position = {name: k for k, name in enumerate(names)}
        if len(position) != self.n_features or any(name not in position for name in self._names):
            return ()
        return tuple(position[name] for name in self._names)

    def _in_order(self, named: Mapping[Any, Any]) -> list[Any]:
        try:
            values = [named[name] for name in self._names]
        except KeyError:
            named = {str(name): value for name, value in named.items()}
            if not all(name in named for name in self._names):
                raise SchemaError(self._describe_difference(list(named))) from None
            values = [named[name] for name in self._names]
        if len(named) != self.n_features:
            raise SchemaError(self._describe_difference([str(name) for name in named]))
        return values

    def _describe_difference(self, names: list[str]) -> str:
        """Return the error for a row with names other than those of training."""
        return describe_difference(names, self._names, "the row", None if self._is_named else "without column names")


def _is_numbered(named: Mapping[Any, Any]) -> bool:
    """Return whether the names are 0, 1, 2, ..., as those of a Series that was given none."""
    return list(named) == list(range(len(named)))
