"""Pack trees for prediction on rows binned to bytes (see ``kernels/predict/byte_forest.py``)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.kernels.predict import byte_forest
from sapwood.lazy_dataclass import dataclass
from sapwood.model.predict.float32_thresholds import Thresholds
from sapwood.model.predict.node_index import NodeIndex, count_true_before


class BinSearch(NamedTuple):
    """Thresholds of each feature, and an even grid from which the search among them starts.

    The arrays are explained in ``add_scores_by_bytes``.
    """

    edges: np.ndarray
    grid: np.ndarray
    guide: np.ndarray


@dataclass(frozen=True, eq=False)
class PackedByteTrees:
    """The trees of an ensemble and their thresholds, those of each feature together."""

    forest: byte_forest.ByteForest
    edges: Thresholds

    @cached_property
    def _bin_search_64(self) -> BinSearch:
        return _build_search(self.edges.float64, self.forest.edge_start)

    @cached_property
    def _bin_search_32(self) -> BinSearch:
        return _build_search(self.edges.float32, self.forest.edge_start)

    def bin_search(self, dtype: np.dtype) -> BinSearch:
        """Return the search for the bins of values of this type."""
        return self._bin_search_32 if dtype == np.float32 else self._bin_search_64

    @property
    def n_bin_rows(self) -> int:
        """Number of rows of bins in a block: one per feature, and one per feature with missing values above all."""
        return len(self.forest.features) + len(self.forest.raised)

    @property
    def n_planes(self) -> int:
        """Number of planes of the largest tree."""
        return int(self.forest.trees[:, byte_forest.N_PLANES].max())

    def n_entries(self, trees: range) -> int:
        """Return the number of pairs of split and plane in some trees."""
        chosen = self.forest.trees[trees.start : trees.stop]
        return int((chosen[:, byte_forest.SPLITS_END] - chosen[:, byte_forest.SPLITS_BEGIN]).sum())


def pack_byte_trees(nodes: NodeIndex) -> PackedByteTrees | None:
    """Pack the splits plane by plane; None if a tree or a feature's thresholds are too many for bytes, or with sets."""
    ensemble, inner = nodes.ensemble, nodes.inner
    n_leaves = np.diff(count_true_before(~inner, ensemble.tree_start))
    if not inner.any() or n_leaves.max() > byte_forest.MAX_LEAVES or (nodes.bit >= 0).any():
        return None
    features, edge_start, edges, edge_number = _collect_edges(nodes)
    if edge_number.max() > byte_forest.MAX_THRESHOLDS:
        return None
    counts, first, right_first = nodes.number_leaves(inner, smaller_first=True)
    splits = np.flatnonzero(inner)
    missing_right = ensemble.missing_left[splits] == 0
    bin_row = np.searchsorted(features, nodes.column[splits])
    raised = np.flatnonzero(np.bincount(bin_row[missing_right]))
    bin_row = np.where(missing_right, len(features) + np.searchsorted(raised, bin_row), bin_row)
    n_cleared = np.minimum(counts[nodes.left[splits]], counts[nodes.left[splits] + 1])
    split, plane, mask = _split_planes(first[splits], first[splits] + n_cleared)
    tree, clears_left = nodes.tree[splits][split], right_first[splits][split]
    order = np.lexsort((plane, clears_left, tree))  # within a tree, splits that clear bits of rows going right first
    n_planes = (n_leaves + 7) // 8
    tables = np.concatenate([[0], np.cumsum(8 * n_planes)])
    values = np.zeros((ensemble.width, int(tables[-1])))
    values[:, (tables[nodes.tree] + first)[~inner]] = ensemble.value[~inner].T
    trees = np.zeros((ensemble.n_trees, 6), dtype=np.int64)
    ends = np.cumsum(np.bincount(tree, minlength=ensemble.n_trees))
    trees[1:, byte_forest.SPLITS_BEGIN], trees[:, byte_forest.SPLITS_END] = ends[:-1], ends
    trees[:, byte_forest.CLEARS_LEFT_BEGIN] = ends - np.bincount(tree[clears_left], minlength=ensemble.n_trees)
    trees[:, byte_forest.N_PLANES], trees[:, byte_forest.TABLE] = n_planes, tables[:-1]
    trees[:, byte_forest.OUTPUT] = ensemble.tree_output
    entries = np.stack([bin_row[split], (edge_number - missing_right)[split], plane, mask], axis=1)[order]
    forest = byte_forest.ByteForest(trees, entries.astype(np.int64), features, raised, edge_start, values)
    return PackedByteTrees(forest, Thresholds(edges))


