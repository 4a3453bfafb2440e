"""Tables that store few of their values: SciPy's sparse matrices and arrays, and sparse columns of pandas.

A value that is not stored is 0 (``zero_as_missing.py`` makes it missing); a stored NaN is missing. Entries stored more
than once are added, as SciPy does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sapwood.data.tables import conversion
from sapwood.data.tables.table import ArrayTable, Table, check_shape
from sapwood.errors import InputError

if TYPE_CHECKING:
    from sapwood.data.categories.vocabulary import Levels

COMPRESSED = {"csr": ("row", "column"), "csc": ("column", "row"), "bsr": ("row of blocks", "column of blocks")}


class SparseTable(Table):
    """A matrix in compressed columns, rows ascending in each; only small blocks are made dense, when they are read."""

    is_sparse = True

    def __init__(self, matrix: Any, names: tuple[str, ...] | None = None, has_string_names: bool = False) -> None:
        """``matrix`` is SciPy's, of floats and in the canonical format of compressed columns."""
        self._matrix = matrix
        self._by_rows: Any = None
        self.n_rows, self.n_features = matrix.shape
        self.dtype = matrix.dtype
        self.names, self.has_string_names = names, has_string_names

    @property
    def start(self) -> np.ndarray:
        """Where the entries of each column begin, and where the last ends."""
        return self._matrix.indptr

    @property
    def rows(self) -> np.ndarray:
        """The rows of the entries, column by column."""
        return self._matrix.indices

    @property
    def values(self) -> np.ndarray:
        """The entries, column by column."""
        return self._matrix.data

    def levels(self, feature: int) -> Levels:
        """A column as levels."""
        return ArrayTable(self._matrix[:, [feature]].toarray()).levels(0)

    def matrices(self, max_rows: int, first: int = 0, last: int | None = None) -> Iterator[tuple[int, np.ndarray]]:
        """Yield chunks of rows, made dense."""
        if self._by_rows is None:
            self._by_rows = self._matrix.tocsr()
        for start in range(0, self.n_rows, max_rows):
            yield start, self._by_rows[start : start + max_rows][:, first:last].toarray()

    def select(self, features: Sequence[int]) -> Table:
        """The matrix with these columns in this order."""
        if list(features) == list(range(self.n_features)):
            return self
        names = None if self.names is None else tuple(self.names[f] for f in features)
        return SparseTable(self._matrix[:, list(features)], names, self.has_string_names)

    def take(self, rows: np.ndarray) -> Table:
        """The matrix with these rows (ascending numbers) only."""
        if self._by_rows is None:
            self._by_rows = self._matrix.tocsr()
        return SparseTable(self._by_rows[rows].tocsc(), self.names, self.has_string_names)


def read_sparse(X: Any, names: tuple[str, ...] | None = None, has_string_names: bool = False) -> SparseTable:
    """See a sparse matrix of any format as a table; its indices are checked before anything follows them."""
    check_shape(X.shape)
    conversion.check_type(X.dtype, "X")
    if X.format == "lil":
        X = X.tocsr()
    if X.format in COMPRESSED:
        _check_indices(X)
    elif X.format == "coo":
        _check_coordinates(X)
    kind = conversion.float_type(X.dtype)
    with np.errstate(over="ignore"):  # what is beyond the range becomes infinite, as in dense tables
        # Whole numbers and truth values are added up as such, before they become floats.
        matrix = _canonical(X.tocsc()) if X.dtype.kind in "biu" else X.astype(kind, copy=False).tocsc()
        matrix = _canonical(matrix.astype(kind, copy=False))
    return SparseTable(matrix, names, has_string_names)


def _canonical(matrix: Any) -> Any:
    """Compressed columns whose rows ascend, none twice."""
    if _is_canonical(matrix):
        return matrix
    matrix = matrix.copy()
    matrix.has_canonical_format = matrix.has_sorted_indices = False
    matrix.sum_duplicates()
    return matrix


