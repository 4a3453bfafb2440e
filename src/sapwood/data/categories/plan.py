"""Decide which columns are categories, and what becomes of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table
from sapwood.errors import ParameterError
from sapwood.params.encodings import AUTO, Auto, Encoding, Frequency, OneHot, Partition, encodings_of

NAMES_SHOWN = 10
MOST_DIVIDED = 64  # levels up to which "auto" lets leaves divide them


@dataclass(frozen=True)
class EncodingPlan:
    """What becomes of a category column, and why."""

    encodings: tuple[Encoding, ...]
    reason: str

    def describe(self, n_levels: int) -> dict[str, Any]:
        """The decision in words, for the model's metadata."""
        return {"levels": n_levels, "encoding": [one.name for one in self.encodings], "reason": self.reason}


def find_category_columns(spec: Any, table: Table) -> tuple[int, ...]:
    """The columns that ``categorical_features`` means: those of texts if it is "auto"."""
    if isinstance(spec, str) and spec == AUTO:
        return table.text_columns
    if spec is None:
        return ()
    schema = Schema.of(table)
    entries = np.asarray(spec).tolist() if isinstance(spec, np.ndarray) else list(spec)
    if entries and all(isinstance(one, bool) for one in entries):
        if len(entries) != table.n_features:
            raise ParameterError(
                f"categorical_features has {len(entries)} truth values for {table.n_features} columns: give one each"
            )
        return tuple(f for f, is_category in enumerate(entries) if is_category)
    return tuple(sorted({column_number(key, schema, "categorical_features") for key in entries}))


def column_number(key: Any, schema: Schema, parameter: str) -> int:
    """The number of a column given by name or number."""
    if isinstance(key, str):
        names: Sequence[str] = schema.names or ()
        if key not in names:
            raise ParameterError(f"{parameter}: there is no column {key!r}; the columns are {_few(names)}")
        return list(names).index(key)
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < schema.n_features:
        return int(key)
    raise ParameterError(f"{parameter}: {key!r} is neither a column name nor a number below {schema.n_features}")


@dataclass(frozen=True)
class PlanLimits:
    """What "auto" has to choose from: levels up to which it is one-hot, and whether splits can divide levels."""

    one_hot_max: int
    can_divide: bool


def plan_encodings(spec: Any, schema: Schema, n_levels: Mapping[int, int], room: PlanLimits) -> dict[int, EncodingPlan]:
    """What becomes of every category, by ``category_encoding`` and the number of its levels."""
    by_column: dict[int, Any] = {}
    if isinstance(spec, Mapping):
        by_column = {column_number(key, schema, "category_encoding"): one for key, one in spec.items()}
        for f in by_column:
            if f not in schema.categories:
                raise ParameterError(
                    f"category_encoding: {schema.name_of(f)!r} is a column of numbers: name it in "
                    "categorical_features, or leave it out"
                )
    decided = {}
    for f in schema.categories:
        asked = encodings_of(by_column.get(f, AUTO if isinstance(spec, Mapping) else spec))
        if isinstance(asked, Auto):
            decided[f] = choose_encodings(n_levels[f], room, asked)
        else:
            decided[f] = EncodingPlan(asked, "as asked by category_encoding")
    return decided


def choose_encodings(n_levels: int, room: PlanLimits, auto: Auto) -> EncodingPlan:
    """What "auto" makes of a column with so many levels."""
    if n_levels <= room.one_hot_max:
        return EncodingPlan((OneHot(),), f"{n_levels} levels, no more than one_hot_max = {room.one_hot_max}")
    if n_levels <= MOST_DIVIDED and room.can_divide:
        return EncodingPlan((Partition(),), f"{n_levels} levels, which leaves can divide: no more than {MOST_DIVIDED}")
    why = "too many for leaves to divide" if room.can_divide else "which trees of this kind cannot divide"
    return EncodingPlan((auto.statistic, Frequency()), f"{n_levels} levels, {why}")


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:NAMES_SHOWN]))
    return shown + (", ..." if len(names) > NAMES_SHOWN else "") if names else "not named"
