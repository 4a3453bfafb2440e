"""Partitions: rows of X with their targets, weights, scores and groups, of which a worker of a fit joins several."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sapwood.data.tables.table import count_rows
from sapwood.errors import InputError, InputTypeError
from sapwood.kernels.numeric.digest import N_LANES, digest_words


class Partition(NamedTuple):
    """Rows of a partition: X, targets, and weights, initial scores and groups where there are any."""

    X: Any
    y: Any
    sample_weight: Any = None
    init_score: Any = None
    groups: Any = None


class PartitionFacts(NamedTuple):
    """Number of rows of a partition, a digest of its content (None: not known), and the worker that computed it.

    ``dtype`` is the type of X if it is an array, ``n_columns`` its number of columns, 0 if it is not known.
    """

    n_rows: int
    digest: str | None
    address: str
    dtype: str | None
    n_columns: int = 0

    def same_content(self, other: PartitionFacts) -> bool:
        """Return whether another computation of the partition gave the same rows."""
        return (self.n_rows, self.digest) == (other.n_rows, other.digest)


def check_divided_alike(columns: Mapping[str, Sequence[Any]], where: str) -> None:
    """Raise InputError unless X has partitions and each of the other ``columns`` has as many."""
    n_partitions = len(columns["X"])
    for argument, partitions in columns.items():
        if len(partitions) != n_partitions:
            raise InputError(
                f"{where}{argument} has {len(partitions)} partitions, but X has {n_partitions}: they must be divided "
                "alike; repartition or rechunk one of them"
            )
    if not n_partitions:
        raise InputError(f"{where}X has no partitions: it must have at least one row")


def make_partition(number: int, where: str, values: dict[str, Any]) -> Partition:
    """Join what belongs to the rows of a partition, on the worker that has them."""
    for argument, one in values.items():
        if isinstance(one, Mapping):
            raise InputTypeError(
                f"{where}partition {number} of {argument} is a {type(one).__name__} of columns: pass partitions that "
                "are arrays, pandas, polars or pyarrow tables, or SciPy sparse matrices"
            )
    n_rows = count_rows(values["X"])
    for argument, one in values.items():
        if count_rows(one) != n_rows:
            raise InputError(
                f"{where}partition {number} of X has {n_rows} rows, but that of {argument} has {count_rows(one)}: "
                "they must be divided alike; repartition or rechunk one of them"
            )
    return Partition(**values)


def describe_partition(partition: Partition, address: str) -> PartitionFacts:
    """Return the facts of a partition, on the worker of an address, which has it."""
    sha = hashlib.blake2b(digest_size=16)
    is_known = min(_update_digest(sha, one) for one in partition if one is not None)
    dtype = str(partition.X.dtype) if isinstance(partition.X, np.ndarray) else None
    digest = sha.hexdigest() if is_known else None
    shape: tuple[int, ...] = getattr(partition.X, "shape", ())
    return PartitionFacts(count_rows(partition.X), digest, address, dtype, shape[1] if len(shape) == 2 else 0)


def without_rows(partition: Partition) -> Partition:
    """Return a partition of the same columns without rows."""
    return Partition(*(None if one is None else one[:0] for one in partition))


def common_type(names: Collection[str | None]) -> str | None:
    """Return the type that holds arrays X of these types; None where they are not numeric arrays."""
    known = [name for name in names if name is not None and np.dtype(name).kind in "fiub"]
    return str(np.result_type(*known)) if len(known) == len(names) else None


def join_partitions(partitions: Sequence[Partition], dtype: str | None = None) -> Partition:
    """Return the rows of several partitions as one; numeric arrays become arrays that hold ``dtype`` too."""
    columns = list(zip(*partitions, strict=True))
    X, *others = (None if values[0] is None else _concatenate(values) for values in columns)
    if dtype is not None and isinstance(X, np.ndarray) and X.dtype.kind in "fiub":
        X = X.astype(np.result_type(dtype, X.dtype), copy=False)
    return Partition(X, *others)


def _concatenate(values: Sequence[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    first = values[0]
    library = type(first).__module__.partition(".")[0]
    if library == "scipy":
        from scipy import sparse

        return sparse.vstack(values, format="csr")
    if isinstance(first, list):
        return [row for one in values for row in one]  # an array would turn numbers beside texts into texts
    if isinstance(first, np.ndarray):
        return np.concatenate([np.asarray(one) for one in values])
    if library == "polars":
        return _concatenate_polars(values)
    if library == "pyarrow":
        return _concatenate_arrow(values)
    return _concatenate_pandas(values)


def _concatenate_pandas(values: Sequence[Any]) -> Any:
    """Return the rows of pandas frames or series; categories of a column are those of all partitions."""
    import pandas
    from pandas.api.types import union_categoricals

    is_series = isinstance(values[0], pandas.Series)
    frames = [one.to_frame("values") if is_series else one for one in values]
    joined = pandas.concat(frames, ignore_index=True)
    for k in range(joined.shape[1]) if all(one.columns.equals(joined.columns) for one in frames) else ():
        columns = [one.iloc[:, k] for one in frames]
        types = {str(one.cat.categories.dtype) if hasattr(one, "cat") else None for one in columns}
        if not hasattr(joined.iloc[:, k], "cat") and len(types) == 1 and None not in types:
            joined.isetitem(k, union_categoricals(columns, ignore_order=True))
    return joined["values"] if is_series else joined


def _concatenate_polars(values: Sequence[Any]) -> Any:
    """Return the rows of polars frames or series; a column gets the type that holds those of all partitions."""
    import polars

    is_series = isinstance(values[0], polars.Series)
    frames = [one.to_frame("values") if is_series else one for one in values]
    joined = polars.concat(frames, how="vertical_relaxed")
    return joined.to_series() if is_series else joined


def _concatenate_arrow(values: Sequence[Any]) -> Any:
    """Return the rows of pyarrow tables, record batches or arrays; columns get types that hold all partitions."""
    import pyarrow

    is_table = hasattr(values[0], "column_names")
    named = values if is_table else [pyarrow.table({"values": one}) for one in values]
    tables = [pyarrow.Table.from_batches([one]) if isinstance(one, pyarrow.RecordBatch) else one for one in named]
    joined = pyarrow.concat_tables(tables, promote_options="permissive")
    return joined if is_table else joined.column(0)


def _update_digest(sha: Any, values: Any) -> bool:
    """Add the content of an array, data frame or sparse matrix; return whether its type has a digest."""
    if type(values).__module__.startswith("scipy.sparse"):
        compressed = values.tocsr().sorted_indices()
        for array in (compressed.data, compressed.indices, compressed.indptr):
            _add_bytes(sha, array)
        return True
    if isinstance(values, np.ndarray) and values.dtype != object:
        sha.update(f"{values.dtype.str}{values.shape}".encode())
        _add_bytes(sha, values)
        return True
    if type(values).__module__.startswith("pandas"):
        from pandas.util import hash_pandas_object

        sha.update(",".join(map(str, getattr(values, "columns", [""]))).encode())
        _add_bytes(sha, hash_pandas_object(values, index=False).to_numpy())
        return True
    return False


def _add_bytes(sha: Any, array: np.ndarray) -> None:
    """Add a quick digest of the bytes of an array, which need not withstand an attack, and those that it leaves."""
    if not array.size:
        return
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    n_bytes = len(data) // (8 * N_LANES) * (8 * N_LANES)
    words, state = data[:n_bytes].view(np.uint64).reshape(-1, N_LANES), np.arange(N_LANES, dtype=np.uint64)
    digest_words(words if words.flags.aligned else words.copy(), state)
    sha.update(state.data)
    sha.update(data[n_bytes:].data)