def _collect_edges(nodes: NodeIndex) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the features in use, where the edges of each start, the distinct thresholds, and that of each split."""
    column, threshold = nodes.column[nodes.inner].astype(np.int64), nodes.ensemble.threshold[nodes.inner]
    order = np.lexsort((threshold, column))
    column, threshold = column[order], threshold[order]
    is_feature = np.concatenate([[True], column[1:] != column[:-1]])
    is_edge = is_feature | np.concatenate([[True], threshold[1:] != threshold[:-1]])
    feature_start = np.flatnonzero(is_feature)
    n_edges = np.diff(count_true_before(is_edge, np.append(feature_start, len(order))))
    feature = np.cumsum(is_feature) - 1
    number = np.cumsum(is_edge) - count_true_before(is_edge, feature_start)[feature]
    # The edges of a feature are followed by as many infinities as a search may read beyond them.
    edge_start = np.concatenate([[0], np.cumsum(2 * n_edges)])
    edges = np.full(int(edge_start[-1]), np.inf)
    edges[(edge_start[feature] + number - 1)[is_edge]] = threshold[is_edge]
    edge_number = np.empty(len(order), dtype=np.int64)
    edge_number[order] = number
    return column[is_feature], edge_start, edges, edge_number


def _build_search(edges: np.ndarray, edge_start: np.ndarray) -> BinSearch:
    """Find the part of a feature's grid that each of its edges lies in, with the arithmetic of the kernel."""
    n_features = len(edge_start) - 1
    half = np.repeat(np.diff(edge_start) // 2, np.diff(edge_start))
    feature = np.repeat(np.arange(n_features), np.diff(edge_start))
    is_edge = np.arange(len(edges)) - edge_start[feature] < half
    feature, values = feature[is_edge], edges[is_edge]
    finite = np.isfinite(values)
    low, high = np.full(n_features, np.inf, edges.dtype), np.full(n_features, -np.inf, edges.dtype)
    np.minimum.at(low, feature[finite], values[finite])
    np.maximum.at(high, feature[finite], values[finite])
    last = edges.dtype.type(byte_forest.GRID_CELLS - 1)
    with np.errstate(all="ignore"):
        scale = np.where(high > low, last / (high - low), 0)
        scale = np.where(np.isfinite(scale), scale, 0).astype(edges.dtype)
        low = np.where(np.isfinite(low), low, 0).astype(edges.dtype)
        position = (values - low[feature]) * scale[feature]
    part = np.where(position > 0, np.minimum(position, last), 0).astype(np.int64)
    counts = np.zeros((n_features, byte_forest.GRID_CELLS + 1), dtype=np.int64)
    np.add.at(counts, (feature, part + 1), 1)
    guide = np.cumsum(counts, axis=1)
    guide[:, -1] = np.ceil(np.log2(counts.max(axis=1) + 1))
    grid = np.stack([low, scale, np.zeros_like(low), np.full_like(low, last)], axis=1)
    return BinSearch(edges, grid, guide.astype(np.uint8))


def _split_planes(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the planes in which splits clear the bits ``low`` to ``high``: split, plane and mask of remaining bits."""
    n_touched = (high - 1) // 8 - low // 8 + 1
    split = np.repeat(np.arange(len(low)), n_touched)
    plane = low[split] // 8 + np.arange(len(split)) - np.repeat(np.cumsum(n_touched) - n_touched, n_touched)
    begin, end = np.clip(low[split] - 8 * plane, 0, 8), np.clip(high[split] - 8 * plane, 0, 8)
    return split, plane, 255 - ((1 << end) - (1 << begin))
