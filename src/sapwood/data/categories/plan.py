"""Choose which columns are categorical, and the encodings of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sapwood.data.tables.schema import Schema
from sapwood.data.tables.table import Table
from sapwood.errors import ParameterError
from sapwood.lazy_dataclass import dataclass
from sapwood.params.encodings import AUTO, Auto, Encoding, Frequency, OneHot, encodings_of
from sapwood.params.options import AutoCategorical

NAMES_SHOWN = 10
PARAMETER = "categorical_features"


@dataclass(frozen=True)
class EncodingPlan:
    """Encodings of a categorical column, and the reason for them."""

    encodings: tuple[Encoding, ...]
    reason: str

    def describe(self, n_categories: int) -> dict[str, Any]:
        """Return the plan as JSON values for the metadata of the model."""
        names = [encoding.name for encoding in self.encodings]
        return {"levels": n_categories, "encoding": names, "reason": self.reason}


def find_categorical_columns(spec: Any, table: Table) -> tuple[int, ...]:
    """Return the column numbers that ``categorical_features`` selects.

    "auto" selects the columns of strings and of a categorical type; ``AutoCategorical`` and a dict of columns and
    booleans change that for some columns.
    """
    if isinstance(spec, str) and spec == AUTO:
        return table.string_columns
    if spec is None:
        return ()
    schema = Schema.of(table)
    if isinstance(spec, Mapping):
        chosen = {True: [key for key, value in spec.items() if value], False: [k for k, v in spec.items() if not v]}
        spec = AutoCategorical(plus=chosen[True], minus=chosen[False])
    if isinstance(spec, AutoCategorical):
        plus, minus = ({column_number(key, schema, PARAMETER) for key in keys} for keys in (spec.plus, spec.minus))
        return tuple(sorted({*table.string_columns, *plus} - minus))
    keys = np.asarray(spec).tolist() if isinstance(spec, np.ndarray) else list(spec)
    if keys and all(isinstance(key, bool) for key in keys):
        if len(keys) != table.n_features:
            raise ParameterError(
                f"categorical_features has {len(keys)} booleans for {table.n_features} columns: give one per column"
            )
        return tuple(f for f, is_categorical in enumerate(keys) if is_categorical)
    return tuple(sorted({column_number(key, schema, PARAMETER) for key in keys}))


def column_number(key: Any, schema: Schema, parameter: str) -> int:
    """Return the number of a column given by name or number."""
    if isinstance(key, str):
        names: Sequence[str] = schema.names or ()
        if key not in names:
            raise ParameterError(f"{parameter}: there is no column {key!r}; the columns are {_format_names(names)}")
        return list(names).index(key)
    if isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < schema.n_features:
        return int(key)
    raise ParameterError(f"{parameter}: {key!r} is neither a column name nor a number below {schema.n_features}")


def values_by_column(spec: Any, schema: Schema, parameter: str) -> list[tuple[int, Any]]:
    """Return pairs of column number and value: those of a dict by column, or one for each column; none for None."""
    if spec is None:
        return []
    if isinstance(spec, Mapping):
        return [(column_number(key, schema, parameter), value) for key, value in spec.items()]
    if len(spec) != schema.n_features:
        raise ParameterError(
            f"{parameter} has {len(spec)} entries for {schema.n_features} features: give one for each, or a dict by "
            "column"
        )
    return list(enumerate(spec))


@dataclass(frozen=True)
class PlanLimits:
    """Limits of "auto": the largest number of one-hot categories, and whether splits can partition categories."""

    one_hot_max: int
    can_partition: bool


def plan_encodings(
    spec: Any, schema: Schema, n_categories: Mapping[int, int], limits: PlanLimits
) -> dict[int, EncodingPlan]:  # fmt: skip
    """Return the plan of each categorical column, by ``category_encoding`` and its number of categories."""
    by_column: dict[int, Any] = {}
    if isinstance(spec, Mapping):
        by_column = {column_number(key, schema, "category_encoding"): value for key, value in spec.items()}
        for f in by_column:
            if f not in schema.categorical_columns:
                raise ParameterError(
                    f"category_encoding: {schema.name_of(f)!r} is a numeric column: add it to categorical_features, or "
                    "remove it from category_encoding"
                )
    plans = {}
    for f in schema.categorical_columns:
        encodings = encodings_of(by_column.get(f, AUTO if isinstance(spec, Mapping) else spec))
        if isinstance(encodings, Auto):
            plans[f] = choose_encodings(n_categories[f], limits, encodings)
        else:
            plans[f] = EncodingPlan(encodings, "as asked by category_encoding")
    return plans


def choose_encodings(n_categories: int, limits: PlanLimits, auto: Auto) -> EncodingPlan:
    """Return the plan of "auto" for a column with so many categories."""
    # Reasons are written to model files: with their wording, the same fit writes the same file in every version.
    n = f"{n_categories} levels"
    if n_categories <= limits.one_hot_max:
        return EncodingPlan((OneHot(),), f"{n}, no more than one_hot_max = {limits.one_hot_max}")
    if auto.max_partition is None and limits.can_partition:
        return EncodingPlan((auto.partition,), f"{n}, which leaves divide")
    if auto.max_partition is not None and n_categories <= auto.max_partition and limits.can_partition:
        return EncodingPlan((auto.partition,), f"{n}, which leaves can divide: no more than {auto.max_partition}")
    why = "too many for leaves to divide" if limits.can_partition else "which trees of this kind cannot divide"
    return EncodingPlan((auto.statistic, Frequency()), f"{n}, {why}")


def _format_names(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:NAMES_SHOWN]))
    return shown + (", ..." if len(names) > NAMES_SHOWN else "") if names else "not named"
