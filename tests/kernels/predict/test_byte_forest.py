from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.data.tables.table import read_table
from sapwood.kernels.predict import byte_forest
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.predict import batch_predictor
from sapwood.model.predict.tree_packing import pack_trees
from tests.model.forests import leaf_tree, random_ensemble, random_rows, slow_scores, small_tree

SIZES = {"one byte": (1, 8), "few": (9, 32), "many": (33, 100), "most": (256, 256)}


def byte_scores(ensemble, x, base, n_jobs=None):
    packed = pack_trees(ensemble).byte_trees
    assert packed is not None
    out = np.repeat(np.asarray(base, dtype=np.float64)[:, None], len(x), axis=1)
    batch_predictor.add_byte_scores(packed, read_table(x), range(ensemble.n_trees), out, n_jobs)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_scores_equal_those_of_a_walk_row_by_row(size, dtype):
    rng = np.random.default_rng(1)
    ensemble = random_ensemble(rng, n_trees=4, n_features=6, leaves=SIZES[size])
    x = random_rows(rng, 150, 6, dtype)
    np.testing.assert_array_equal(byte_scores(ensemble, x, [0.25]), slow_scores(ensemble, x, [0.25]))


@pytest.mark.parametrize("n", [1, 3, 4, 511, 512, 513])
def test_any_number_of_rows_is_answered(n):
    rng = np.random.default_rng(n)
    ensemble = random_ensemble(rng, n_trees=2, leaves=(2, 40))
    x = random_rows(rng, n, 4)
    np.testing.assert_array_equal(byte_scores(ensemble, x, [0.0]), slow_scores(ensemble, x, [0.0]))


@pytest.mark.parametrize("size", SIZES)
def test_vector_leaves_add_to_every_output(size):
    rng = np.random.default_rng(2)
    ensemble = random_ensemble(rng, n_trees=3, n_outputs=3, width=3, leaves=SIZES[size])
    x, base = random_rows(rng, 90, 4), [0.5, -1.0, 2.0]
    np.testing.assert_array_equal(byte_scores(ensemble, x, base), slow_scores(ensemble, x, base))


def test_trees_add_to_their_own_output_though_some_are_single_leaves():
    builder = EnsembleBuilder(2)
    for k, tree in enumerate([leaf_tree(2.0), small_tree(), small_tree(3.0), leaf_tree(0.5)]):
        builder.append(tree, output=k % 2, round=k // 2)
    ensemble, x = builder.build(), random_rows(np.random.default_rng(3), 50, 2)
    np.testing.assert_array_equal(byte_scores(ensemble, x, [1.0, 2.0]), slow_scores(ensemble, x, [1.0, 2.0]))


@pytest.mark.parametrize("members", ["1", "2", "3", "8"])
def test_scores_do_not_depend_on_the_number_of_members(members, monkeypatch):
    rng = np.random.default_rng(6)
    ensemble = random_ensemble(rng, n_trees=3, leaves=(2, 80))
    x = random_rows(rng, 1700, 4)
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    monkeypatch.setattr(batch_predictor, "_call_rows", lambda *args: 1100)
    expected = np.full((1, len(x)), 0.1)
    batch_predictor.traverse(
        batch_predictor.packed_forest.add_scores, pack_trees(ensemble), read_table(x), range(3), expected, None
    )
    np.testing.assert_array_equal(byte_scores(ensemble, x, [0.1]), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "thresholds",
    [
        [0.0, -0.0, 5e-324, -5e-324], [-np.inf, np.inf, 0.5, 1.0], [-1.7e308, 1.7e308, 0.0, 1e-300], [np.inf] * 4,
        [1.0, 1.0 + 2**-40, 1.0 + 2**-30, 1e9], [0.1, np.nextafter(0.1, 1), np.nextafter(0.1, 0), 3e38],
    ],
)  # fmt: skip
def test_a_value_is_found_among_odd_thresholds(thresholds, dtype):
    builder, tree = EnsembleBuilder(), small_tree()
    for k in range(4):
        shifted = [thresholds[k], 0, thresholds[k - 1], 0, 0]
        builder.append(replace(tree, feature=[0, -1, 0, -1, -1], threshold=shifted), round=k)
    ensemble = builder.build()
    with np.errstate(over="ignore"):
        near = np.array([*thresholds, 0.0, np.inf, -np.inf, np.nan, 2.0, -2.0, 1e38, -1e38]).astype(dtype)
        near = np.concatenate([near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-np.inf))])
    x = near[:, None]
    np.testing.assert_array_equal(byte_scores(ensemble, x, [0.0]), slow_scores(ensemble, x, [0.0]))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.booleans(), st.floats(0.1, 3))
