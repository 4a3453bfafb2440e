"""Trees with ordered scoring (C6): those of the kernels against the slow ones, node by node."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from sapwood.boost.prefixes import prefix_sizes
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import read_table
from sapwood.grow.factory import make_grower
from sapwood.grow.grown_tree import GrownTree
from sapwood.grow.histogram import is_wide
from sapwood.native.threads.team import Team
from sapwood.params.declaration import TreeParams
from sapwood.params.options import Symmetric, symmetric_of
from tests.grow.small_tables import NO_WEIGHT, ROUND, SEED, Example, check, examples, symmetric_examples
from tests.reference.grower import SlowTree, TooCloseError
from tests.reference.ordered_grower import (
    OrderedModel,
    Responses,
    SlowOrderedGrower,
    SlowOrderedSymmetricGrower,
    quantiser,
)
from tests.reference.quantise import finest_scale

TEAMS = [1, 2, 3]


@dataclass(frozen=True, eq=False)
class Ordered:
    """An example whose rows stand in an order, with models that are fitted to prefixes of it."""

    example: Example
    order: np.ndarray
    models: list[OrderedModel]

    @classmethod
    def of(cls, example: Example, seed: int) -> Ordered:
        """Draw the order and the gradients of the models; hessians are those of the example."""
        random, n = np.random.default_rng(seed), len(example.pairs)
        sizes = prefix_sizes(n)
        models = []
        for size, end in zip(sizes[1:], [*sizes[2:], n], strict=True):
            pairs = example.pairs.copy()
            pairs[:, 0] += random.normal(size=n).astype(np.float32) / 4
            models.append(OrderedModel(pairs, size, end))
        return cls(example, random.permutation(n), models)

    def planes(self) -> np.ndarray:
        """The pairs as growers take them."""
        planes = [self.example.pairs]
        for model in self.models:
            for part in (slice(None, model.size), slice(model.size, model.end)):
                planes.append(np.zeros_like(model.pairs))
                planes[-1][self.order[part]] = model.pairs[self.order[part]]
        return np.stack(planes)

    def grow_fast(self, members: int) -> GrownTree:
        """The tree of the kernels."""
        example = self.example
        dataset = BinnedDataset.build(read_table(example.X))
        grower = make_grower(dataset, 1, example.params, SEED, Team(members), len(self.models))
        return grower.grow(self.planes(), NO_WEIGHT if example.weight is None else example.weight, ROUND)

    def grow_slowly(self) -> SlowTree:
        """The tree of the slow twin."""
        example = self.example
        dataset, weight = BinnedDataset.build(read_table(example.X)), example.weight
        n, wide = dataset.n_rows, is_wide(example.params.precision, dataset.n_rows)
        quantise = quantiser(weight, dataset.row_ids, wide, (SEED, ROUND))
        is_symmetric = symmetric_of(example.params.growth) is not None
        kind = SlowOrderedSymmetricGrower if is_symmetric else SlowOrderedGrower
        grower = kind(dataset.columns.T, dataset.n_bins, quantise(example.pairs, 0), example.params)
        grower.responses = Responses(self.models, self.order, quantise)
        tree = grower.grow()
        scale = 1.0 if weight is None else float(finest_scale(2**62, Fraction(float(weight.max()) * n), n))
        grower.answer(tree, example.pairs, weight, scale)
        return tree

    def check(self) -> SlowTree:
        """Compare the trees of all teams with the slow one."""
        try:
            slow = self.grow_slowly()
        except TooCloseError:
            reject()
        for members in TEAMS:
            check(self.grow_fast(members), slow)
        return slow


@settings(max_examples=60)
@given(examples(), st.integers(0, 1000))
def test_the_tree_is_that_of_the_slow_grower(example, seed):
    Ordered.of(example, seed).check()


@settings(max_examples=40)
@given(symmetric_examples(), st.integers(0, 1000))
def test_the_symmetric_tree_is_that_of_the_slow_grower(example, seed):
    Ordered.of(example, seed).check()


@pytest.mark.parametrize("precision", ["packed", "wide"])
@pytest.mark.parametrize("growth", ["leafwise", "levelwise", Symmetric("l2"), Symmetric("cosine")], ids=str)
def test_a_tree_of_many_leaves_is_that_of_the_slow_grower(growth, precision):
    random = np.random.default_rng(3)
    X = np.column_stack([random.integers(0, k, 200) for k in (3, 9, 14)]).astype(float)
    g = np.where(X[:, 1] > 4, X[:, 2], -X[:, 0]) + random.normal(size=200)
    pairs = np.stack([g - g.mean(), np.ones(200)], axis=1).astype(np.float32)
    params = TreeParams(growth=growth, max_leaves=16, max_depth=4, min_child_samples=1, precision=precision)
    slow = Ordered.of(Example(X, pairs, None, params), 5).check()
    assert len(slow.nodes) >= 15


def test_a_row_is_scored_by_the_value_of_the_rows_before_it():
    """C6 by hand: four rows in the order of the table, prefixes of 1 and 2 rows, hessians of 1, λ = 1.

    Gradients −2, −4 | 2, 6 in two leaves. Unsplit: row 1 takes w = 2/2 = 1 and has the score 2·4·1 − 1² = 7; rows 2 and
    3 take w = 6/3 = 2 and have −2·2·2 − 2² = −12 and −2·6·2 − 2² = −28: −33 in all. Split between rows 1 and 2: row 1
    as before; no row of the leaf comes before rows 2 and 3 in a prefix, hence 0: 7 in all. The gain is half of 40.
    """
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    pairs = np.array([[-2.0, 1.0], [-4.0, 1.0], [2.0, 1.0], [6.0, 1.0]], dtype=np.float32)
    params = TreeParams(max_leaves=2, min_child_samples=1, min_child_weight=0.0, reg_lambda=1.0, precision="wide")
    models = [OrderedModel(pairs, 1, 2), OrderedModel(pairs, 2, 4)]
    grown = Ordered(Example(X, pairs, None, params), np.arange(4), models).grow_fast(1)
    assert grown.feature.tolist() == [0, -1, -1]
    assert grown.gain[0] == 20.0
    assert grown.value[1:, 0].tolist() == [2.0, -8.0 / 3.0]


def test_without_prefixes_splits_are_scored_as_without_ordered_scoring():
    random = np.random.default_rng(6)
    X = random.normal(size=(50, 2))
    pairs = np.stack([X[:, 0], np.ones(50)], axis=1).astype(np.float32)
    example = Example(X, pairs, None, TreeParams(max_leaves=4, min_child_samples=1))
    grown = replace(Ordered.of(example, 0), models=[]).grow_fast(1)
    dataset = BinnedDataset.build(read_table(X))
    plain = make_grower(dataset, 1, example.params, SEED, Team(1)).grow(pairs[None], NO_WEIGHT, ROUND)
    assert grown.gain.tolist() == plain.gain.tolist()
