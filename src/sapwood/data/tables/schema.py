"""What a model knows of its columns: how many, of which kind, and what they are called."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sapwood.data.tables.table import Table
from sapwood.data.tables.zero_as_missing import zeros_to_missing
from sapwood.errors import InputTypeError, ModelFileError, SchemaError

NAMES_SHOWN = 5
NUMBER, CATEGORY = "number", "category"
ZEROS = "zero_as_missing"


@dataclass(frozen=True)
class Schema:
    """The columns of the training table, ``categories`` by number; ``names`` is None if it was an array.

    With ``zero_as_missing`` zeros of other columns than categories are missing.
    """

    n_features: int
    names: tuple[str, ...] | None = None
    categories: tuple[int, ...] = ()
    zero_as_missing: bool = False

    @classmethod
    def of(cls, table: Table, categories: Collection[int] = ()) -> Schema:
        """The schema of a table."""
        return cls(table.n_features, table.names, tuple(sorted(categories)), table.zero_as_missing)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kind of every column."""
        return tuple(CATEGORY if f in self.categories else NUMBER for f in range(self.n_features))

    def name_of(self, feature: int) -> str:
        """What to call a column in words: its name, or its number."""
        return self.names[feature] if self.names is not None else f"f{feature}"

    def to_dict(self) -> dict[str, Any]:
        """The schema as JSON values."""
        names = list(self.names) if self.names is not None else None
        told = {"n_features": self.n_features, "names": names, "kinds": list(self.kinds)}
        return told | ({ZEROS: True} if self.zero_as_missing else {})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Schema:
        """The schema that ``to_dict`` wrote."""
        foreign = sorted(set(values["kinds"]) - {NUMBER, CATEGORY})
        if foreign:
            raise ModelFileError(
                f"the model has columns of kind {', '.join(foreign)}, which this version does not know"
            )
        names = values["names"]
        categories = tuple(f for f, kind in enumerate(values["kinds"]) if kind == CATEGORY)
        names = tuple(names) if names is not None else None
        return cls(int(values["n_features"]), names, categories, values.get(ZEROS, False))

    def align(self, table: Table, who: str = "this model") -> Table:
        """The table with its columns in the order of training: by name if both have names, else by position.

        Its zeros are missing if those of training were.
        """
        if self.names is not None and table.names is not None:
            self._check_names(table.names)
            place_of = {name: place for place, name in enumerate(table.names)}
            table = table.select([place_of[name] for name in self.names])
        elif table.n_features != self.n_features:
            raise SchemaError(
                f"X has {table.n_features} features, but {who} is expecting {self.n_features} features as input"
            )
        self.check(table, who)
        if table.zero_as_missing and not self.zero_as_missing:
            raise SchemaError(
                f"the Dataset was made with zero_as_missing=True, but {who} has zero_as_missing=False: make "
                "Dataset(X) without it"
            )
        return zeros_to_missing(table) if self.zero_as_missing else table

    def check(self, table: Table, who: str = "this model") -> None:
        """Raise InputTypeError if a column that is no category column holds texts; columns are in this order."""
        for f in table.text_columns:
            if f not in self.categories:
                raise InputTypeError(
                    f"{table.called(f)} holds texts, but {who} takes numbers there: pass numbers, or train with the "
                    "column in categorical_features"
                )

    def _check_names(self, given: tuple[str, ...]) -> None:
        known = self.names or ()
        unexpected = sorted(set(given) - set(known))
        missing = sorted(set(known) - set(given))
        if not unexpected and not missing:
            return
        message = "The feature names should match those that were passed during fit.\n"
        if unexpected:
            message += "Feature names unseen at fit time:\n" + _listed(unexpected)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
        raise SchemaError(message + "Pass a table with the columns of training, in any order.")


def _listed(names: list[str]) -> str:
    shown = [f"- {name}\n" for name in names[:NAMES_SHOWN]]
    return "".join(shown) + ("- ...\n" if len(names) > NAMES_SHOWN else "")
