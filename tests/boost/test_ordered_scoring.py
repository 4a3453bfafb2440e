"""Ordered scoring (C6) in ordered boosting, and what it does to the prediction shift (C7)."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor, Symmetric
from sapwood.boost.boosters.ordered import make_prefix_models
from sapwood.boost.boosters.plain import DatasetView
from sapwood.boost.leaf_refit import LeafRefit, RefitSettings
from sapwood.boost.ordered_scoring import ScoredPairs
from sapwood.boost.target import Target
from sapwood.data.binning.binned_dataset import BinnedDataset
from sapwood.data.tables.table import read_table
from sapwood.distributed.row_order import RowOrder
from sapwood.errors import ParameterError
from sapwood.kernels.layout import GrowParams
from sapwood.native.threads.team import Team
from sapwood.objectives import Softmax, Squared
from tests.boost.boosters.test_ordered import SLOPES, STUMPS, second_slope

GROWTHS = ["leafwise", "levelwise", "symmetric", Symmetric("cosine")]


def make_refit(y: np.ndarray, order: np.ndarray, seed: int) -> LeafRefit:
    """Supporting models with random scores, and their gradients."""
    random = np.random.default_rng(seed)
    dataset = BinnedDataset.build(read_table(np.zeros((len(y), 1))))
    dataset = dataclasses.replace(dataset, permutation=RowOrder(order.astype(np.uint32), len(y)))
    models = make_prefix_models(DatasetView(dataset, np.zeros((1, len(y)))), Target(y))
    models.scores[:] = random.normal(size=models.scores.shape)
    params = GrowParams(**dict.fromkeys(GrowParams._fields, 0))
    refit = LeafRefit(models, RefitSettings(Squared(), params, np.zeros(1), 1, Team(1)))
    refit.begin_round(0.1)
    return refit


def test_pairs_are_those_of_the_model_of_each_prefix():
    random = np.random.default_rng(0)
    y = random.normal(size=200)
    scored = ScoredPairs(200, 1, 7)
    for seed in (1, 2, 1):  # another permutation clears what the last one left
        order = np.random.default_rng(seed).permutation(200)
        refit = make_refit(y, order, seed)
        own = random.normal(size=(1, 200, 2)).astype(np.float32)
        planes = scored.gather(own, refit, 0)
        models = refit.models
        assert models.n_train.tolist() == [0, 3, 6, 12, 24, 48, 96, 192]
        assert planes.shape == (15, 200, 2)
        assert np.array_equal(planes[0], own[0])
        ends = [*models.n_train[2:].tolist(), 200]
        for m, (size, end) in enumerate(zip(models.n_train[1:].tolist(), ends, strict=True)):
            copies = models.scores[0, models.start[m + 1] : models.start[m + 2]]
            expected = np.zeros((2, 200, 2), dtype=np.float32)
            for place, row in enumerate(order[:end]):
                expected[0 if place < size else 1, row] = copies[place] - y[row], 1.0
            np.testing.assert_allclose(planes[1 + 2 * m : 3 + 2 * m], expected, rtol=1e-6)


def test_the_slope_of_two_stumps_is_less_short_with_ordered_scoring():
    """C7: without it the gradients of the first rows, which no model serves, decide on splits as much as others do."""
    random = np.random.default_rng(0)
    errors: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(200):
        X = random.integers(0, 2, (16, 2)).astype(float)
        for scoring, found in errors.items():
            model = SapwoodRegressor(init=0.0, boosting="ordered", ordered_scoring=scoring, **STUMPS)
            found.append(second_slope(model.fit(X, X @ SLOPES).predict))
    gained = np.array(errors[True]) - np.array(errors[False])
    assert np.mean(errors[False]) < np.mean(errors[True]) < 0.0
    assert gained.mean() > 3.0 * gained.std(ddof=1) / np.sqrt(len(gained))


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_a_split_that_tells_nothing_is_rarely_taken(growth):
    """Rows that have no part in their own leaf values do not gain by a split of pure noise."""
    random = np.random.default_rng(1)
    taken = {True: 0, False: 0}
    for _ in range(60):
        X, y = random.integers(0, 2, (64, 1)).astype(float), random.normal(size=64)
        for scoring in taken:
            model = SapwoodRegressor(
                boosting="ordered", ordered_scoring=scoring, growth=growth, n_estimators=1, max_depth=1, reg_lambda=0.0,
                min_child_weight=0.0,
            ).fit(X, y)  # fmt: skip
            taken[scoring] += int(model.model_.ensemble.feature[0] >= 0)
    assert taken[False] == 60
    assert taken[True] < 40


@pytest.mark.parametrize("growth", GROWTHS, ids=str)
def test_it_chooses_other_splits_and_learns(growth):
    random = np.random.default_rng(2)
    X = random.normal(size=(600, 5))
    y = X[:, 0] * X[:, 1] + random.normal(size=600)
    models = [
        SapwoodRegressor(boosting="ordered", growth=growth, n_estimators=30, ordered_scoring=scoring).fit(X, y)
        for scoring in (True, False)
    ]
    scored, plain = models
    assert scored.model_.fingerprint() != plain.model_.fingerprint()
    assert scored.score(X, y) > 0.3


@pytest.mark.parametrize("encoding", ["one_hot", "partition", "ordered"])
def test_categories_of_every_encoding_are_scored(encoding):
    random = np.random.default_rng(3)
    X = random.integers(0, 9, (800, 2))
    y = (np.isin(X[:, 0], [1, 4, 5]) ^ (random.uniform(size=800) < 0.1)).astype(int)
    model = SapwoodClassifier(
        boosting="ordered", categorical_features=[0, 1], category_encoding=encoding, n_estimators=20
    ).fit(X, y)  # fmt: skip
    assert model.score(X, y) > 0.87


def test_several_outputs_share_their_splits():
    random = np.random.default_rng(4)
    X = random.normal(size=(500, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = SapwoodClassifier(boosting="ordered", objective=Softmax(vector_leaves=True), n_estimators=20).fit(X, y)
    assert model.score(X, y) > 0.95


def test_one_row_and_two_rows_train():
    for n in (1, 2, 3):
        model = SapwoodRegressor(boosting="ordered", n_estimators=3).fit(np.arange(n)[:, None], np.arange(n))
        assert np.isfinite(model.predict([[0.0]])).all()


def test_it_needs_ordered_boosting():
    with pytest.raises(ParameterError, match=r"ordered_scoring.*boosting"):
        SapwoodRegressor(ordered_scoring=True).fit(np.zeros((5, 1)), np.arange(5.0))
    SapwoodRegressor(ordered_scoring=False, n_estimators=1).fit(np.zeros((5, 1)), np.arange(5.0))
