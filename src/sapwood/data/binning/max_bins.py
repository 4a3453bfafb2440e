"""Maximum number of bins of each column, from the parameter ``max_bins``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sapwood.data.categories.plan import values_by_column
from sapwood.data.tables.schema import Schema
from sapwood.params.declaration import DEFAULT_MAX_BINS, MAX_BINS
from sapwood.params.validators import integer, is_whole

BinLimits = int | Sequence[int]  # one for all columns, or one for each


def column_max_bins(spec: Any, schema: Schema) -> int | list[int]:
    """Return the maximum number of bins of all columns, or of each; columns that a dict does not name have 255."""
    if is_whole(spec):
        return int(spec)
    limits = [DEFAULT_MAX_BINS] * schema.n_features
    for feature, value in values_by_column(spec, schema, "max_bins"):
        limits[feature] = integer(2, MAX_BINS).check(f"max_bins of column {schema.name_of(feature)!r}", value)
    return limits


def derived_max_bins(limits: BinLimits, sources: Sequence[tuple[int, ...]]) -> BinLimits:
    """Return the limits of features that are derived from columns: the largest of those of their ``sources``."""
    if isinstance(limits, int):
        return limits
    return [max(limits[column] for column in columns) for columns in sources]


def limits_array(limits: BinLimits, n_columns: int) -> np.ndarray:
    """Return the limit of each of some columns."""
    return np.broadcast_to(np.asarray(limits, dtype=np.int64), (n_columns,))


def largest_limit(limits: BinLimits) -> int:
    """Return the largest number of bins of a column."""
    return limits if isinstance(limits, int) else max(limits)
