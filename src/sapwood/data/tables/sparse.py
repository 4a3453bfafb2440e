"""Read sparse tables: SciPy's sparse matrices and arrays, and pandas data frames of sparse columns.

A value that is not stored is 0 (a missing value with ``zero_as_missing.py``); a stored NaN is missing. Duplicate
entries are summed, as SciPy does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.data.tables import conversion
from sapwood.data.tables.table import ArrayTable, Table, check_shape
from sapwood.errors import InputError

if TYPE_CHECKING:
    from sapwood.data.categories.vocabulary import CategoricalColumn

COMPRESSED = {"csr": ("row", "column"), "csc": ("column", "row"), "bsr": ("row of blocks", "column of blocks")}


class SparseTable(Table):
    """A sparse matrix in canonical CSC format; blocks of rows become dense when they are read."""

    is_sparse = True

    def __init__(self, matrix: Any, names: tuple[str, ...] | None = None, has_string_names: bool = False) -> None:
        """``matrix`` is a SciPy CSC matrix of floats in canonical format: row indices ascend, without duplicates."""
        self._matrix = matrix
        self._by_rows: Any = None
        self.n_rows, self.n_features = matrix.shape
        self.dtype = matrix.dtype
        self.names, self.has_string_names = names, has_string_names

    @property
    def start(self) -> np.ndarray:
        """Offset of each column's first entry, and the number of entries (``indptr``)."""
        return self._matrix.indptr

    @property
    def rows(self) -> np.ndarray:
        """Row of each stored entry, column by column (``indices``)."""
        return self._matrix.indices

    @property
    def values(self) -> np.ndarray:
        """Value of each stored entry, column by column (``data``)."""
        return self._matrix.data

    def categorical_column(self, feature: int, fractions: bool = False) -> CategoricalColumn:
        """Return a column as categories and codes."""
        return ArrayTable(self._matrix[:, [feature]].toarray()).categorical_column(0, fractions)

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows as dense matrices."""
        if self._by_rows is None:
            self._by_rows = self._matrix.tocsr()
        for start in range(0, self.n_rows, max_rows):
            yield start, self._by_rows[start : start + max_rows][:, first:last].toarray()

    def select(self, features: Sequence[int]) -> Table:
        """Return a table of the given columns in the given order."""
        if list(features) == list(range(self.n_features)):
            return self
        names = None if self.names is None else tuple(self.names[f] for f in features)
        return SparseTable(self._matrix[:, list(features)], names, self.has_string_names)

    def take(self, rows: np.ndarray) -> Table:
        """Return a table of the given rows, whose numbers ascend."""
        if self._by_rows is None:
            self._by_rows = self._matrix.tocsr()
        return SparseTable(self._by_rows[rows].tocsc(), self.names, self.has_string_names)


def read_sparse(X: Any, min_rows: int = 1) -> SparseTable:
    """Read a sparse matrix of any format as a table; its indices are checked before they are used."""
    check_shape(X.shape, min_rows)
    conversion.check_type(X.dtype, "X")
    if X.format == "lil":
        X = X.tocsr()
    if X.format in COMPRESSED:
        _check_indices(X)
    elif X.format == "coo":
        _check_coordinates(X)
    dtype = conversion.float_type(X.dtype)
    with np.errstate(over="ignore"):  # values beyond the range become infinite, as in dense tables
        # Duplicates of integers and booleans are summed before the conversion to floats.
        matrix = _canonical(X.tocsc()) if X.dtype.kind in "biu" else X.astype(dtype, copy=False).tocsc()
        matrix = _canonical(matrix.astype(dtype, copy=False))
    return SparseTable(matrix)


def _canonical(matrix: Any) -> Any:
    """Return the CSC matrix with ascending row indices, duplicates summed."""
    if _is_canonical(matrix):
        return matrix
    matrix = matrix.copy()
    matrix.has_canonical_format = matrix.has_sorted_indices = False
    matrix.sum_duplicates()
    return matrix


def read_sparse_frame(X: Any) -> SparseTable | None:
    """Read a pandas frame whose columns all are sparse numbers with fill value 0; return None for other frames."""
    is_frame = type(X).__module__.split(".")[0] == "pandas" and X.shape[1] > 0
    if not is_frame or not all(_has_zero_fill(dtype) for dtype in X.dtypes):
        return None
    names = tuple(str(label) for label in X.columns)
    if len(set(names)) < len(names):
        return None
    return SparseTable(_columns_to_csc(X), names, all(isinstance(label, str) for label in X.columns))


def _columns_to_csc(X: Any) -> Any:
    """Return the sparse columns of a frame as a CSC matrix of floats."""
    from scipy.sparse import csc_matrix

    columns = [X.iloc[:, f].array for f in range(X.shape[1])]
    dtype = np.result_type(*(conversion.float_type(column.dtype.subtype) for column in columns))
    start = np.concatenate([[0], np.cumsum([len(column.sp_values) for column in columns])])
    rows = np.concatenate([column.sp_index.to_int_index().indices for column in columns])
    values = np.concatenate([column.sp_values.astype(dtype) for column in columns])
    return csc_matrix((values, rows, start), shape=X.shape)


def _has_zero_fill(dtype: Any) -> bool:
    fill = getattr(dtype, "fill_value", None)
    return type(dtype).__name__ == "SparseDtype" and np.isscalar(fill) and fill == 0 and dtype.subtype.kind in "biuf"


def _is_canonical(matrix: Any) -> bool:
    """Return whether the row indices of each column ascend, without duplicates."""
    ascends = matrix.indices[1:] > matrix.indices[:-1]
    ends = matrix.indptr[1:-1]
    ascends[ends[(ends > 0) & (ends < len(matrix.indices))] - 1] = True  # from one column to the next
    return bool(ascends.all())


def _check_indices(X: Any) -> None:
    outer, inner = COMPRESSED[X.format]
    n_outer, n_inner = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        n_outer, n_inner = (length // block for length, block in zip(X.shape, X.blocksize, strict=True))
    start, indices = np.asarray(X.indptr), np.asarray(X.indices)
    what = f"X is a {X.format} matrix of shape {X.shape}"
    for name, numbers in (("indptr", start), ("indices", indices)):
        if numbers.dtype.kind not in "iu":
            raise InputError(f"{what}, but {name} has the type {numbers.dtype}: rebuild it with integers")
    if len(start) != n_outer + 1 or start[0] != 0:
        found = f"has {len(start)}" if len(start) != n_outer + 1 else f"begins with {start[0]}"
        raise InputError(
            f"{what}, so indptr must have {n_outer + 1} entries and begin with 0, but it {found}: rebuild it"
        )
    if (np.diff(start) < 0).any():
        position = int(np.argmax(np.diff(start) < 0))
        raise InputError(f"{what}, but indptr decreases after {outer} {position}: rebuild it, indptr must not decrease")
    if start[-1] > len(indices) or start[-1] > len(X.data):
        raise InputError(
            f"{what}, but indptr ends at {start[-1]} and there are {len(indices)} indices and {len(X.data)} values: "
            "rebuild it"
        )
    used = indices[: start[-1]]
    wrong = np.flatnonzero((used < 0) | (used >= n_inner))
    if len(wrong):
        position = int(np.searchsorted(start, wrong[0], side="right")) - 1
        raise InputError(
            f"{what}, but {outer} {position} has an entry in {inner} {used[wrong[0]]}: allowed are 0 to {n_inner - 1}; "
            "rebuild it"
        )


def _check_coordinates(X: Any) -> None:
    if not len(X.row) == len(X.col) == len(X.data):
        raise InputError(
            f"X is a coo matrix of shape {X.shape}, but it has {len(X.row)} rows, {len(X.col)} columns and "
            f"{len(X.data)} values: rebuild it, each entry needs a row, a column and a value"
        )
    for name, numbers, length in (("row", X.row, X.shape[0]), ("column", X.col, X.shape[1])):
        wrong = np.flatnonzero((numbers < 0) | (numbers >= length))
        if len(wrong):
            raise InputError(
                f"X is a coo matrix of shape {X.shape}, but entry {wrong[0]} is in {name} {numbers[wrong[0]]}: allowed "
                f"are 0 to {length - 1}; rebuild it"
            )
