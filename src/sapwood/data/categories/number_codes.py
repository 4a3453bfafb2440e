"""Columns of numbers cut into a few levels, so that they can be crossed with categories."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sapwood.data.categories.vocabulary import MISSING
from sapwood.data.tables.table import Table


def codes_of_numbers(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """The level of each value, int32: 1 + the number of cuts below it, 0 where it is missing."""
    codes = np.searchsorted(cuts, values).astype(np.int32) + np.int32(1)
    codes[np.isnan(values)] = MISSING
    return codes


def codes_of_columns(table: Table, cuts: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """The levels of all rows in every column that has cuts."""
    codes = {f: np.empty(table.n_rows, dtype=np.int32) for f in cuts}
    if not cuts:
        return codes
    for start, matrix in table.select(list(cuts)).matrices(table.chunk_rows()):
        for f, values in zip(cuts, matrix.T, strict=True):
            codes[f][start : start + len(matrix)] = codes_of_numbers(values, cuts[f])
    return codes
