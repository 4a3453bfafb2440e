"""Interaction constraints hold on every path, in every growth and search."""

from __future__ import annotations

import pytest

from tests.grow.constraints.boxes import boxes
from tests.grow.constraints.tables import LOSSES, N_FEATURES, WAYS, fit

GROUPS = [[0, 1], [2, 3]]
OVERLAPPING = [[0, 1, 2], [2, 3]]


def paths(model) -> set[frozenset[int]]:
    return {box.path for tree in model.ensemble for box in boxes(tree, N_FEATURES)}


def is_allowed(path: frozenset[int], groups: list[list[int]]) -> bool:
    """Features of no group stand alone."""
    alone = [[feature] for feature in range(N_FEATURES) if not any(feature in group for group in groups)]
    return any(path <= set(group) for group in groups + alone)


@pytest.mark.parametrize("groups", [GROUPS, OVERLAPPING], ids=["apart", "overlapping"])
@pytest.mark.parametrize("way", WAYS)
def test_a_path_keeps_to_one_group(way, groups):
    found = paths(fit(LOSSES["squared"], interaction_constraints=groups, **WAYS[way]).model_)
    assert max(map(len, found)) > 1
    assert [path for path in found if not is_allowed(path, groups)] == []


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("growth", ["leafwise", "levelwise", "symmetric"])
def test_a_path_keeps_to_one_group_for_every_loss(growth, loss):
    found = paths(fit(LOSSES[loss], interaction_constraints=GROUPS, growth=growth).model_)
    assert [path for path in found if not is_allowed(path, GROUPS)] == []


@pytest.mark.parametrize("way", WAYS)
def test_without_groups_paths_mix_features(way):
    found = paths(fit(LOSSES["squared"], **WAYS[way]).model_)
    assert not all(is_allowed(path, GROUPS) for path in found)


@pytest.mark.parametrize("way", WAYS)
def test_groups_hold_with_sampled_columns(way):
    sampled = {"colsample_bytree": 0.8, "colsample_bylevel": 0.8, "colsample_bynode": 0.8}
    found = paths(fit(LOSSES["squared"], interaction_constraints=OVERLAPPING, **sampled, **WAYS[way]).model_)
    assert [path for path in found if not is_allowed(path, OVERLAPPING)] == []
