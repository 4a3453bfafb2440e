from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.data.tables.table import read_table
from sapwood.model.ensemble_builder import EnsembleBuilder
from sapwood.model.predict import batch_predictor
from sapwood.model.predict.tree_packing import pack_trees
from tests.model.forests import leaf_of, leaf_tree, random_ensemble, random_rows, slow_scores, small_tree

SIZES = {"narrow": (1, 32), "broad": (33, 64), "deep": (65, 90), "mixed": (1, 100)}


@pytest.fixture(autouse=True)
def without_bytes(monkeypatch):
    monkeypatch.setattr(batch_predictor, "MIN_BYTE_ROWS", 1 << 40)


def fast_scores(ensemble, x, base, n_jobs=None):
    out = np.repeat(np.asarray(base, dtype=np.float64)[:, None], len(x), axis=1)
    batch_predictor.add_scores(pack_trees(ensemble), read_table(x), range(ensemble.n_trees), out, n_jobs)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_scores_equal_those_of_a_walk_row_by_row(size, dtype):
    rng = np.random.default_rng(1)
    ensemble = random_ensemble(rng, n_trees=4, n_features=6, leaves=SIZES[size])
    x = random_rows(rng, 150, 6, dtype)
    np.testing.assert_array_equal(fast_scores(ensemble, x, [0.25]), slow_scores(ensemble, x, [0.25]))


@pytest.mark.parametrize("n", [1, 7, 8, 127, 128, 129, 300])
def test_any_number_of_rows_is_answered(n):
    rng = np.random.default_rng(n)
    ensemble = random_ensemble(rng, n_trees=3, leaves=(1, 80))
    x = random_rows(rng, n, 4)
    np.testing.assert_array_equal(fast_scores(ensemble, x, [0.0]), slow_scores(ensemble, x, [0.0]))


@pytest.mark.parametrize("size", SIZES)
def test_vector_leaves_add_to_every_output(size):
    rng = np.random.default_rng(2)
    ensemble = random_ensemble(rng, n_trees=3, n_outputs=3, width=3, leaves=SIZES[size])
    x, base = random_rows(rng, 140, 4), [0.5, -1.0, 2.0]
    np.testing.assert_array_equal(fast_scores(ensemble, x, base), slow_scores(ensemble, x, base))