def read_sparse_frame(X: Any) -> SparseTable | None:
    """See a pandas frame, all of whose columns are sparse numbers around 0, as a table; None if it is not one."""
    is_frame = type(X).__module__.split(".")[0] == "pandas" and X.shape[1] > 0
    if not is_frame or not all(_is_around_zero(one) for one in X.dtypes):
        return None
    names = tuple(str(label) for label in X.columns)
    if len(set(names)) < len(names):
        return None
    return SparseTable(_matrix_of_columns(X), names, all(isinstance(label, str) for label in X.columns))


def _matrix_of_columns(X: Any) -> Any:
    """The sparse columns of a frame, whatever types they have, as compressed columns of floats."""
    from scipy.sparse import csc_matrix

    columns = [X.iloc[:, place].array for place in range(X.shape[1])]
    dtype = np.result_type(*(conversion.float_type(one.dtype.subtype) for one in columns))
    start = np.concatenate([[0], np.cumsum([len(one.sp_values) for one in columns])])
    rows = np.concatenate([one.sp_index.to_int_index().indices for one in columns])
    values = np.concatenate([one.sp_values.astype(dtype) for one in columns])
    return csc_matrix((values, rows, start), shape=X.shape)


def _is_around_zero(kind: Any) -> bool:
    fill = getattr(kind, "fill_value", None)
    return type(kind).__name__ == "SparseDtype" and np.isscalar(fill) and fill == 0 and kind.subtype.kind in "biuf"


def _is_canonical(matrix: Any) -> bool:
    """Tell whether the rows of each column ascend, none twice."""
    step = matrix.indices[1:] > matrix.indices[:-1]
    ends = matrix.indptr[1:-1]
    step[ends[(ends > 0) & (ends < len(matrix.indices))] - 1] = True
    return bool(step.all())


def _check_indices(X: Any) -> None:
    outer, inner = COMPRESSED[X.format]
    n_outer, n_inner = X.shape[::-1] if X.format == "csc" else X.shape
    if X.format == "bsr":
        n_outer, n_inner = (length // block for length, block in zip(X.shape, X.blocksize, strict=True))
    start, indices = np.asarray(X.indptr), np.asarray(X.indices)
    what = f"X is a {X.format} matrix of shape {X.shape}"
    for name, numbers in (("indptr", start), ("indices", indices)):
        if numbers.dtype.kind not in "iu":
            raise InputError(f"{what}, but {name} has the type {numbers.dtype}: rebuild it with whole numbers")
    if len(start) != n_outer + 1 or start[0] != 0:
        found = f"has {len(start)}" if len(start) != n_outer + 1 else f"begins with {start[0]}"
        raise InputError(f"{what}, so indptr must have {n_outer + 1} entries from 0 on, but {found}: rebuild it")
    if (np.diff(start) < 0).any():
        place = int(np.argmax(np.diff(start) < 0))
        raise InputError(
            f"{what}, but indptr falls after {outer} {place}: rebuild it, entries must come {outer} by {outer}"
        )
    if start[-1] > len(indices) or start[-1] > len(X.data):
        raise InputError(
            f"{what}, but indptr ends at {start[-1]} and there are {len(indices)} indices and {len(X.data)} values: "
            "rebuild it"
        )
    used = indices[: start[-1]]
    wrong = np.flatnonzero((used < 0) | (used >= n_inner))
    if len(wrong):
        place = int(np.searchsorted(start, wrong[0], side="right")) - 1
        raise InputError(
            f"{what}, but {outer} {place} has an entry in {inner} {used[wrong[0]]}: allowed are 0 to {n_inner - 1}"
        )


def _check_coordinates(X: Any) -> None:
    if not len(X.row) == len(X.col) == len(X.data):
        raise InputError(
            f"X is a coo matrix of shape {X.shape}, but it has {len(X.row)} rows, {len(X.col)} columns and "
            f"{len(X.data)} values: rebuild it, every entry needs one of each"
        )
    for name, numbers, length in (("row", X.row, X.shape[0]), ("column", X.col, X.shape[1])):
        wrong = np.flatnonzero((numbers < 0) | (numbers >= length))
        if len(wrong):
            raise InputError(
                f"X is a coo matrix of shape {X.shape}, but entry {wrong[0]} is in {name} {numbers[wrong[0]]}: allowed "
                f"are 0 to {length - 1}"
            )
