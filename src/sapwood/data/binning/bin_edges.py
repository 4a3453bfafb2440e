"""Bin edges of numeric columns: weighted quantiles of a sample of the rows."""

from __future__ import annotations

import math
import os

import numpy as np

from sapwood.data.binning.max_bins import BinLimits, limits_array
from sapwood.data.tables.table import Table
from sapwood.distributed.selection import kth_smallest
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.encode import bin_edges
from sapwood.kernels.numeric.random import BIN_EDGES
from sapwood.native.runtime.kernel import Run, run_serial

SAMPLE_ROWS = 200_000
GATHERED_VALUES = 2**24  # of the sample that are gathered at a time, as many columns as this allows
WEIGHT_BITS = 44  # of the total weight; times the largest number of bins and a factor of 4 it still fits an int64


def find_edges(
    table: Table,
    weight: np.ndarray | None,
    max_bins: BinLimits,
    seed: int,
    row_ids: np.ndarray,
    run: Run = run_serial,
    workers: Workers = LOCAL,
) -> list[np.ndarray]:
    """Return the edges of each column: at most ``max_bins - 1`` ascending float64 between neighbouring values.

    A column of at most ``max_bins`` distinct values has an edge between any two neighbours. Weights must be positive.
    Tables of more than ``SAMPLE_ROWS`` rows are sampled: the rows whose ``row_ids`` have the smallest hashes.

    If each of the ``workers`` has rows of its own, each receives the sampled values of some of the columns, and all
    return the edges that one worker with all rows would find.
    """
    workers.begin("edges")
    n_rows = workers.count_rows(len(row_ids))
    rows = sample_rows(row_ids, seed, run, workers)
    weights = np.empty(0, dtype=np.int64) if weight is None else fixed_point_weights(workers.gather_rows(weight[rows]))
    n_slices = len(workers.column_slices(0, table.n_features))
    columns_per_pass = max(1, min(table.n_features, GATHERED_VALUES * n_slices // min(n_rows, SAMPLE_ROWS)))
    limits = limits_array(max_bins, table.n_features)
    edges: list[np.ndarray] = []
    for first in range(0, table.n_features, columns_per_pass):
        slices = workers.column_slices(first, min(first + columns_per_pass, table.n_features))
        values = workers.exchange_columns([gather_columns(table, rows, start, stop, run) for start, stop in slices])
        own = slice(*slices[workers.slice_number])
        edges.extend(workers.gather_columns(limited_edges(values, weights, limits[own], run) if len(values) else []))
    return edges


def sample_rows(row_ids: np.ndarray, seed: int, run: Run = run_serial, workers: Workers = LOCAL) -> np.ndarray:
    """Return the ascending positions in ``row_ids`` of the ``SAMPLE_ROWS`` smallest hashes among all workers' rows.

    All positions are returned if there are no more rows than that.
    """
    n = len(row_ids)
    if workers.count_rows(n) <= SAMPLE_ROWS:
        return np.arange(n, dtype=np.int64)
    hashes = np.empty(n, dtype=np.uint64)
    run(bin_edges.hash_rows, seed, BIN_EDGES, row_ids, hashes)
    smallest = hashes
    if workers.splits_rows and n > SAMPLE_ROWS:  # others cannot be among the smallest
        smallest = np.partition(hashes, SAMPLE_ROWS - 1)[:SAMPLE_ROWS]
    found = kth_smallest(smallest, SAMPLE_ROWS, workers.count_rows(len(smallest)), workers)
    assert found is not None
    return np.flatnonzero(hashes <= np.uint64(found[0]))


def fixed_point_weights(weight: np.ndarray) -> np.ndarray:
    """Return weights as integers in a unit that is a power of two and depends on their exact sum only."""
    fractions = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
    exponent = math.frexp(math.fsum(fractions.tolist()))[1]
    return np.rint(np.ldexp(fractions, WEIGHT_BITS - exponent)).astype(np.int64)


def gather_columns(table: Table, rows: np.ndarray, first: int, last: int, run: Run = run_serial) -> np.ndarray:
    """Return the values (columns, rows) of columns ``first`` to ``last`` in the given rows, which ascend."""
    out = np.empty((last - first, len(rows)), dtype=table.dtype)
    for block in table.blocks(first, last):
        low, high = (int(k) for k in np.searchsorted(rows, (block.start, block.start + block.n_rows)))
        rows_of_block = rows[low:high] - block.start
        run(bin_edges.gather_rows, block.values, block.row_stride, block.column_stride, rows_of_block, low, out)
    return out


def limited_edges(values: np.ndarray, weights: np.ndarray, max_bins: np.ndarray, run: Run) -> list[np.ndarray]:
    """Return the edges of each column of ``values`` (columns, rows), of which each has its own ``max_bins``."""
    if (max_bins == max_bins[0]).all():
        return quantile_edges(values, weights, int(max_bins[0]), run)
    edges: list[np.ndarray] = [np.empty(0)] * len(values)
    for limit in np.unique(max_bins).tolist():
        columns = np.flatnonzero(max_bins == limit)
        for column, found in zip(columns, quantile_edges(values[columns], weights, limit, run), strict=True):
            edges[column] = found
    return edges


def quantile_edges(values: np.ndarray, weights: np.ndarray, max_bins: int, run: Run = run_serial) -> list[np.ndarray]:
    """Return the edges of each column of ``values`` (columns, rows); empty ``weights`` are equal weights."""
    n_columns, n = values.shape
    size = values.itemsize
    bits = np.dtype(f"u{size}")
    n_members = min(n_columns, os.cpu_count() or 1)
    keys = np.empty((n_members, 2, n), dtype=bits)
    amounts = np.empty((n_members, 2, n), dtype=np.int64)
    counts = np.empty((n_members, bin_edges.MAX_DIGITS, bin_edges.DIGITS), dtype=np.int64)
    neighbours = np.empty((n_columns, 2, min(max_bins, n)), dtype=bits)
    n_edges = np.empty(n_columns, dtype=np.int64)
    sign = 1 << (8 * size - 1)
    infinity = int(np.array(np.inf, dtype=values.dtype).view(bits))
    run(
        bin_edges.find_bin_edges, values.view(bits), sign, infinity, weights, max_bins,
        keys, amounts, counts, neighbours, n_edges,
    )  # fmt: skip
    around = neighbours.view(values.dtype)
    return [midpoints(*around[f, :, : n_edges[f]].astype(np.float64)) for f in range(n_columns)]


def midpoints(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return numbers with ``low <= number < high``: the mean where floats allow, else ``low``."""
    with np.errstate(invalid="ignore"):
        halfway = low * 0.5 + high * 0.5
    is_between = (low <= halfway) & (halfway < high)
    return np.where(is_between, halfway, low) + 0.0  # -0.0 becomes 0.0


def pad_edges(edges: tuple[np.ndarray, ...], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges as ``assign_bins`` takes them: padded with infinity to powers of two, and the start of each.

    Edges for float32 are rounded down: ``x <= edge`` then holds for the same float32 ``x`` as before.
    """
    sizes = [1 << len(column).bit_length() for column in edges]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    padded = np.full(int(starts[-1]), np.inf, dtype=dtype)
    for start, column in zip(starts, edges, strict=False):
        padded[start : start + len(column)] = _round_down(column) if dtype == np.float32 else column
    return padded, starts


def _round_down(edges: np.ndarray) -> np.ndarray:
    """Return the largest float32 that does not exceed each edge."""
    with np.errstate(over="ignore", under="ignore"):
        nearest = edges.astype(np.float32)
        return np.where(nearest > edges, np.nextafter(nearest, np.float32(-np.inf)), nearest)
