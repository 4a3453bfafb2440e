"""Codes of feature combinations: the categories of several columns, or numeric columns cut into bins, as one column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sapwood.data.categories.vocabulary import MISSING
from sapwood.data.tables.table import Table
from sapwood.kernels.encode.combinations import encode_combinations, hash_categories, sort_combination_keys
from sapwood.kernels.numeric.random import hash_combine
from sapwood.lazy_dataclass import dataclass
from sapwood.native.runtime.kernel import Run

Sources = tuple[int, ...]  # the numbers of the columns of a combination


def parts(sources: Sources) -> list[Sources]:
    """Return the combinations with one column less."""
    return [tuple(f for f in sources if f != left_out) for left_out in sources]


MAX_MEMBERS = 16  # of a team that encode combinations at the same time; pages that no member touches cost nothing


def combination_keys(codes: Sequence[np.ndarray]) -> np.ndarray:
    """Return a 64-bit hash of the codes of each row; keys of different codes differ with near certainty."""
    keys = np.zeros(len(codes[0]), dtype=np.uint64)
    for column in codes:
        keys = hash_combine(keys, column.astype(np.uint64))
    return keys


@dataclass(frozen=True, eq=False)
class CodeMatrix:
    """Codes of columns (columns, rows), the number of codes of each, and the matrix row of each column number."""

    codes: np.ndarray
    sizes: np.ndarray
    row_of: Mapping[int, int]

    @classmethod
    def of(cls, columns: Mapping[int, np.ndarray]) -> CodeMatrix:
        """Stack the codes of columns, given by column number."""
        codes = np.array(list(columns.values()), dtype=np.int32)
        return cls(codes, codes.max(axis=1, initial=0).astype(np.int64) + 1, {f: k for k, f in enumerate(columns)})

    @property
    def n_rows(self) -> int:
        """Number of rows of the table, the length of each column."""
        return self.codes.shape[1]

    def matrix_rows(self, combinations: Sequence[Sources]) -> np.ndarray:
        """Return the matrix rows of the columns of each combination, padded with −1."""
        out = np.full((len(combinations), max(map(len, combinations), default=1)), -1, dtype=np.int32)
        for rows, sources in zip(out, combinations, strict=True):
            rows[: len(sources)] = [self.row_of[f] for f in sources]
        return out


@dataclass(frozen=True, eq=False)
class CombinationWorkspace:
    """Hash table of each member to encode a combination; see ``kernels/encode/combinations.py``."""

    slots: np.ndarray
    keys: np.ndarray

    @classmethod
    def of(cls, n_rows: int, n_combinations: int) -> CombinationWorkspace:
        """Allocate hash tables for at most one member per combination."""
        n, size = max(1, min(n_combinations, MAX_MEMBERS)), 1 << (2 * n_rows).bit_length()
        return cls(np.empty((n, size), dtype=np.int32), np.empty((n, n_rows), dtype=np.uint64))

    @property
    def n_members(self) -> int:
        """Number of members that have a hash table."""
        return len(self.slots)


def combine_columns(
    combinations: Sequence[Sources], columns: Mapping[int, np.ndarray], run: Run
) -> Iterator[tuple[np.ndarray, np.ndarray]]:  # fmt: skip
    """Yield the codes of the rows in each combination, numbered by first appearance, and the key of each code."""
    matrix = CodeMatrix.of(columns)
    out = np.empty((len(combinations), matrix.n_rows), dtype=np.int32)
    first_rows, counts = np.empty_like(out), np.empty(len(combinations), dtype=np.int64)
    workspace = CombinationWorkspace.of(matrix.n_rows, len(combinations))
    matrix_rows = matrix.matrix_rows(combinations)
    run(
        encode_combinations, matrix.codes, matrix.sizes, matrix_rows,
        workspace.slots, workspace.keys, out, first_rows, counts,
    )  # fmt: skip
    start = np.concatenate([[0], np.cumsum(counts)])
    keys = np.empty(start[-1], dtype=np.uint64)
    run(hash_categories, matrix.codes, matrix_rows, first_rows, start, keys)
    yield from zip(out, np.split(keys, start[1:-1]), strict=True)


def key_orders(keys: Sequence[np.ndarray], run: Run) -> list[np.ndarray]:
    """Return the order of the keys of each combination, ascending."""
    if not keys:
        return []
    start = np.concatenate([[0], np.cumsum([len(one) for one in keys])])
    counts = np.empty((min(len(keys), MAX_MEMBERS), 2 * max(2, *map(len, keys)) + 1), dtype=np.int64)
    order = np.empty(start[-1], dtype=np.int32)
    run(sort_combination_keys, np.concatenate(keys), start, counts, order)
    return np.split(order, start[1:-1])


def find_keys(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return the index of each wanted key among ascending ``keys``, ``len(keys)`` if it is not there."""
    indices = np.searchsorted(keys, wanted)
    is_found = keys[np.minimum(indices, len(keys) - 1)] == wanted if len(keys) else np.zeros(len(wanted), dtype=bool)
    return np.where(is_found, indices, len(keys))


def encode_numbers(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Return the code of each number as int32: 1 + the number of cuts below it, 0 where it is missing."""
    codes = np.searchsorted(cuts, values).astype(np.int32) + np.int32(1)
    codes[np.isnan(values)] = MISSING
    return codes


def encode_number_columns(table: Table, cuts: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Return the codes of all rows for each column that has cuts."""
    codes = {f: np.empty(table.n_rows, dtype=np.int32) for f in cuts}
    if not cuts:
        return codes
    for start, matrix in table.select(list(cuts)).matrices(table.chunk_rows()):
        for f, values in zip(cuts, matrix.T, strict=True):
            codes[f][start : start + len(matrix)] = encode_numbers(values, cuts[f])
    return codes
