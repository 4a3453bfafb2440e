"""The columns of a training table: their number, names and kinds, and the alignment of other tables to them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from sapwood.data.tables.table import ArrayTable, Table
from sapwood.data.tables.zero_as_missing import zeros_to_missing
from sapwood.errors import InputTypeError, ModelFileError, SchemaError
from sapwood.lazy_dataclass import dataclass

NAMES_SHOWN = 5
NUMBER, CATEGORY = "number", "category"
ZERO_AS_MISSING = "zero_as_missing"


@dataclass(frozen=True)
class Schema:
    """Columns of the training table: ``names`` is None for an array, ``categorical_columns`` are numbers.

    With ``zero_as_missing``, zeros of numeric columns are missing values.
    """

    n_features: int
    names: tuple[str, ...] | None = None
    categorical_columns: tuple[int, ...] = ()
    zero_as_missing: bool = False

    @classmethod
    def of(cls, table: Table, categorical_columns: Collection[int] = ()) -> Schema:
        """Return the schema of a table with the given categorical columns."""
        return cls(table.n_features, table.names, tuple(sorted(categorical_columns)), table.zero_as_missing)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kind of each column."""
        return tuple(CATEGORY if f in self.categorical_columns else NUMBER for f in range(self.n_features))

    def name_of(self, feature: int) -> str:
        """Return the name of a column, ``f`` and its number if it has none."""
        return self.names[feature] if self.names is not None else f"f{feature}"

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON values."""
        names = list(self.names) if self.names is not None else None
        values = {"n_features": self.n_features, "names": names, "kinds": list(self.kinds)}
        return values | ({ZERO_AS_MISSING: True} if self.zero_as_missing else {})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Schema:
        """Return the schema that ``to_dict`` wrote."""
        unknown = sorted(set(values["kinds"]) - {NUMBER, CATEGORY})
        if unknown:
            raise ModelFileError(
                f"the model has columns of kind {', '.join(unknown)}, which this version does not support: upgrade "
                "sapwood"
            )
        names = values["names"]
        categorical = tuple(f for f, kind in enumerate(values["kinds"]) if kind == CATEGORY)
        names = tuple(names) if names is not None else None
        return cls(int(values["n_features"]), names, categorical, values.get(ZERO_AS_MISSING, False))

    def align(self, table: Table, owner: str = "this model") -> Table:
        """Return the table with its columns in the order of training: by name if both have names, else by position.

        Its zeros are missing values if those of the training table were. ``owner`` names the model in error messages.
        """
        if table.n_features == 0:  # a list without rows
            table = ArrayTable(np.empty((0, self.n_features)))
        if self.names is not None and table.names is not None:
            self._check_names(table.names)
            position = {name: f for f, name in enumerate(table.names)}
            table = table.select([position[name] for name in self.names])
        elif table.n_features != self.n_features:
            raise SchemaError(
                f"X has {table.n_features} features, but {owner} is expecting {self.n_features} features as input"
            )
        self.check(table, owner)
        if table.zero_as_missing and not self.zero_as_missing:
            raise SchemaError(
                f"the Dataset was made with zero_as_missing=True, but {owner} has zero_as_missing=False: create "
                "the Dataset without it"
            )
        return zeros_to_missing(table) if self.zero_as_missing else table

    def check(self, table: Table, owner: str = "this model") -> None:
        """Raise InputTypeError if a numeric column of an aligned table holds strings."""
        for f in table.string_columns:
            if f not in self.categorical_columns and f not in table.numeric_categories:
                raise InputTypeError(
                    f"{table.describe_column(f)} holds strings, but {owner} expects a numeric column: pass numbers, or "
                    "train with the column in categorical_features"
                )

    def _check_names(self, names: tuple[str, ...]) -> None:
        expected = self.names or ()
        unexpected = sorted(set(names) - set(expected))
        missing = sorted(set(expected) - set(names))
        if not unexpected and not missing:
            return
        message = "The feature names should match those that were passed during fit.\n"
        if unexpected:
            message += "Feature names unseen at fit time:\n" + _format_names(unexpected)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + _format_names(missing)
        raise SchemaError(message + "Pass a table with the columns of training, in any order.")


def _format_names(names: list[str]) -> str:
    shown = [f"- {name}\n" for name in names[:NAMES_SHOWN]]
    return "".join(shown) + ("- ...\n" if len(names) > NAMES_SHOWN else "")
