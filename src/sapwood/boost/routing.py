"""Add what a new tree answers to the scores of all rows of the table that it was grown on a part of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sapwood.boost.evaluation import add_tree
from sapwood.data.dataset import Dataset
from sapwood.grow.grown import Grown
from sapwood.kernels.leaves import add_leaf_values
from sapwood.kernels.route import BLOCK, BRUIJN, LONG_BRUIJN, add_byte_tree, add_small_tree, add_symmetric_tree
from sapwood.model.tree import LEAF
from sapwood.native.team import Team

SMALL, LARGE = 32, 64  # leaves that have a bit each
MOST_LEVELS = 8  # of a symmetric tree whose leaves are numbered by bits


class Routes(NamedTuple):
    """A tree of up to 64 leaves as ``kernels.route`` asks it: splits, masks of the leaves that stay, places."""

    splits: np.ndarray
    masks: np.ndarray
    leaves: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, grown: Grown) -> Routes | None:
        """The routes of a tree cut between bins; None if it is too large, or its leaves are linear."""
        n_leaves = len(grown.feature) // 2 + 1
        if grown.threshold is not None or grown.terms is not None or grown.sets is not None or n_leaves > LARGE:
            return None
        first, last = leaf_ranges(grown.feature, grown.left)
        inner, leaves = np.flatnonzero(grown.feature != LEAF), np.flatnonzero(grown.feature == LEAF)
        shift = (grown.missing_left[inner] == 0).astype(np.int64)
        splits = np.stack([grown.feature[inner], grown.bin[inner] - shift, shift], axis=1).astype(np.int64)
        dtype, bruijn, drop = (np.uint32, BRUIJN, 27) if n_leaves <= SMALL else (np.uint64, LONG_BRUIJN, 58)
        every = int(np.iinfo(dtype).max)
        lost = [(1 << last[left]) - (1 << first[left]) for left in grown.left[inner].tolist()]
        masks = np.array([*(every & ~bits for bits in lost), every], dtype=dtype)
        places = [((bruijn << first[leaf]) & every) >> drop for leaf in leaves.tolist()]
        return cls(np.ascontiguousarray(splits), masks, leaves, np.array(places, dtype=np.int64))


class Levels(NamedTuple):
    """A symmetric tree as ``kernels.route`` asks it: columns and splits by level, and nodes by the leaf's number."""

    features: np.ndarray
    splits: np.ndarray
    leaves: np.ndarray

    @classmethod
    def of(cls, grown: Grown, dtype: np.dtype) -> Levels | None:
        """The levels of a tree cut between bins of a type; None if leaves of a level are not split alike."""
        n_leaves = len(grown.feature) // 2 + 1
        n_levels = n_leaves.bit_length() - 1
        if n_leaves != 1 << n_levels or not 0 < n_levels <= MOST_LEVELS:
            return None
        if grown.threshold is not None or grown.terms is not None or grown.sets is not None:
            return None
        splits_of = list(
            zip(grown.feature.tolist(), grown.bin.tolist(), grown.missing_left.tolist(), strict=True)
        )  # fmt: skip
        left, nodes, chosen = grown.left.tolist(), [0], []
        for _ in range(n_levels):
            split = splits_of[nodes[0]]
            if split[0] == LEAF or any(splits_of[node] != split for node in nodes):
                return None
            chosen.append(split)
            nodes = [left[node] for node in nodes]
            nodes += [node + 1 for node in nodes]
        # Where missing values go left, the bin that goes right besides is the first one that does anyway.
        splits = np.array([(last, last + 1 if side else 0) for _, last, side in chosen]).astype(dtype)
        return cls(np.array([feature for feature, _, _ in chosen], dtype=np.int64), splits, np.array(nodes))


def leaf_ranges(feature: np.ndarray, left: np.ndarray) -> tuple[list[int], list[int]]:
    """The numbers of the leaves below each node, from the left: the first, and the one after the last."""
    n = len(feature)
    sizes = [1] * n
    for node in reversed(range(n)):
        if feature[node] != LEAF:
            sizes[node] = sizes[left[node]] + sizes[left[node] + 1]
    first = [0] * n
    for node in range(n):
        if feature[node] != LEAF:
            first[left[node]] = first[node]
            first[left[node] + 1] = first[node] + sizes[left[node]]
    return first, [start + size for start, size in zip(first, sizes, strict=True)]


def add_to_all_rows(
    dataset: Dataset, grown: Grown, value: np.ndarray, output: int, scores: np.ndarray, team: Team
) -> None:  # fmt: skip
    """Add the answers of a tree with these values to the scores of every row of a dataset."""
    levels = None if dataset.lists is not None else Levels.of(grown, dataset.columns.dtype)
    if levels is not None:
        bits = np.empty((team.size, BLOCK), dtype=np.uint8)
        answers = np.ascontiguousarray(value[levels.leaves])
        team.run(add_symmetric_tree, dataset.columns, levels.features, levels.splits, bits, answers, output, scores)
        return
    routes = None if dataset.lists is not None else Routes.of(grown)
    if routes is None:
        add_tree(dataset, grown, value, output, scores, team.run)
        return
    values = np.zeros((SMALL if routes.masks.dtype == np.uint32 else LARGE, value.shape[1]))
    values[routes.places] = value[routes.leaves]
    columns, masks = dataset.columns, routes.masks
    if columns.dtype == np.uint8 and masks.dtype == np.uint32:
        octets = np.stack([masks >> np.uint32(8 * p) & np.uint32(255) for p in range(4)], axis=1).astype(np.uint8)
        bits = np.empty((team.size, 4, BLOCK), dtype=np.uint8)
        team.run(add_byte_tree, columns, routes.splits, octets, bits, values, output, scores)
        return
    bits = np.empty((team.size, BLOCK), dtype=masks.dtype)
    team.run(add_small_tree, columns, routes.splits, masks, bits, values, output, scores)


def find_nodes(dataset: Dataset, grown: Grown, team: Team, has_all_rows: bool = False) -> np.ndarray:
    """The leaf of every row of a dataset, as a float; the tree may just have been grown on all of them."""
    found = np.zeros((1, dataset.n_rows))
    numbers = np.arange(len(grown.feature), dtype=np.float64)[:, None]
    if has_all_rows:
        team.run(add_leaf_values, grown.order, grown.span, numbers[grown.leaf_node], 0, found)
    else:
        add_to_all_rows(dataset, grown, numbers, 0, found, team)
    return found[0]
