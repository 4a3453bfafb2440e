"""Pack trees into the arrays that prediction with bytes reads (see ``kernels/predict/byte_forest.py``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sapwood.cached_property import cached_property
from sapwood.kernels.predict import byte_forest as predict_bytes
from sapwood.model.predict.node_index import NodeIndex, count_true_before, rounded_down


class BinSearch(NamedTuple):
    """The thresholds as values of one type are compared with them (see ``add_scores_by_bytes``)."""

    edges: np.ndarray
    grid: np.ndarray
    guide: np.ndarray


@dataclass(frozen=True, eq=False)
class PackedByteTrees:
    """The trees of an ensemble and their thresholds for float64 values, those of each feature together."""

    forest: predict_bytes.ByteForest
    edges: np.ndarray

    @cached_property
    def cuts_64(self) -> BinSearch:
        """The thresholds for float64 values."""
        return _lay_grid(self.edges, self.forest.edge_start)

    @cached_property
    def cuts_32(self) -> BinSearch:
        """The thresholds for float32 values."""
        return _lay_grid(rounded_down(self.edges), self.forest.edge_start)

    def cuts_for(self, dtype: np.dtype) -> BinSearch:
        """The thresholds in the type of the values that are compared with them."""
        return self.cuts_32 if dtype == np.float32 else self.cuts_64

    @property
    def n_lines(self) -> int:
        """How many lines a block has."""
        return len(self.forest.features) + len(self.forest.raised)

    @property
    def n_planes(self) -> int:
        """How many planes the largest tree has."""
        return int(self.forest.trees[:, predict_bytes.PLANES].max())

    def n_entries(self, trees: range) -> int:
        """How often planes are touched in all for some trees."""
        chosen = self.forest.trees[trees.start : trees.stop]
        return int((chosen[:, predict_bytes.LAST] - chosen[:, predict_bytes.FIRST]).sum())


def pack_byte_trees(nodes: NodeIndex) -> PackedByteTrees | None:
    """Lay out the splits plane by plane; None if trees are too large or ask for too many thresholds or for sets."""
    ensemble, inner = nodes.ensemble, nodes.inner
    n_leaves = np.diff(count_true_before(~inner, ensemble.tree_start))
    if not inner.any() or n_leaves.max() > predict_bytes.MOST_LEAVES or (nodes.bit >= 0).any():
        return None
    features, edge_start, edges, cut = _find_cuts(nodes)
    if cut.max() > predict_bytes.MOST_CUTS:
        return None
    first, n_cleared, turns = _number_leaves(nodes)
    splits = np.flatnonzero(inner)
    line = np.searchsorted(features, nodes.column[splits])
    rises = ensemble.missing_left[splits] == 0
    raised = np.flatnonzero(np.bincount(line[rises]))
    line = np.where(rises, len(features) + np.searchsorted(raised, line), line)
    of, plane, mask = _planes_of(first[splits], first[splits] + n_cleared[splits])
    tree, turn = nodes.tree[splits][of], turns[splits][of]
    order = np.lexsort((plane, turn, tree))  # of a tree first those that clear bits of rows going right
    n_planes = (n_leaves + 7) // 8
    tables = np.concatenate([[0], np.cumsum(8 * n_planes)])
    values = np.zeros((ensemble.width, int(tables[-1])))
    values[:, (tables[nodes.tree] + first)[~inner]] = ensemble.value[~inner].T
    trees = np.zeros((ensemble.n_trees, 6), dtype=np.int64)
    ends = np.cumsum(np.bincount(tree, minlength=ensemble.n_trees))
    trees[1:, predict_bytes.FIRST], trees[:, predict_bytes.LAST] = ends[:-1], ends
    trees[:, predict_bytes.TURN] = ends - np.bincount(tree[turn], minlength=ensemble.n_trees)
    trees[:, predict_bytes.PLANES], trees[:, predict_bytes.TABLE] = n_planes, tables[:-1]
    trees[:, predict_bytes.OUTPUT] = ensemble.tree_output
    entries = np.stack([line[of], (cut - rises)[of], plane, mask], axis=1)[order]
    forest = predict_bytes.ByteForest(trees, entries.astype(np.int64), features, raised, edge_start, values)
    return PackedByteTrees(forest, edges)


def _find_cuts(nodes: NodeIndex) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The features in use, the different thresholds of each, where they start, and which is that of each split."""
    column, threshold = nodes.column[nodes.inner].astype(np.int64), nodes.ensemble.threshold[nodes.inner]
    order = np.lexsort((threshold, column))
    column, threshold = column[order], threshold[order]
    is_feature = np.concatenate([[True], column[1:] != column[:-1]])
    is_cut = is_feature | np.concatenate([[True], threshold[1:] != threshold[:-1]])
    features, n_cuts = (
        column[is_feature],
        np.diff(count_true_before(is_cut, np.append(np.flatnonzero(is_feature), len(order)))),
    )
    number = np.cumsum(is_cut) - count_true_before(is_cut, np.flatnonzero(is_feature))[np.cumsum(is_feature) - 1]
    # After those of a feature stands infinity, as often as a search may look beyond them.
    edge_start = np.concatenate([[0], np.cumsum(2 * n_cuts)])
    edges = np.full(int(edge_start[-1]), np.inf)
    edges[(edge_start[np.cumsum(is_feature) - 1] + number - 1)[is_cut]] = threshold[is_cut]
    cut = np.empty(len(order), dtype=np.int64)
    cut[order] = number
    return features, edge_start, edges, cut