def test_scores_of_any_forest_equal_those_of_a_walk(seed, n_trees, n_outputs, vector, skew):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 9))
    ensemble = random_ensemble(rng, n_trees, n_features, n_outputs, n_outputs if vector else 1, leaves=(2, 70))
    stretched = np.sign(ensemble.threshold) * np.expm1(np.abs(ensemble.threshold) * skew)
    ensemble = replace(ensemble, threshold=np.where(ensemble.feature < 0, 0.0, stretched))
    x = random_rows(rng, int(rng.integers(1, 40)), n_features)
    x = (np.sign(x) * np.expm1(np.abs(x) * skew)).astype(rng.choice([np.float32, np.float64]))
    base = rng.normal(size=n_outputs)
    np.testing.assert_array_equal(byte_scores(ensemble, x, base), slow_scores(ensemble, x, base))


@pytest.mark.parametrize("members", ["1", "3"])
def test_nothing_is_written_outside_the_output_and_workspaces_may_hold_anything(members, monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    workspaces = batch_predictor._byte_workspaces

    def filled(packed, members):
        return tuple(np.full_like(array, 0xAB) for array in workspaces(packed, members))

    monkeypatch.setattr(batch_predictor, "_byte_workspaces", filled)
    rng = np.random.default_rng(12)
    ensemble = random_ensemble(rng, n_trees=4, n_outputs=2, leaves=(2, 90))
    x = random_rows(rng, 733, 4)
    memory = np.full(50 + 2 * 733 + 50, 7.0)
    out = memory[50:-50].reshape(2, 733)
    batch_predictor.add_byte_scores(pack_trees(ensemble).byte_trees, read_table(x), range(4), out, None)
    assert np.all(memory[:50] == 7.0)
    assert np.all(memory[-50:] == 7.0)
    np.testing.assert_array_equal(out, slow_scores(ensemble, x, [7.0, 7.0]))


def test_tables_that_come_in_several_blocks_are_answered_in_their_places(monkeypatch):
    monkeypatch.setattr("sapwood.data.tables.table.CHUNK_ROWS", 100)
    rng = np.random.default_rng(13)
    ensemble = random_ensemble(rng, n_trees=3, leaves=(2, 40))
    x, packed = random_rows(rng, 250, 4), pack_trees(ensemble)
    table = read_table(pd.DataFrame(x))
    assert [block.start for block in table.blocks()] == [0, 100, 200]
    by_bytes, by_words = np.zeros((2, 1, 250))
    batch_predictor.add_byte_scores(packed.byte_trees, table, range(3), by_bytes, None)
    batch_predictor.traverse(batch_predictor.packed_forest.add_scores, packed, table, range(3), by_words, None)
    np.testing.assert_array_equal(by_bytes, slow_scores(ensemble, x, [0.0]))
    np.testing.assert_array_equal(by_words, slow_scores(ensemble, x, [0.0]))
    leaves = batch_predictor.leaf_indices(packed, table, range(3), None)
    np.testing.assert_array_equal(leaves, batch_predictor.leaf_indices(packed, read_table(x), range(3), None))


def test_only_the_asked_trees_are_added():
    rng = np.random.default_rng(9)
    ensemble = random_ensemble(rng, n_trees=6, leaves=(2, 80))
    x = random_rows(rng, 20, 4)
    out = np.zeros((1, 20))
    batch_predictor.add_byte_scores(pack_trees(ensemble).byte_trees, read_table(x), range(2, 5), out, None)
    np.testing.assert_array_equal(out, slow_scores(ensemble.slice(2, 5), x, [0.0]))


def test_larger_trees_and_more_thresholds_than_bytes_can_tell_apart_are_not_packed():
    rng = np.random.default_rng(10)
    assert pack_trees(random_ensemble(rng, 1, leaves=(257, 257))).byte_trees is None
    ensemble = random_ensemble(rng, 5, n_features=1, leaves=(52, 52))
    for n_cuts in (254, 255):
        numbers = np.minimum(np.cumsum(ensemble.feature >= 0), n_cuts)
        cut = replace(ensemble, threshold=np.where(ensemble.feature >= 0, numbers * 1.0, 0.0))
        assert (pack_trees(cut).byte_trees is None) == (n_cuts > byte_forest.MAX_THRESHOLDS)
    assert pack_trees(random_ensemble(rng, 2, leaves=(1, 1))).byte_trees is None


def test_bytes_are_used_where_many_rows_meet_many_splits():
    rng = np.random.default_rng(11)
    packed = pack_trees(random_ensemble(rng, 60, n_features=4, leaves=(20, 31)))
    many, few = read_table(random_rows(rng, 400, 4)), read_table(random_rows(rng, 20, 4))
    assert batch_predictor.choose_byte_trees(packed, many, range(60)) is packed.byte_trees
    assert batch_predictor.choose_byte_trees(packed, many, range(1)) is None
    assert batch_predictor.choose_byte_trees(packed, few, range(60)) is None
