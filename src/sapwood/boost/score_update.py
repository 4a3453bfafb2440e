"""Add what a new tree answers to the scores of all rows of the table that it was grown on a part of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sapwood.boost.evaluation import add_tree
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.grow.grown_tree import GrownTree
from sapwood.kernels.leaves.leaf_values import add_leaf_values
from sapwood.kernels.predict.small_tree import BLOCK, add_small_tree, add_symmetric_tree
from sapwood.model.tree import LEAF
from sapwood.native.threads.team import Team

MOST_LEAVES = 64  # that have a bit each
MOST_LEVELS = 8  # of a symmetric tree whose leaves are numbered by bits


class Levels(NamedTuple):
    """A symmetric tree as ``kernels.route`` asks it: columns and splits by level, and nodes by the leaf's number."""

    features: np.ndarray
    splits: np.ndarray
    leaves: np.ndarray

    @classmethod
    def of(cls, grown: GrownTree, dtype: np.dtype) -> Levels | None:
        """The levels of a tree cut between bins of a type; None if leaves of a level are not split alike."""
        n_leaves = len(grown.feature) // 2 + 1
        n_levels = n_leaves.bit_length() - 1
        if n_leaves != 1 << n_levels or not 0 < n_levels <= MOST_LEVELS:
            return None
        if grown.threshold is not None or grown.leaf_coefficients is not None or grown.sets is not None:
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


def add_to_all_rows(
    dataset: BinnedDataset, grown: GrownTree, value: np.ndarray, output: int, scores: np.ndarray, team: Team
) -> None:  # fmt: skip
    """Add the answers of a tree with these values to the scores of every row of a dataset."""
    n_leaves = len(value) // 2 + 1
    may_be_even = dataset.lists is None and n_leaves & (n_leaves - 1) == 0
    levels = Levels.of(grown, dataset.columns.dtype) if may_be_even else None
    if levels is not None:
        bits = np.empty((team.size, BLOCK), dtype=np.uint8)
        answers = np.ascontiguousarray(value[levels.leaves])
        team.run(add_symmetric_tree, dataset.columns, levels.features, levels.splits, bits, answers, output, scores)
        return
    is_cut = grown.threshold is None and grown.leaf_coefficients is None and grown.sets is None
    if dataset.lists is not None or not is_cut or n_leaves > MOST_LEAVES:
        add_tree(dataset, grown, value, output, scores, team.run)
        return
    columns, nodes, size = dataset.columns, grown.integers, team.size
    below, cuts = (np.empty((size, len(nodes), 2), dtype) for dtype in (np.int64, columns.dtype))
    answers = np.empty((size, n_leaves, value.shape[1]))
    planes = np.empty((size, -(-n_leaves // 8) + 1, BLOCK), np.uint8)
    team.run(add_small_tree, columns, nodes, np.ascontiguousarray(value), below, cuts, answers, planes, output, scores)


def find_nodes(dataset: BinnedDataset, grown: GrownTree, team: Team, has_all_rows: bool = False) -> np.ndarray:
    """The leaf of every row of a dataset, as a float; the tree may just have been grown on all of them."""
    found = np.zeros((1, dataset.n_rows))
    numbers = np.arange(len(grown.feature), dtype=np.float64)[:, None]
    if has_all_rows:
        team.run(add_leaf_values, grown.order, grown.leaves, grown.n_leaves, numbers, 0, found)
    else:
        add_to_all_rows(dataset, grown, numbers, 0, found, team)
    return found[0]
