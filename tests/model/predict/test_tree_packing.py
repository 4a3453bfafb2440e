from __future__ import annotations

import numpy as np
import pytest

from sapwood.data.tables.table import read_table
from sapwood.kernels.predict import packed_forest
from sapwood.model.ensemble import Ensemble
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.predict import batch_predictor
from sapwood.model.predict.tree_packing import EXIT_POSITIONS, pack_trees
from tests.model.forests import random_ensemble, random_rows, slow_scores, tree_of


def scores_of(ensemble: Ensemble, x: np.ndarray) -> np.ndarray:
    out = np.zeros((1, len(x)))
    batch_predictor.add_scores(pack_trees(ensemble), read_table(x), range(ensemble.n_trees), out)
    return out


def chain(n_leaves: int, missing_left: int = 0) -> Ensemble:
    """A tree that asks one question after the other: x0 <= 0, x0 <= 1, ..."""
    n = 2 * n_leaves - 1
    inner = np.arange(n) % 2 == 0
    inner[-1] = False
    feature = np.where(inner, 0, -1)
    left = np.where(inner, np.arange(n) + 1, 0)
    builder = EnsembleBuilder()
    builder.append(tree_of(feature, np.arange(n) / 2, left, inner * missing_left, np.arange(n) * 1.0))
    return builder.build()


def test_every_exit_has_its_own_place():
    assert sorted(EXIT_POSITIONS) == list(range(32))
    assert EXIT_POSITIONS[0] == 0


@pytest.mark.parametrize("n_leaves", [1, 2, 31, 32, 33, 64, 65, 500])
@pytest.mark.parametrize("missing_left", [0, 1])
def test_a_chain_of_any_length_is_walked(n_leaves, missing_left):
    ensemble = chain(n_leaves, missing_left)
    x = np.concatenate([np.arange(-1, n_leaves + 1), [np.nan, np.inf, -np.inf]])[:, None]
    np.testing.assert_array_equal(scores_of(ensemble, x), slow_scores(ensemble, x, [0.0]))


@pytest.mark.parametrize("n_leaves", [32, 33])
def test_trees_with_more_than_32_leaves_are_deep(n_leaves):
    trees = pack_trees(chain(n_leaves)).forest.trees
    assert trees[0, packed_forest.KIND] == (packed_forest.DEEP if n_leaves > 32 else packed_forest.SHALLOW)
    assert trees[0, packed_forest.SPLITS_END] - trees[0, packed_forest.SPLITS_BEGIN] == 31


def symmetric_ensemble(rng: np.random.Generator, depths: list[int], width: int = 1) -> Ensemble:
    """Trees that ask one question per level, nodes level by level from the left."""
    builder = EnsembleBuilder()
    for depth in depths:
        feature, threshold, missing_left = [], [], []
        for level in range(depth):
            feature += [int(rng.integers(5))] * 2**level
            threshold += [float(np.round(rng.normal() * 8) / 8)] * 2**level
            missing_left += [int(rng.integers(2))] * 2**level
        n = 2 ** (depth + 1) - 1
        rest = n - len(feature)
        left = [2 * node + 1 for node in range(len(feature))]
        value = rng.normal(size=(n, width)) if width > 1 else rng.normal(size=n)
        zeros = [0] * rest
        builder.append(tree_of(feature + [-1] * rest, threshold + zeros, left + zeros, missing_left + zeros, value))
    return builder.build()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symmetric_trees_find_leaves_by_one_bit_per_depth(dtype):
    rng = np.random.default_rng(3)
    ensemble = symmetric_ensemble(rng, [1, 2, 5, 6, 9])
    assert pack_trees(ensemble).forest.trees[:, packed_forest.KIND].tolist() == [packed_forest.SYMMETRIC] * 5
    x = random_rows(rng, 700, 5).astype(dtype)
    np.testing.assert_array_equal(scores_of(ensemble, x), slow_scores(ensemble, x, [0.0]))
    found = batch_predictor.leaf_indices(pack_trees(ensemble), read_table(x), range(5))
    plain = batch_predictor.leaf_indices(pack_trees(ensemble, with_tops=False), read_table(x), range(5))
    np.testing.assert_array_equal(found, plain)


def test_one_split_that_differs_makes_a_tree_ordinary():
    ensemble = symmetric_ensemble(np.random.default_rng(0), [3, 3, 3])
    threshold = ensemble.threshold.copy()
    threshold[ensemble.tree_start[1] + 4] += 0.25
    ensemble = Ensemble(**{**ensemble.__dict__, "threshold": threshold})
    kinds = pack_trees(ensemble).forest.trees[:, packed_forest.KIND].tolist()
    assert kinds == [packed_forest.SYMMETRIC, packed_forest.SHALLOW, packed_forest.SYMMETRIC]
    x = random_rows(np.random.default_rng(1), 300, 5)
    np.testing.assert_array_equal(scores_of(ensemble, x), slow_scores(ensemble, x, [0.0]))


def test_tops_hold_the_splits_that_most_rows_pass():
    ensemble = chain(40)
    rows = np.arange(ensemble.n_nodes, 0, -1)
    ensemble = Ensemble(**{**ensemble.__dict__, "count": rows})
    np.testing.assert_array_equal(pack_trees(ensemble).thresholds.float64, np.arange(31))


def test_row_counts_that_contradict_the_tree_do_no_harm():
    rng = np.random.default_rng(0)
    for _ in range(20):
        ensemble = random_ensemble(rng, 2, leaves=(33, 120))
        counts = rng.integers(0, 10, ensemble.n_nodes)
        ensemble = Ensemble(**{**ensemble.__dict__, "count": counts})
        x = random_rows(rng, 30, 4)
        np.testing.assert_array_equal(scores_of(ensemble, x), slow_scores(ensemble, x, [0.0]))


def test_only_features_in_use_are_copied():
    builder = EnsembleBuilder()
    builder.append(tree_of([7, -1, -1], [0.0] * 3, [1, 0, 0], [0] * 3, [0.0, 1.0, 2.0]))
    builder.append(tree_of([3, -1, -1], [0.0] * 3, [1, 0, 0], [0] * 3, [0.0, 1.0, 2.0]))
    assert pack_trees(builder.build()).forest.features.tolist() == [3, 7]
