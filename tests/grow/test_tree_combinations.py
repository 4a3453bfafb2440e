"""Combinations that grow inside trees (C4): trees of the kernels against the slow ones, node by node."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.categories.derived_feature import STATISTIC, DerivedFeature
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.tables.table import read_table
from sapwood.grow.constraints import column_extensions
from sapwood.grow.factory import make_grower
from sapwood.grow.histogram import is_wide
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from sapwood.params.options import Symmetric, symmetric_of
from tests.grow.small_tables import NO_WEIGHT, ROUND, SEED, check
from tests.reference.combining_grower import SlowCombiningGrower, SlowCombiningSymmetricGrower, Sources
from tests.reference.quantise import quantise_slowly

GROWTHS = ["leafwise", "levelwise", Symmetric("l2"), Symmetric("cosine")]


def statistic_of(sources: Sources) -> DerivedFeature:
    return DerivedFeature(sources, STATISTIC, np.zeros(3), np.ones(3))


def make_case(seed: int) -> tuple[BinnedDataset, list[Sources], set[int], np.ndarray]:
    """Bins of four columns and their combinations, those of three columns and some pairs in trees only; gradients."""
    random = np.random.default_rng(seed)
    sources: list[Sources] = [s for size in (1, 2, 3) for s in combinations(range(4), size)]
    grown = {f for f, s in enumerate(sources) if len(s) == 3 or s in ((0, 1), (1, 3), (2, 3))}
    X = random.integers(0, 4, (300, len(sources))).astype(float)
    X[random.uniform(size=X.shape) < 0.05] = np.nan
    signal = 0.3 * X[:, 1] + X[:, sources.index((0, 1))] + 2.0 * X[:, sources.index((0, 1, 2))]
    g = np.nan_to_num(signal) + random.normal(size=300)
    pairs = np.stack([g - g.mean(), np.ones(300)], axis=1).astype(np.float32)
    transformer = FeatureTransformer({}, tuple(map(statistic_of, sources)))
    dataset = BinnedDataset.build(read_table(X))
    dataset = replace(dataset, transformer=transformer, tree_combinations=frozenset(sources[f] for f in grown))
    return dataset, sources, grown, pairs


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_tree_is_that_of_the_slow_grower(growth, seed):
    """C4: with any number of threads."""
    dataset, sources, grown, pairs = make_case(seed)
    params = TreeParams(growth=growth, max_leaves=16, max_depth=4, min_child_samples=10)
    kind = SlowCombiningGrower if symmetric_of(growth) is None else SlowCombiningSymmetricGrower
    quantised = quantise_slowly(pairs, None, dataset.row_ids, is_wide(params.precision, 300), (SEED, ROUND))
    slow = kind(dataset.columns.T, dataset.n_bins, quantised, params)
    slow.sources, slow.grown = sources, grown
    tree = slow.grow()
    slow.answer(tree, pairs, None, float(Fraction(1)))
    used = {node.cut.feature for node in tree.nodes if node.cut is not None}
    assert used & grown
    for members in (1, 2, 3, 8):
        check(make_grower(dataset, 1, params, SEED, Team(members)).grow(pairs[None], NO_WEIGHT, ROUND), tree)


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_the_next_tree_begins_without_the_combinations_of_the_last(growth):
    dataset, *_, pairs = make_case(0)
    params = TreeParams(growth=growth, max_leaves=16, max_depth=4, min_child_samples=10)
    grower = make_grower(dataset, 1, params, SEED, Team(2))
    first = grower.grow(pairs[None], NO_WEIGHT, ROUND)
    again = grower.grow(pairs[None], NO_WEIGHT, ROUND)
    assert first.feature.tolist() == again.feature.tolist()
    assert first.gain.tolist() == again.gain.tolist()


def test_extensions_have_one_column_more_than_the_split():
    dataset, sources, grown, _ = make_case(0)
    extends, usable = column_extensions(dataset)
    assert {f for f in range(len(sources)) if not usable[f]} == grown
    for a, one in enumerate(sources):
        for b, other in enumerate(sources):
            assert extends[a, b] == (b in grown and set(one) < set(other) and len(other) == len(one) + 1)


def test_there_are_none_without_such_combinations():
    dataset, *_ = make_case(0)
    extends, usable = column_extensions(replace(dataset, tree_combinations=frozenset()))
    assert extends.shape == (0, 0)
    assert usable.all()
