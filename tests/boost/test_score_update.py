"""A small tree asked by columns answers what walking down it answers."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from sapwood.boost.score_update import SymmetricLevels, add_tree
from sapwood.grow.grown_tree import FittedTree, GrownTree
from sapwood.kernels import layout
from sapwood.model.tree import LEAF
from sapwood.native.threads.team import Team


def make_tree(*columns: Sequence[int] | np.ndarray) -> GrownTree:
    """A tree of these features, bins, sides of missing values and left children; nothing else is asked for."""
    integers = np.zeros((len(columns[0]), layout.NODE_BITSET), np.int64)
    places = (layout.NODE_FEATURE, layout.NODE_BIN, layout.NODE_MISSING_LEFT, layout.NODE_LEFT)
    for place, column in zip(places, columns, strict=True):
        integers[:, place] = column
    return GrownTree(integers, np.zeros((len(integers), layout.NODE_OUTPUTS + layout.NODE_PER_OUTPUT)))


def random_tree(random: np.random.Generator, n_leaves: int, n_features: int, n_bins: int) -> GrownTree:
    """Split random leaves until there are enough."""
    feature, bins, side, left, leaves = [LEAF], [0], [0], [0], [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(int(random.integers(len(leaves))))
        feature[node], bins[node] = int(random.integers(n_features)), int(random.integers(1, n_bins + 1))
        side[node], left[node] = int(random.integers(2)), len(feature)
        for _ in range(2):
            leaves.append(len(feature))
            for line, value in ((feature, LEAF), (bins, 0), (side, 0), (left, 0)):
                line.append(value)
    return make_tree(feature, bins, side, left)


def binned_rows(columns: np.ndarray) -> SimpleNamespace:
    return SimpleNamespace(tiles=columns[None, :, :0], columns=columns, sparse_bins=None, raw_values=None)


def walk(tree: GrownTree, columns: np.ndarray, row: int) -> int:
    node = 0
    while tree.feature[node] != LEAF:
        b = int(columns[tree.feature[node], row])
        goes_left = bool(tree.missing_left[node]) if b == 0 else b <= tree.bin[node]
        node = int(tree.left[node]) + (not goes_left)
    return node


def assert_adds_the_values_of_leaves(
    random: np.random.Generator, tree: GrownTree, columns: np.ndarray, width: int
) -> None:  # fmt: skip
    """Compare with a walk down the tree, row by row."""
    value = random.normal(size=(len(tree.feature), width))
    first = random.normal(size=(width + 2, 2500))
    expected = first.copy()
    for row in range(0, 2500, 7):
        expected[1 : 1 + width, row] += value[walk(tree, columns, row)]
    for members in (1, 3):
        scores = first.copy()
        add_tree(binned_rows(columns), FittedTree(tree, value, 1), scores, Team(members))
        assert np.array_equal(scores[:, ::7], expected[:, ::7])
        assert np.array_equal(scores[[0, -1]], first[[0, -1]])


@pytest.mark.parametrize("dtype, n_bins", [(np.uint8, 7), (np.uint8, 255), (np.uint16, 1000)])
@pytest.mark.parametrize("n_leaves", [1, 2, 9, 32, 33, 64])
@pytest.mark.parametrize("width", [1, 3])
def test_a_small_tree_adds_what_a_walk_down_finds(n_leaves, dtype, n_bins, width):
    random = np.random.default_rng(n_leaves)
    columns = random.integers(0, n_bins + 1, (4, 2500)).astype(dtype)
    tree = random_tree(random, n_leaves, 4, n_bins)
    assert_adds_the_values_of_leaves(random, tree, columns, width)


def symmetric_tree(random: np.random.Generator, n_levels: int, n_features: int, n_bins: int) -> GrownTree:
    """Split all leaves of a level alike; those of the right sides come last, as the grower has them."""
    n_nodes = 2 ** (n_levels + 1) - 1
    feature, bins = np.full(n_nodes, LEAF, np.int32), np.zeros(n_nodes, np.int32)
    side, left = np.zeros(n_nodes, np.uint8), np.zeros(n_nodes, np.int32)
    leaves = np.zeros(1, np.int32)
    for _ in range(n_levels):
        side[leaves] = random.integers(2)
        bins[leaves] = random.integers(1, n_bins + (not side[0]))
        feature[leaves] = random.integers(n_features)
        left[leaves] = 2 * np.arange(len(leaves)) + 2 * len(leaves) - 1
        leaves = np.concatenate([left[leaves], left[leaves] + 1])
    return make_tree(feature, bins, side, left)


@pytest.mark.parametrize("dtype, n_bins", [(np.uint8, 7), (np.uint8, 255), (np.uint16, 1000)])
@pytest.mark.parametrize("n_levels", [1, 3, 6, 8])
@pytest.mark.parametrize("width", [1, 3])
def test_a_symmetric_tree_adds_what_a_walk_down_finds(n_levels, dtype, n_bins, width):
    random = np.random.default_rng(n_levels)
    columns = random.integers(0, n_bins + 1, (4, 2500)).astype(dtype)
    tree = symmetric_tree(random, n_levels, 4, n_bins)
    assert SymmetricLevels.of(tree, columns.dtype) is not None
    assert_adds_the_values_of_leaves(random, tree, columns, width)


@pytest.mark.parametrize("changed", [layout.NODE_FEATURE, layout.NODE_BIN, layout.NODE_MISSING_LEFT])
def test_a_tree_whose_leaves_are_split_otherwise_is_not_symmetric(changed):
    tree = symmetric_tree(np.random.default_rng(0), 3, 4, 9)
    tree.integers[2, changed] ^= 1
    assert SymmetricLevels.of(tree, np.dtype(np.uint8)) is None
