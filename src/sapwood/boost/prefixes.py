"""The prefixes of the permuted rows that the supporting models of ordered boosting are fitted to."""

from __future__ import annotations

from sapwood.params.declaration import BoostingParams

MIN_PREFIX_DIVISOR = 64  # the shortest prefix that is not empty has this fraction of the rows


def prefix_sizes(n_rows: int) -> list[int]:
    """Return the number of rows that each supporting model is fitted to: 0, then sizes that double."""
    sizes, size = [0], max(1, n_rows // MIN_PREFIX_DIVISOR)
    while size < n_rows:
        sizes.append(size)
        size *= 2
    return sizes


def count_scored_prefixes(n_rows: int) -> int:
    """Return the number of prefixes that are not empty: rows behind them are scored by their leaf values."""
    return len(prefix_sizes(n_rows)) - 1


def count_prefixes(boost: BoostingParams, n_rows: int) -> int:
    """Return the number of prefixes of ordered scoring, 0 if splits are scored without it."""
    return count_scored_prefixes(n_rows) if boost.boosting == "ordered" and boost.ordered_scoring is True else 0
