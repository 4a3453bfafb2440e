"""What a distributed fit costs each worker: bytes, exchanges and memory, estimated before it begins."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from math import ceil, log2

from sapwood.data.binning.bin_edges import SAMPLE_ROWS
from sapwood.distributed.collectives import DIRECT_WORKERS
from sapwood.distributed.communicator import SMALL_BYTES
from sapwood.distributed.partitions import PartitionFacts
from sapwood.estimators.base import SapwoodEstimator
from sapwood.grow.feature_meta import MANY_BINS
from sapwood.grow.histogram import is_wide
from sapwood.grow.histogram_exchange import MAX_COUNTED, MAX_MORE_BYTES
from sapwood.kernels import layout
from sapwood.lazy_dataclass import dataclass
from sapwood.params.declaration import Params
from sapwood.params.effort import FAST
from sapwood.params.resolve import resolve_params, set_params

NUMBER = 8  # bytes
# Of the best split of a leaf, besides two sums per plane, with the features that may have to be counted.
SPLIT_NUMBERS = layout.LEAF_SUMS - layout.SPLIT_FEATURE + 2 + MAX_COUNTED
IN_VAIN = 1.2  # histograms of a leafwise tree, with those expanded in vain, over those that it needs
ROW_BYTES = 40  # of the scores, gradients and numbers of a row, for each output


@dataclass(frozen=True)
class Traffic:
    """What a worker sends: bytes, in a number of messages and exchanges."""

    n_bytes: float = 0.0
    exchanges: float = 0
    messages: float = 0

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            self.n_bytes + other.n_bytes, self.exchanges + other.exchanges, self.messages + other.messages
        )  # fmt: skip

    def __mul__(self, times: float) -> Traffic:
        return Traffic(self.n_bytes * times, self.exchanges * times, self.messages * times)


@dataclass(frozen=True)
class Histogram:
    """The histogram of a leaf: cells of all features together, in planes."""

    n_cells: int
    n_planes: int

    @property
    def n_bytes(self) -> int:
        """Bytes of the histogram."""
        return NUMBER * self.n_planes * self.n_cells

    @property
    def split_bytes(self) -> int:
        """Bytes of the best split of a leaf."""
        return NUMBER * (SPLIT_NUMBERS + 2 * self.n_planes)


@dataclass(frozen=True)
class FitCost:
    """The estimated cost of a distributed fit, for each of its workers.

    ``once`` is what a worker sends before the first tree; ``per_tree`` what it sends for a tree, by purpose: "scales",
    "levels" and "leaves". ``memory`` are the bytes of its bins, scores and histograms; its rows come in addition.
    """

    n_workers: int
    n_trees: int
    once: Traffic
    per_tree: dict[str, Traffic]
    memory: int

    @property
    def tree(self) -> Traffic:
        """What a worker sends for a tree."""
        return sum(self.per_tree.values(), Traffic())

    def __str__(self) -> str:
        return (
            f"{self.n_workers} workers: each sends about {self.tree.n_bytes / 1e6:.2f} MB in {self.tree.exchanges} "
            f"exchanges ({self.tree.messages} messages) per tree, {self.n_trees} trees, and "
            f"{self.once.n_bytes / 1e6:.1f} MB before the first; it has {self.memory / 1e6:.0f} MB of bins, "
            "scores and histograms besides its rows"
        )


def estimate_cost(
    estimator: SapwoodEstimator, n_rows: int, n_features: int, n_workers: int, n_outputs: int = 1
) -> FitCost:
    """Return what a fit on workers that have rows of their own costs each of them, before it begins.

    Numbers of bins and leaves are the largest that the parameters allow, and categories are not included.

    Parameters
    ----------
    estimator : SapwoodClassifier or SapwoodRegressor
        Estimator to fit.
    n_rows : int
        Number of rows of all workers.
    n_features : int
        Number of columns.
    n_workers : int
        Number of workers.
    n_outputs : int, default=1
        Number of trees per round, such as the number of classes if there are more than two.

    Returns
    -------
    FitCost
        Bytes, exchanges and messages per tree and before the first, and memory.

    Examples
    --------
    >>> from sapwood import SapwoodClassifier
    >>> from sapwood.distributed import estimate_cost
    >>> cost = estimate_cost(SapwoodClassifier(n_estimators=500), n_rows=10**9, n_features=28, n_workers=1000)
    >>> cost.tree.exchanges, cost.n_trees
    (263, 500)
    """
    given = set_params(estimator.get_params(deep=False))
    params = resolve_params({"effort": FAST} | given | {"random_state": 0}, n_rows, estimator.task)
    collectives = Collectives(n_workers)
    n_leaves = _max_leaves(params)
    n_planes = 2 if is_wide(params.tree.precision, n_rows) else 1
    n_cells = n_features * _cells_per_feature(params)
    histogram = Histogram(n_cells, n_planes)
    per_tree = {
        "scales": collectives.gather(5 * NUMBER) + collectives.sum(2 * NUMBER),
        "levels": level_traffic(collectives, histogram, *_n_built(params, n_leaves)),
        "leaves": collectives.sum(4 * NUMBER * n_leaves),
    }
    sampled = min(SAMPLE_ROWS, n_rows) * n_features / n_workers
    edges = n_cells / n_workers * (n_workers - 1)
    once = Traffic(NUMBER * (sampled * (n_workers - 1) / n_workers + edges))
    own_rows = ceil(n_rows / n_workers)
    memory = own_rows * (2 * n_features + ROW_BYTES * n_outputs) + histogram.n_bytes * n_leaves
    return FitCost(n_workers, params.boost.n_estimators * n_outputs, once, per_tree, memory)


def log_attempt(
    logger: logging.Logger, number: int, estimator: SapwoodEstimator, facts: Sequence[PartitionFacts], n_workers: int
) -> None:
    """Log, at the level INFO, that an attempt begins, and in the first one what the fit is estimated to cost."""
    n_rows, n_columns = sum(one.n_rows for one in facts), max(one.n_columns for one in facts)
    logger.info("attempt %d: %d rows on %d workers", number + 1, n_rows, n_workers)
    if number == 0 and n_columns and logger.isEnabledFor(logging.INFO):
        logger.info("%s", estimate_cost(estimator, n_rows, n_columns, n_workers))


def _max_leaves(params: Params) -> int:
    if params.tree.max_leaves is not None:
        return max(2, params.tree.max_leaves)
    return 2 ** min(10, params.tree.max_depth or 10)


def _cells_per_feature(params: Params) -> int:
    """Return the cells of a column with as many bins as it may have: many are padded to equal distances."""
    max_bins = params.binning.max_bins
    values = list(max_bins.values()) if isinstance(max_bins, dict) else max_bins
    n_cells = 1 + (max(values) if isinstance(values, list) else values)
    return layout.FEATURE_STRIDE if MANY_BINS < n_cells <= layout.FEATURE_STRIDE else n_cells


def _n_built(params: Params, n_leaves: int) -> tuple[int, int]:
    """Return about how many histograms a tree takes, and in how many batches, the root being the first of both."""
    depth = ceil(log2(n_leaves))
    if params.tree.growth == "symmetric":
        return n_leaves // 2, depth
    if params.tree.growth == "levelwise":
        return n_leaves - 1, 2 * depth
    if params.tree.colsample_bynode < 1.0 or params.tree.random_strength > 0.0:
        return n_leaves - 1, n_leaves - 1  # drawn by node, so that leaves are expanded one at a time
    return round(IN_VAIN * (n_leaves - 1)), 2 * depth + 1


def level_traffic(collectives: Collectives, histogram: Histogram, n_histograms: float, n_batches: float) -> Traffic:
    """Return the traffic of so many histograms, with the splits of their leaves and siblings."""
    size, n_searched = collectives.size, 2 * n_histograms - 1
    n_others, shared = size - 1, NUMBER * (2 * size + n_histograms)
    if histogram.n_bytes * n_others**2 <= size * MAX_MORE_BYTES:  # whole histograms, see HistogramExchange
        latency = collectives.gather(0) * n_batches
        return latency + Traffic((histogram.n_bytes * n_histograms + shared) * n_others)
    sums = collectives.reduce_scatter(0) * n_batches
    sums += Traffic(histogram.n_bytes * n_histograms * n_others / size + shared * collectives.n_messages)
    choices = collectives.choose(histogram.split_bytes)
    return sums + Traffic(choices.n_bytes * n_searched, choices.exchanges * n_batches, choices.messages * n_batches)


class Collectives:
    """The traffic of the operations of a ``PointToPointCommunicator`` on arrays of so many bytes."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.is_direct = size <= DIRECT_WORKERS
        self._n_steps = 1 if self.is_direct else ceil(log2(size))

    @property
    def n_messages(self) -> int:
        """Number of messages of a worker in a gather or a reduce-scatter."""
        return self.size - 1 if self.is_direct else self._n_steps

    def gather(self, n_bytes: int) -> Traffic:
        """Return the traffic of a gather."""
        header = 0 if self.is_direct else NUMBER
        return Traffic((n_bytes + header) * (self.size - 1), self._n_steps, self.n_messages)

    def reduce_scatter(self, n_bytes: int) -> Traffic:
        """Return the traffic of a reduce-scatter."""
        return Traffic(n_bytes * (self.size - 1) / self.size, self._n_steps, self.n_messages)

    def sum(self, n_bytes: int) -> Traffic:
        """Return the traffic of a sum."""
        if n_bytes > SMALL_BYTES:
            return self.reduce_scatter(n_bytes) + self.gather(ceil(n_bytes / self.size))
        if self.is_direct:
            return self.gather(n_bytes)
        return self._combine(n_bytes)

    def choose(self, n_bytes: int) -> Traffic:
        """Return the traffic of the choice of the best of records."""
        return self.gather(n_bytes) if self.is_direct else self._combine(n_bytes + NUMBER)

    def _combine(self, n_bytes: int) -> Traffic:
        """Return the traffic of arrays that are combined with partners at distances 1, 2, 4 ..."""
        is_power = self.size & (self.size - 1) == 0
        n_steps = self.size.bit_length() - 1 + (0 if is_power else 2)
        return Traffic(n_bytes * n_steps, n_steps, n_steps)
