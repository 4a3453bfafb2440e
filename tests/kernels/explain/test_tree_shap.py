"""The kernel of Shapley values equals a slow twin of its formulas bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood.data.tables.schema import Schema
from sapwood.explain.cover import node_cover
from sapwood.explain.players import Players
from sapwood.explain.tree_shap import add_shap_values, pack_paths
from sapwood.kernels.explain import path_records, tree_shap
from sapwood.model.model import Model
from sapwood.model.predict.node_index import NodeIndex
from tests.guarded import Guards
from tests.model.forests import random_ensemble, random_rows
from tests.reference.tree_shap import slow_shap_values


def packed_model(seed: int, n_features: int = 5, n_outputs: int = 1, width: int = 1):
    rng = np.random.default_rng(seed)
    ensemble = random_ensemble(rng, 4, n_features, n_outputs, width, leaves=(2, 20))
    model = Model(Schema(n_features), ensemble, np.zeros(n_outputs))
    players = Players.of(model)
    return model, players, pack_paths(NodeIndex(ensemble), players, node_cover(ensemble)), rng


@pytest.mark.parametrize("seed", range(4))
def test_values_equal_those_of_the_slow_twin_bit_for_bit(seed):
    model, players, packed, rng = packed_model(seed)
    X = random_rows(rng, 70, 5)
    out = np.zeros((70, 5, 1))
    add_shap_values(packed, players, model.align(X), out)
    expected = slow_shap_values(model.ensemble, node_cover(model.ensemble), X)
    assert out[:, :, 0].tobytes() == expected.tobytes()


@pytest.mark.parametrize("members", [1, 3])
def test_nothing_beside_the_workspaces_is_written(members):
    model, players, packed, rng = packed_model(9, n_outputs=2, width=2)
    X, guards = random_rows(rng, 100, 5), Guards()
    work = packed.workspace(players.n_players, members, with_pairs=True)
    guarded = path_records.ShapWorkspace(*(guards.array(array.shape, array.dtype.type) for array in work))
    out = guards.copy(np.zeros((100, 5, 5, 2)))
    block = next(model.align(X).blocks())
    call = tree_shap.explain_row_pairs.bind(
        np.zeros(64, np.int64), block.values, block.row_stride, block.column_stride, packed.paths, packed.leaves,
        players.share_start, players.share_feature, guarded, np.array([0, 100, 0]), out,
    )  # fmt: skip
    for member in range(members):
        call(member, members)
    guards.check()
    np.testing.assert_allclose(out.sum(axis=2), model.shap_values(X), rtol=1e-9, atol=1e-12)
