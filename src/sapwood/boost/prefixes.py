"""The prefixes of the permuted rows that the supporting models of ordered boosting are fitted to."""

from __future__ import annotations

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.params.declaration import BoostingParams

MIN_PREFIX_DIVISOR = 64  # the shortest prefix that is not empty has this fraction of the rows


def prefix_sizes(n_rows: int) -> list[int]:
    """Return the number of rows that each supporting model is fitted to: 0, then sizes that double."""
    sizes, size = [0], max(1, n_rows // MIN_PREFIX_DIVISOR)
    while size < n_rows:
        sizes.append(size)
        size *= 2
    return sizes


def has_ordered_scoring(boost: BoostingParams) -> bool:
    """Return whether splits are scored by the leaf values of prefixes."""
    return boost.boosting == "ordered" and boost.ordered_scoring is True


def count_scored_prefixes(n_rows: int) -> int:
    """Return the number of prefixes that are not empty: rows behind them are scored by their leaf values."""
    return len(prefix_sizes(n_rows)) - 1


def count_prefixes(boost: BoostingParams, dataset: BinnedDataset) -> int:
    """Return the number of prefixes of ordered scoring of the rows of all workers, 0 without it."""
    if not has_ordered_scoring(boost):
        return 0
    return count_scored_prefixes(dataset.workers.count_rows(dataset.n_rows))
