"""Feature weights in column sampling."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood import SapwoodRegressor
from sapwood.errors import ParameterError
from sapwood.grow.constraints import ColumnWeights, sample_tree_features
from sapwood.kernels.split.column_sampler import HASH_UNIT, TO_UNIT, weigh_hash, weigh_hashes

X = np.random.default_rng(0).normal(size=(500, 5))
Y = X.sum(axis=1)


def splits(**params) -> np.ndarray:
    """Return how often trees split by each feature, all of which are noise."""
    noise = np.random.default_rng(1).normal(size=len(X))
    fitted = SapwoodRegressor(n_estimators=80, max_leaves=4, **params).fit(X, noise)
    return np.asarray(fitted.importance("weight"))


def test_a_hash_becomes_an_exponential_number_in_fixed_point():
    bits = np.array([0, 1 << 63, (1 << 64) - 1], dtype=np.uint64)
    u = ((bits >> np.uint64(11)).astype(float) + 1.0) * TO_UNIT
    expected = -np.log(u) * 0.25 * HASH_UNIT
    found = [float(weigh_hash(one, 0.25)) for one in bits]
    np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1.0)
    compiled = bits.copy()
    weigh_hashes(compiled, np.full(3, 0.25))
    assert compiled.astype(float).tolist() == found


@pytest.mark.parametrize("weights", [[1.0, 2.0, 3.0, 4.0], [5.0, 5.0, 0.0, 10.0]])
def test_the_first_feature_is_drawn_in_proportion_to_its_weight(weights):
    columns = ColumnWeights(4, np.array(weights))
    drawn = np.sum([sample_tree_features(0.25, 4, 0, round, columns) for round in range(4000)], axis=0)
    share = np.array(weights) / sum(weights)
    assert (np.abs(drawn / 4000 - share) < 4 * np.sqrt(share * (1 - share) / 4000) + 1e-12).all()


@pytest.mark.parametrize("by", ["tree", "level", "node"])
def test_features_of_larger_weight_are_used_more(by):
    equal, weighted = (
        splits(**{f"colsample_by{by}": 0.2}, feature_weights=weights) for weights in (None, [1, 1, 1, 1, 20])
    )
    assert weighted[4] > 1.5 * equal[4]
    assert splits(**{f"colsample_by{by}": 0.2}, feature_weights={4: 0})[4] == 0


def test_equal_weights_draw_as_many_features_as_none():
    count = [sample_tree_features(0.6, 5, 1, round, ColumnWeights(5, np.ones(5))).sum() for round in range(50)]
    assert set(count) == {3}


def test_columns_are_named_and_categories_have_the_weight_of_their_column():
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(city=np.where(X[:, 2] > 0, "x", "y"))
    fitted = SapwoodRegressor(n_estimators=20, colsample_bynode=0.5, feature_weights={"city": 0, "b": 3.0}).fit(
        frame, Y
    )
    used = np.asarray(fitted.importance("weight"))
    assert used[2] == 0
    assert used[1] > used[0]


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, 2], "feature_weights has 2 entries for 5 features"),
        ([1, 1, 1, 1, -1], "feature_weights of column 4 must be a number from 0"),
        ([0] * 5, "feature_weights are 0 for every column"),
        ({"z": 1}, "there is no column 'z'"),
        ([1, 1, 1, 1, float("nan")], "feature_weights of column 4"),
    ],
)
def test_other_weights_are_refused(weights, words):
    with pytest.raises(ParameterError, match=words):
        splits(colsample_bynode=0.5, feature_weights=weights)


def test_weights_without_sampling_are_refused():
    with pytest.raises(ParameterError, match="feature_weights is not supported without column sampling"):
        splits(feature_weights=[1, 1, 1, 1, 2])