def _lay_grid(edges: np.ndarray, edge_start: np.ndarray) -> BinSearch:
    """Find the part of the grid of each feature that each of its thresholds is in, by the arithmetic of the kernel."""
    n_features = len(edge_start) - 1
    half = np.repeat(np.diff(edge_start) // 2, np.diff(edge_start))
    feature = np.repeat(np.arange(n_features), np.diff(edge_start))
    is_cut = np.arange(len(edges)) - edge_start[feature] < half
    feature, cuts = feature[is_cut], edges[is_cut]
    finite = np.isfinite(cuts)
    low, high = np.full(n_features, np.inf, edges.dtype), np.full(n_features, -np.inf, edges.dtype)
    np.minimum.at(low, feature[finite], cuts[finite])
    np.maximum.at(high, feature[finite], cuts[finite])
    last = edges.dtype.type(predict_bytes.PARTS - 1)
    with np.errstate(all="ignore"):
        scale = np.where(high > low, last / (high - low), 0)
        scale = np.where(np.isfinite(scale), scale, 0).astype(edges.dtype)
        low = np.where(np.isfinite(low), low, 0).astype(edges.dtype)
        place = (cuts - low[feature]) * scale[feature]
    part = np.where(place > 0, np.minimum(place, last), 0).astype(np.int64)
    counts = np.zeros((n_features, predict_bytes.PARTS + 1), dtype=np.int64)
    np.add.at(counts, (feature, part + 1), 1)
    guide = np.cumsum(counts, axis=1)
    guide[:, -1] = np.ceil(np.log2(counts.max(axis=1) + 1))
    grid = np.stack([low, scale, np.zeros_like(low), np.full_like(low, last)], axis=1)
    return BinSearch(edges, grid, guide.astype(np.uint8))


def _number_leaves(nodes: NodeIndex) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first leaf below each node, how many below a split stand first, and whether these are on its right."""
    counts = np.ones(len(nodes.inner), dtype=np.int64)
    for level in reversed(nodes.levels):
        counts[level] = counts[nodes.left[level]] + counts[nodes.left[level] + 1]
    first = np.zeros(len(counts), dtype=np.int64)
    cleared = np.zeros(len(counts), dtype=np.int64)
    turns = np.zeros(len(counts), dtype=bool)
    for level in nodes.levels:
        left = nodes.left[level]
        turn = counts[left] > counts[left + 1]
        turns[level], cleared[level] = turn, np.minimum(counts[left], counts[left + 1])
        first[left] = first[level] + np.where(turn, counts[left + 1], 0)
        first[left + 1] = first[level] + np.where(turn, 0, counts[left])
    return first, cleared, turns


def _planes_of(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The planes in which splits clear the bits ``low`` to ``high``: the number of the split, the plane, what stays."""
    touched = (high - 1) // 8 - low // 8 + 1
    of = np.repeat(np.arange(len(low)), touched)
    plane = low[of] // 8 + np.arange(len(of)) - np.repeat(np.cumsum(touched) - touched, touched)
    begin, end = np.clip(low[of] - 8 * plane, 0, 8), np.clip(high[of] - 8 * plane, 0, 8)
    return of, plane, 255 - ((1 << end) - (1 << begin))
