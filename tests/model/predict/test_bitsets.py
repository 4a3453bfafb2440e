from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sapwood import SapwoodRegressor
from sapwood.data.categories.derived_feature import SET, DerivedFeature
from sapwood.data.categories.transformer import FeatureTransformer
from sapwood.data.categories.vocabulary import Vocabulary
from sapwood.data.tables.table import read_table
from sapwood.model.predict.bitsets import BitsetTransformer
from tests.model.forests import slow_scores

N_LEVELS = 20


def transformer_with_sets(n_sets: int, seed: int = 0) -> FeatureTransformer:
    """A number, and sets of the categories of two columns, alternately."""
    source = np.random.default_rng(seed)
    columns: list[int | DerivedFeature] = [0]
    ranks = [source.permutation(N_LEVELS + 2).astype(np.float64) % N_LEVELS for _ in range(2)]
    for k in range(n_sets):
        members = source.integers(-(2**63), 2**63, 4)
        columns.append(DerivedFeature((1 + k % 2,), SET, ranks[k % 2], ranks[k % 2], members=members))
    vocabulary = Vocabulary(tuple(f"level {k:02}" for k in range(N_LEVELS)))
    return FeatureTransformer({1: vocabulary, 2: vocabulary}, tuple(columns))


@pytest.mark.parametrize("n_sets", [0, 1, 2, 127, 128, 129, 300])
def test_bits_of_bitsets_are_the_values_of_sets(n_sets):
    transformer = transformer_with_sets(n_sets)
    packed = BitsetTransformer.of(transformer)
    codes = {f: np.random.default_rng(f).integers(0, N_LEVELS + 5, 200) for f in (1, 2)}
    for k, column in enumerate(transformer.columns):
        if isinstance(column, DerivedFeature):
            bitset = packed.transformer.columns[packed.column[k]]
            bits = (bitset.values(codes).view(np.uint64) >> np.uint64(packed.bit[k])) & np.uint64(1)
            np.testing.assert_array_equal(bits, column.values(codes))


def test_a_bitset_holds_64_sets_of_one_column():
    packed = BitsetTransformer.of(transformer_with_sets(300))
    assert packed.transformer.n_columns == 1 + 2 * 3
    assert len(set(zip(packed.column.tolist(), packed.bit.tolist(), strict=True))) == 301
    assert packed.column[0] == 0
    assert packed.bit[0] == -1


@pytest.mark.parametrize("max_leaves", [2, 20, 60])
def test_predictions_from_bitsets_are_those_of_a_walk_by_columns(max_leaves):
    source = np.random.default_rng(3)
    n = 1500
    X = pd.DataFrame({"a": source.integers(0, 300, n).astype(str), "b": source.integers(0, 6, n).astype(str)})
    X["x"] = np.where(source.uniform(size=n) < 0.1, np.nan, source.normal(size=n))
    y = np.random.default_rng(4).normal(size=300)[X["a"].astype(int)] + X["b"].astype(int) * X["x"].fillna(1.0)
    params = {"n_estimators": 5, "max_leaves": max_leaves, "min_child_samples": 1, "category_encoding": "partition"}
    model = SapwoodRegressor(**params).fit(X, y).model_
    test = pd.concat([X[:200], pd.DataFrame({"a": ["new", None, "3"], "b": ["1", None, "new"], "x": [0.0, 1.0, 2.0]})])
    table = model.transformer.transform(model.schema.align(read_table(test)))
    columns = np.concatenate([matrix for _, matrix in table.matrices(50)])
    expected = slow_scores(model.ensemble, columns, model.base_scores)[0]
    np.testing.assert_array_equal(model.predict_raw(test), expected)
    one = model.predictor()
    rows = test.astype(object).where(test.notna(), None).to_numpy().tolist()
    rows = [[np.nan if k == 2 and value is None else value for k, value in enumerate(row)] for row in rows]
    np.testing.assert_array_equal([one.predict_raw(row) for row in rows[-40:]], expected[-40:])