def test_trees_add_to_their_own_output():
    rng = np.random.default_rng(3)
    ensemble = random_ensemble(rng, n_trees=9, n_outputs=3)
    x, base = random_rows(rng, 50, 4), [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(fast_scores(ensemble, x, base), slow_scores(ensemble, x, base))


@pytest.mark.parametrize("size", SIZES)
def test_blocks_without_missing_values_are_answered_alike(size):
    rng = np.random.default_rng(4)
    ensemble = random_ensemble(rng, n_trees=3, leaves=SIZES[size])
    x = rng.normal(size=(200, 4))
    np.testing.assert_array_equal(fast_scores(ensemble, x, [0.0]), slow_scores(ensemble, x, [0.0]))


def test_rows_may_lie_in_memory_in_any_order():
    rng = np.random.default_rng(5)
    ensemble = random_ensemble(rng, n_trees=4)
    x = random_rows(rng, 200, 4)
    expected = fast_scores(ensemble, x, [0.0])
    wide = np.zeros((200, 9))
    wide[:, 1:9:2] = x
    for other in (np.asfortranarray(x), wide[:, 1:9:2], np.repeat(x, 2, axis=0)[::2]):
        np.testing.assert_array_equal(fast_scores(ensemble, other, [0.0]), expected)


@pytest.mark.parametrize("members", ["1", "2", "3", "7"])
def test_scores_do_not_depend_on_the_number_of_members(members, monkeypatch):
    rng = np.random.default_rng(6)
    ensemble = random_ensemble(rng, n_trees=6, leaves=(1, 80))
    x = random_rows(rng, 333, 4)
    expected = slow_scores(ensemble, x, [0.1])
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    np.testing.assert_array_equal(fast_scores(ensemble, x, [0.1]), expected)


def test_scores_do_not_depend_on_how_calls_are_cut(monkeypatch):
    rng = np.random.default_rng(7)
    ensemble = random_ensemble(rng, n_trees=4)
    x = random_rows(rng, 700, 4)
    expected = fast_scores(ensemble, x, [0.1])
    monkeypatch.setattr(batch_predictor, "rows_per_call", lambda *args: 130)
    np.testing.assert_array_equal(fast_scores(ensemble, x, [0.1]), expected)


def test_float32_values_are_compared_with_the_exact_threshold():
    builder = EnsembleBuilder()
    tree = small_tree()
    between = np.nextafter(0.1, 1.0)  # above the float64 0.1, below the next float32
    threshold = tree.threshold.copy()
    threshold[0] = between
    builder.append(type(tree)(**{**tree.__dict__, "threshold": threshold}))
    x = np.array([[np.float32(0.1), 0.0], [np.nextafter(np.float32(0.1), np.float32(0)), 0.0]], dtype=np.float32)
    np.testing.assert_array_equal(fast_scores(builder.build(), x, [0.0]), [[10.0, 1.0]])


def test_infinite_thresholds_and_values_compare_as_numbers():
    tree = small_tree()
    for threshold, expected in ((np.inf, 1.0), (-np.inf, 20.0), (1e300, 20.0), (-1e300, 20.0)):
        builder = EnsembleBuilder()
        builder.append(type(tree)(**{**tree.__dict__, "threshold": [threshold, 0, 2.0, 0, 0]}))
        for dtype in (np.float32, np.float64):
            x = np.array([[np.inf, np.inf]], dtype=dtype)
            assert fast_scores(builder.build(), x, [0.0])[0, 0] == expected


def test_an_ensemble_of_single_leaves_needs_no_feature():
    builder = EnsembleBuilder()
    builder.append(leaf_tree(2.0))
    builder.append(leaf_tree(0.5))
    np.testing.assert_array_equal(fast_scores(builder.build(), np.full((5, 3), np.nan), [1.0]), [[3.5] * 5])


def test_an_empty_ensemble_adds_nothing():
    np.testing.assert_array_equal(fast_scores(EnsembleBuilder().build(), np.ones((3, 2)), [4.0]), [[4.0] * 3])


@pytest.mark.parametrize("size", SIZES)
def test_leaf_indices_are_the_nodes_where_rows_end(size):
    rng = np.random.default_rng(8)
    ensemble = random_ensemble(rng, n_trees=4, leaves=SIZES[size])
    x = random_rows(rng, 140, 4)
    found = batch_predictor.leaf_indices(pack_trees(ensemble), read_table(x), range(4))
    assert found.tolist() == [[leaf_of(tree, row) for tree in ensemble] for row in x]


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 5), st.integers(1, 3), st.booleans(), st.sampled_from(list(SIZES)))
def test_scores_of_any_forest_equal_those_of_a_walk(seed, n_trees, n_outputs, vector, size):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 9))
    ensemble = random_ensemble(rng, n_trees, n_features, n_outputs, n_outputs if vector else 1, leaves=SIZES[size])
    x = random_rows(rng, int(rng.integers(1, 40)), n_features, rng.choice([np.float32, np.float64]))
    base = rng.normal(size=n_outputs)
    np.testing.assert_array_equal(fast_scores(ensemble, x, base), slow_scores(ensemble, x, base))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_workspaces_may_hold_anything_at_first(dtype, monkeypatch):
    rng = np.random.default_rng(11)
    ensemble = random_ensemble(rng, n_trees=4, leaves=(1, 90))
    x = random_rows(rng, 100, 4, dtype)

    def filled(packed, dtype, members):
        work = workspaces(packed, dtype, members)
        for array in work:
            array.view(np.uint8)[:] = 0xFF
        return work

    workspaces = batch_predictor._workspaces
    monkeypatch.setattr(batch_predictor, "_workspaces", filled)
    np.testing.assert_array_equal(fast_scores(ensemble, x, [0.0]), slow_scores(ensemble, x, [0.0]))


@pytest.mark.parametrize("members", ["1", "3"])
def test_nothing_is_written_outside_the_output(members, monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    rng = np.random.default_rng(12)
    ensemble = random_ensemble(rng, n_trees=6, n_outputs=2, leaves=(1, 90))
    x = random_rows(rng, 333, 4)
    memory = np.full(50 + 2 * 333 + 50, 7.0)
    out = memory[50:-50].reshape(2, 333)
    batch_predictor.add_scores(pack_trees(ensemble), read_table(x), range(6), out)
    assert np.all(memory[:50] == 7.0)
    assert np.all(memory[-50:] == 7.0)
    np.testing.assert_array_equal(out, slow_scores(ensemble, x, [7.0, 7.0]))


def test_only_the_asked_trees_are_added():
    rng = np.random.default_rng(9)
    ensemble = random_ensemble(rng, n_trees=6, leaves=(1, 80))
    x = random_rows(rng, 20, 4)
    out = np.zeros((1, 20))
    batch_predictor.add_scores(pack_trees(ensemble), read_table(x), range(2, 5), out)
    np.testing.assert_array_equal(out, slow_scores(ensemble.slice(2, 5), x, [0.0]))
