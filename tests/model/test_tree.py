from __future__ import annotations

import numpy as np
import pytest

from sapwood.model.tree import Tree
from tests.model.forests import leaf_tree, random_tree, small_tree


def test_a_tree_knows_its_size():
    tree = small_tree()
    assert (tree.n_nodes, tree.n_leaves, tree.depth, tree.width) == (5, 3, 2, 1)


def test_a_single_leaf_has_no_depth():
    assert (leaf_tree(1.0).depth, leaf_tree(1.0).n_leaves) == (0, 1)


def test_depths_grow_by_one_from_parent_to_child():
    tree = random_tree(np.random.default_rng(0), 40, 3)
    depths = tree.node_depths()
    assert depths[0] == 0
    for node in np.flatnonzero(tree.feature >= 0):
        left = tree.left[node]
        assert depths[left] == depths[left + 1] == depths[node] + 1


def test_arrays_are_copied_and_cannot_be_written():
    feature = np.array([-1], dtype=np.int32)
    tree = Tree(feature, [0.0], [0], [0], [[2.0]], [0.0], [0.0], [0.0], [0.0], [1])
    feature[0] = 7
    assert tree.feature[0] == -1
    with pytest.raises(ValueError, match="read-only"):
        tree.value[0, 0] = 3.0


def test_arrays_of_different_length_are_refused():
    with pytest.raises(ValueError, match="threshold has shape"):
        Tree([-1], [0.0, 1.0], [0], [0], [[2.0]], [0.0], [0.0], [0.0], [0.0], [1])


def test_the_text_shows_every_node_with_its_column():
    assert small_tree().to_text(["age", "size"]) == (
        "0: age <= 0.5 (missing left, gain 8, rows 20)\n"
        "  1: leaf 1 (rows 8)\n"
        "  2: size <= 2 (missing right, gain 2, rows 12)\n"
        "    3: leaf 10 (rows 6)\n"
        "    4: leaf 20 (rows 6)"
    )


def test_columns_without_names_are_numbered():
    assert small_tree().to_text().startswith("0: f0 <= 0.5")
