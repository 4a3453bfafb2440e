"""Small tables with gradients, and trees grown on them by the fast and by the slow grower."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import read_table
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.histogram import HistogramGrower, is_wide
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from sapwood.params.options import Symmetric, symmetric_of
from tests.reference.grower import SlowGrower, SlowTree
from tests.reference.quantise import finest_scale, quantise_slowly
from tests.reference.symmetric_grower import SlowSymmetricGrower

SEED, ROUND = 11, 4
NO_WEIGHT = np.empty(0)
# All that a tree tells of its nodes and leaves.
COLUMNS = (
    "feature", "bin", "missing_left", "left", "count", "gain", "weight", "gradient", "hessian", "value",
    "leaf_node", "leaf_ranges", "leaf_rows",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Example:
    """Rows with a gradient and a hessian each, and rules for growing a tree on them."""

    X: np.ndarray
    pairs: np.ndarray
    weight: np.ndarray | None
    params: TreeParams


def grow_fast(example: Example, members: int = 1) -> GrownTree:
    """The tree of the kernels."""
    dataset = BinnedDataset.build(read_table(example.X))
    grower = HistogramGrower(dataset, 1, example.params, SEED, Team(members))
    weight = NO_WEIGHT if example.weight is None else example.weight
    return grower.grow(np.ascontiguousarray(example.pairs[None]), weight, ROUND)


def grow_slowly(example: Example) -> SlowTree:
    """The tree of the slow twin."""
    dataset = BinnedDataset.build(read_table(example.X))
    n, weight = dataset.n_rows, example.weight
    wide = is_wide(example.params.precision, n)
    quantised = quantise_slowly(example.pairs, weight, dataset.row_ids, wide, (SEED, ROUND))
    kind = SlowGrower if symmetric_of(example.params.growth) is None else SlowSymmetricGrower
    grower = kind(dataset.columns.T, dataset.n_bins, quantised, example.params)
    tree = grower.grow()
    scale = 1.0 if weight is None else float(finest_scale(2**62, Fraction(float(weight.max()) * n), n))
    grower.answer(tree, example.pairs, weight, scale)
    return tree


def check(grown: GrownTree, slow: SlowTree) -> None:
    """The same nodes in the same order, the same splits, and the same bits in all sums and values."""
    nodes = slow.nodes
    assert grown.feature.tolist() == [-1 if node.cut is None else node.cut.feature for node in nodes]
    assert grown.bin.tolist() == [0 if node.cut is None else node.cut.bin for node in nodes]
    assert grown.missing_left.tolist() == [0 if node.cut is None else node.cut.missing_left for node in nodes]
    assert grown.left.tolist() == [node.left for node in nodes]
    assert grown.count.tolist() == [len(node.rows) for node in nodes]
    assert grown.gradient[:, 0].tolist() == [node.gradient for node in nodes]
    assert grown.hessian[:, 0].tolist() == [node.hessian for node in nodes]
    assert grown.weight.tolist() == [node.weight for node in nodes]
    assert grown.value[:, 0].tolist() == [node.value for node in nodes]
    gains = [0.0 if node.cut is None else float(node.cut.gain) for node in nodes]
    assert grown.gain.tolist() == pytest.approx(gains, rel=1e-8)


VALUES = st.sampled_from([float("nan"), -2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 8.0])
# From equal to very unequal, so that the hessian says much, little or nothing about the number of rows.
HESSIANS = st.sampled_from(
    [
        st.just(1.0),
        st.floats(0.5, 2.0, width=32),
        st.floats(2.0**-10, 2.0**10, width=32),
        st.sampled_from([0.0625, 64.0]),
    ]
)


@st.composite
def examples(draw, most_rows: int = 30) -> Example:
    """Tables of a few values, with missing ones, and rules of all kinds."""
    n, n_features = draw(st.integers(2, most_rows)), draw(st.integers(1, 3))
    X = np.array(draw(st.lists(st.lists(VALUES, min_size=n_features, max_size=n_features), min_size=n, max_size=n)))
    seed = draw(st.integers(0, 2**32 - 1))
    gradient = np.random.default_rng(seed).normal(size=n)
    hessian = draw(st.lists(draw(HESSIANS), min_size=n, max_size=n))
    weighted = draw(st.booleans())
    weight = np.random.default_rng(seed + 1).uniform(0.1, 4.0, n) if weighted else None
    return Example(X, np.array([gradient, hessian], dtype=np.float32).T, weight, draw(rules()))


@st.composite
def rules(draw) -> TreeParams:
    """Parameters that make the different rules matter on small tables."""
    return TreeParams(
        growth=draw(st.sampled_from(["leafwise", "levelwise"])),
        max_leaves=draw(st.integers(2, 8)),
        max_depth=draw(st.sampled_from([None, 1, 2, 3])),
        min_child_samples=draw(st.integers(1, 6)),
        min_child_weight=draw(st.sampled_from([0.0, 1e-3, 0.5, 3.0])),
        min_split_gain=draw(st.sampled_from([0.0, 0.0, 0.1])),
        reg_lambda=draw(st.sampled_from([0.0, 1.0, 0.3])),
        reg_alpha=draw(st.sampled_from([0.0, 0.0, 0.2])),
        max_delta_step=draw(st.sampled_from([0.0, 0.0, 0.3])),
        precision=draw(st.sampled_from(["packed", "wide"])),
    )


@st.composite
def symmetric_examples(draw) -> Example:
    """The same for symmetric trees, so deep that a level has many leaves."""
    example = draw(examples())
    params = replace(
        example.params,
        growth=Symmetric(draw(st.sampled_from(["l2", "cosine"]))),
        max_depth=draw(st.integers(1, 5)),
        max_leaves=draw(st.sampled_from([3, 16, 32])),
    )
    return replace(example, params=params)
