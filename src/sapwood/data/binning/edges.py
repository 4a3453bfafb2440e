"""Choose the edges between bins of numbers: weighted quantiles of a sample of the rows."""

from __future__ import annotations

import math
import os

import numpy as np

from sapwood.data.tables.table import Table
from sapwood.distributed.workers import LOCAL, Workers
from sapwood.kernels.encode import bin_edges
from sapwood.kernels.numeric.random import BIN_EDGES
from sapwood.native.runtime.kernel import Run, run_serial

SAMPLE_ROWS = 200_000
GATHERED_VALUES = 2**24  # columns of the sample are gathered as many at a time as this allows
WEIGHT_BITS = 44  # the total weight fits, times the greatest number of bins and a factor of 4 still an int64


def find_edges(
    table: Table,
    weight: np.ndarray | None,
    max_bins: int,
    seed: int,
    row_ids: np.ndarray,
    run: Run = run_serial,
    workers: Workers = LOCAL,
) -> list[np.ndarray]:
    """Return the edges of every column: at most ``max_bins - 1`` ascending float64 between neighbouring values.

    A column of at most ``max_bins`` distinct values is cut between all of them. Weights must be positive. Where there
    are more than ``SAMPLE_ROWS`` rows, those whose numbers ``row_ids`` draw the smallest hashes are looked at.
    Where ``workers`` have rows of their own, each receives the sampled values of some of the columns, and all return
    the edges that one worker with all rows would find.
    """
    workers.begin("edges")
    n_rows = workers.count_rows(len(row_ids))
    rows = sample_rows(row_ids, seed, run, workers)
    units = np.empty(0, dtype=np.int64) if weight is None else weight_units(workers.gather_rows(weight[rows]))
    n_slices = len(workers.column_slices(0, table.n_features))
    at_once = max(1, min(table.n_features, GATHERED_VALUES * n_slices // min(n_rows, SAMPLE_ROWS)))
    edges: list[np.ndarray] = []
    for first in range(0, table.n_features, at_once):
        slices = workers.column_slices(first, min(first + at_once, table.n_features))
        values = workers.exchange_columns([gather(table, rows, start, stop, run) for start, stop in slices])
        edges.extend(workers.gather_columns(cut_sample(values, units, max_bins, run) if len(values) else []))
    return edges


def sample_rows(row_ids: np.ndarray, seed: int, run: Run = run_serial, workers: Workers = LOCAL) -> np.ndarray:
    """Return the ascending places in ``row_ids`` of the ``SAMPLE_ROWS`` smallest hashes among those of all workers.

    All places are returned if there are no more rows than that.
    """
    n = len(row_ids)
    if workers.count_rows(n) <= SAMPLE_ROWS:
        return np.arange(n, dtype=np.int64)
    hashes = np.empty(n, dtype=np.uint64)
    run(bin_edges.hash_rows, seed, BIN_EDGES, row_ids, hashes)
    smallest = hashes
    if workers.splits_rows and n > SAMPLE_ROWS:  # so that no more are sent
        smallest = np.partition(hashes, SAMPLE_ROWS - 1)[:SAMPLE_ROWS]
    largest = np.partition(workers.gather_rows(smallest), SAMPLE_ROWS - 1)[SAMPLE_ROWS - 1]
    return np.flatnonzero(hashes <= largest)


def weight_units(weight: np.ndarray) -> np.ndarray:
    """Weights as integers, in a unit that is a power of two and depends on their exact sum alone."""
    fractions = np.ldexp(weight, -int(np.frexp(weight.max())[1]))
    exponent = math.frexp(math.fsum(fractions.tolist()))[1]
    return np.rint(np.ldexp(fractions, WEIGHT_BITS - exponent)).astype(np.int64)


def gather(table: Table, rows: np.ndarray, first: int, last: int, run: Run = run_serial) -> np.ndarray:
    """The values of some rows (ascending) and columns, one line per column."""
    out = np.empty((last - first, len(rows)), dtype=table.dtype)
    for block in table.blocks(first, last):
        low, high = (int(k) for k in np.searchsorted(rows, (block.start, block.start + block.n_rows)))
        inside = rows[low:high] - block.start
        run(bin_edges.gather_rows, block.values, block.row_stride, block.column_stride, inside, low, out)
    return out


def cut_sample(values: np.ndarray, units: np.ndarray, max_bins: int, run: Run = run_serial) -> list[np.ndarray]:
    """The edges of each line of ``values``, whose entries weigh ``units`` (all the same if there are none)."""
    n_lines, n = values.shape
    size = values.itemsize
    bits = np.dtype(f"u{size}")
    planes = min(n_lines, os.cpu_count() or 1)
    keys = np.empty((planes, 2, n), dtype=bits)
    amounts = np.empty((planes, 2, n), dtype=np.int64)
    counts = np.empty((planes, bin_edges.MAX_DIGITS, bin_edges.DIGITS), dtype=np.int64)
    neighbours = np.empty((n_lines, 2, min(max_bins, n)), dtype=bits)
    n_cuts = np.empty(n_lines, dtype=np.int64)
    sign = 1 << (8 * size - 1)
    infinity = int(np.array(np.inf, dtype=values.dtype).view(bits))
    run(
        bin_edges.find_bin_edges, values.view(bits), sign, infinity, units, max_bins,
        keys, amounts, counts, neighbours, n_cuts,
    )  # fmt: skip
    around = neighbours.view(values.dtype)
    return [middle(*around[f, :, : n_cuts[f]].astype(np.float64)) for f in range(n_lines)]


def middle(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Numbers with ``low <= middle < high``: halfway where floats allow, else ``low``."""
    with np.errstate(invalid="ignore"):
        halfway = low * 0.5 + high * 0.5
    inside = (low <= halfway) & (halfway < high)
    return np.where(inside, halfway, low) + 0.0  # -0.0 becomes 0.0


def edge_table(edges: tuple[np.ndarray, ...], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Return edges as ``assign_bins`` takes them: padded with infinity to powers of two, and where each feature starts.

    For float32 they are rounded down: then ``x <= edge`` is true of the same float32 ``x`` as before.
    """
    sizes = [1 << len(line).bit_length() for line in edges]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    padded = np.full(int(starts[-1]), np.inf, dtype=dtype)
    for start, line in zip(starts, edges, strict=False):
        padded[start : start + len(line)] = _round_down(line) if dtype == np.float32 else line
    return padded, starts


def _round_down(edges: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        nearest = edges.astype(np.float32)
        return np.where(nearest > edges, np.nextafter(nearest, np.float32(-np.inf)), nearest)
