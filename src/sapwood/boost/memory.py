"""Estimate the memory that training needs, and refuse training that needs more than is available."""

from __future__ import annotations

import numpy as np

from sapwood.boost.prefixes import count_scored_prefixes, has_ordered_scoring
from sapwood.data.binning.max_bins import largest_limit
from sapwood.data.binning.sparse_bins import MAX_SPARSE_DENSITY, MAX_TILED_BYTES, MAX_TILED_COLUMNS
from sapwood.data.binning.tiles import tile_width
from sapwood.errors import OutOfMemoryError
from sapwood.grow.histogram import is_wide
from sapwood.grow.output_sketch import count_directions
from sapwood.grow.row_subset import MAX_FRACTION, MIN_ROWS
from sapwood.grow.workspace import WorkspaceSize, count_scored_outputs, pool_size
from sapwood.kernels.histogram.multi_output import padded_planes
from sapwood.lazy_dataclass import dataclass
from sapwood.native.system.available_memory import available_memory
from sapwood.objectives.base import Objective
from sapwood.params.declaration import Params
from sapwood.params.options import linear_of, sampling_of, symmetric_of

REMEDIES = {
    "bins": "use max_bins=255 or less, of one byte each, or fewer rows or columns",
    "rows": "use fewer rows",
    "histograms": "use a smaller max_bins, max_leaves or max_depth, or fewer columns",
    "validation": "use fewer validation rows",
}

MAX_ROW_COPIES = 4  # over all supporting models of ordered boosting
# Less is never checked: to find out how much memory is available takes as long as growing a few small trees.
SMALL_BYTES = 1 << 24
ENTRY_BYTES = 40  # of an entry of sparse bins, while they are made


@dataclass(frozen=True, eq=False)
class DataSize:
    """Numbers of training rows, columns and validation rows; ``stored`` are the entries of each sparse column."""

    n_rows: int
    n_features: int
    n_eval_rows: int = 0
    stored: np.ndarray | None = None

    @property
    def sparse_entries(self) -> np.ndarray:
        """Number of entries of each column that is kept in sparse bins rather than in tiles."""
        may_be_tiled = self.n_features <= MAX_TILED_COLUMNS and 2 * self.n_rows * self.n_features <= MAX_TILED_BYTES
        if self.stored is None or may_be_tiled:
            return np.empty(0, dtype=np.int64)
        return self.stored[self.stored <= MAX_SPARSE_DENSITY * self.n_rows]


def estimate_memory(size: DataSize, objective: Objective, params: Params, members: int) -> dict[str, int]:
    """Return the bytes that the arrays of training take, by their purpose."""
    n, sparse, n_outputs = size.n_rows, size.sparse_entries, objective.n_outputs
    p = size.n_features - len(sparse)
    is_exact = params.tree.split_search == "exact"
    assert params.tree.max_leaves is not None
    n_prefixes = count_scored_prefixes(n) if has_ordered_scoring(params.boost) else 0
    width = count_scored_outputs(n_outputs if objective.vector_leaves else 1, n_prefixes)
    is_wide_cell, n_directions = is_exact or is_wide(params.tree.precision, n), count_directions(params.tree, width)
    shape = WorkspaceSize(n, width, params.tree.max_leaves, members, is_wide_cell, n_directions)
    bin_type = np.dtype(np.uint8 if largest_limit(params.binning.column_limits) <= 255 else np.uint16)
    per_value, tile = bin_type.itemsize, tile_width(p, bin_type)
    tiles = -(-p // tile) * tile * per_value
    max_bins, n_entries = min(largest_limit(params.binning.column_limits), n), int(sparse.sum())
    n_cells = p * (max_bins + 1) + int(np.minimum(sparse + 2, max_bins + 1).sum())
    cells = 0 if is_exact else shape.n_planes * n_cells
    n_histograms = 0 if is_exact else pool_size(shape, cells, symmetric_of(params.tree.growth) is not None)
    copies = (20 + 16 * n_outputs) * MAX_ROW_COPIES if params.boost.boosting == "ordered" else 0
    scored_pairs = 8 * width if n_prefixes > 0 else 0
    scratch = padded_planes(shape.n_planes) if width > 1 else shape.n_planes
    per_eval_row = 8 * p if is_exact else tiles
    has_subset = not is_exact and n >= MIN_ROWS and sampling_of(params.boost.sampling) is not None
    subset_fraction = MAX_FRACTION if has_subset else 0
    # Linear leaves read the values of all columns, for which a sparse table becomes dense.
    is_copied = size.stored is not None and linear_of(params.tree.leaf_model) is not None
    return {
        "bins": int(n * (24 * p if is_exact else (1.0 + subset_fraction) * (tiles + per_value * p)))
        + ENTRY_BYTES * n_entries
        + 8 * n * size.n_features * is_copied,
        "rows": n * (2 * 4 + 8 * (shape.n_planes + scratch) + 16 * n_outputs + 8 + copies + scored_pairs),
        "histograms": 8 * cells * (n_histograms + members),
        "validation": size.n_eval_rows * (per_eval_row + ENTRY_BYTES * n_entries // max(1, n) + 8 * n_outputs),
    }


def check_memory(size: DataSize, objective: Objective, params: Params, members: int) -> None:
    """Raise an OutOfMemoryError if training needs more memory than is available, rather than be killed later."""
    parts = estimate_memory(size, objective, params, members)
    needed = sum(parts.values())
    available = None if needed <= SMALL_BYTES else available_memory()
    if available is None or needed <= available:
        return
    largest = max(parts, key=lambda name: parts[name])
    by_part = ", ".join(f"{name} {format_bytes(part)}" for name, part in parts.items() if part)
    raise OutOfMemoryError(
        f"training on {size.n_rows} rows and {size.n_features} columns needs about {format_bytes(needed)} of memory "
        f"({by_part}), but only {format_bytes(available)} is available: {REMEDIES[largest]}"
    )


def format_bytes(n_bytes: int) -> str:
    """Return a number of bytes as text, in GB or MB."""
    return f"{n_bytes / 1e9:.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.0f} MB"
