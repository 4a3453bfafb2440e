"""Cross category columns: the levels of several columns together, known by one number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sapwood.data.categories.vocabulary import MISSING
from sapwood.data.tables.table import Table
from sapwood.kernels.encode.combinations import encode_combinations
from sapwood.kernels.numeric.random import hash_combine
from sapwood.native.runtime.kernel import Run

Sources = tuple[int, ...]

AT_ONCE = 16  # crossings that a team looks at; memory that nobody uses costs nothing


def combine_codes(codes: Sequence[np.ndarray]) -> np.ndarray:
    """A number of 64 bits for the codes of each row; different codes have different numbers, all but certainly."""
    key = np.zeros(len(codes[0]), dtype=np.uint64)
    for column in codes:
        key = hash_combine(key, column.astype(np.uint64))
    return key


@dataclass(frozen=True, eq=False)
class CombinedCodes:
    """The codes of columns, a line each: (columns, rows), how many each can have, and the line of every column."""

    codes: np.ndarray
    sizes: np.ndarray
    line_of: Mapping[int, int]

    @classmethod
    def of(cls, columns: Mapping[int, np.ndarray]) -> CombinedCodes:
        """Put the codes of columns, by their numbers, into lines."""
        codes = np.array(list(columns.values()), dtype=np.int32)
        return cls(codes, codes.max(axis=1, initial=0).astype(np.int64) + 1, {f: k for k, f in enumerate(columns)})

    @property
    def n_rows(self) -> int:
        """The length of a line."""
        return self.codes.shape[1]

    def places(self, several: Sequence[Sources]) -> np.ndarray:
        """The lines of the columns of each crossing, −1 behind the last."""
        places = np.full((len(several), max(map(len, several), default=1)), -1, dtype=np.int32)
        for line, sources in zip(places, several, strict=True):
            line[: len(sources)] = [self.line_of[f] for f in sources]
        return places


@dataclass(frozen=True, eq=False)
class Workspace:
    """What each member needs to number the levels of a crossing; see ``kernels/encode/combinations.py``."""

    slots: np.ndarray
    keys: np.ndarray

    @classmethod
    def of(cls, n_rows: int, n_crossings: int) -> Workspace:
        """Room for as many members as may be of use."""
        n, size = max(1, min(n_crossings, AT_ONCE)), 1 << (2 * n_rows).bit_length()
        return cls(np.empty((n, size), dtype=np.int32), np.empty((n, n_rows), dtype=np.uint64))

    @property
    def n_members(self) -> int:
        """For how many members there is room."""
        return len(self.slots)


def combine_categories(
    several: Sequence[Sources], columns: Mapping[int, np.ndarray], run: Run
) -> Iterator[tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    """The level of each row in every crossing, numbered as levels appear, and the keys of the levels."""
    lines = CombinedCodes.of(columns)
    out = np.empty((len(several), lines.n_rows), dtype=np.int32)
    firsts, counts = np.empty_like(out), np.empty(len(several), dtype=np.int64)
    room = Workspace.of(lines.n_rows, len(several))
    chosen = lines.places(several)
    run(encode_combinations, lines.codes, lines.sizes, chosen, room.slots, room.keys, out, firsts, counts)
    for sources, codes, first, n in zip(several, out, firsts, counts.tolist(), strict=True):
        yield codes, combine_codes([columns[f][first[:n]] for f in sources])


def find_keys(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The place of each wanted number among ascending ``keys``, or one past the last."""
    places = np.searchsorted(keys, wanted)
    found = keys[np.minimum(places, len(keys) - 1)] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
    return np.where(found, places, len(keys))


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
