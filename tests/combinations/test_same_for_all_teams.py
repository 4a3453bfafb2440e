"""The model is the same, bit for bit, whatever number of threads made it."""

from __future__ import annotations

import pytest

import sapwood
from tests.combinations.cells import KINDS, Cell, Rows, draw_cells, fitted, name_of, unfitted

CELLS = draw_cells()
TEAMS = ("2", "3", "8")
N_ROWS = 1200


def differ_most(cells: list[Cell], n: int) -> list[Cell]:
    """So many cells, each the one that brings most choices that none before it has."""
    taken: list[Cell] = []
    for _ in range(n):
        seen = {choice for cell in taken for choice in cell.items()}
        taken.append(max(cells, key=lambda cell: len(set(cell.items()) - seen)))
    return taken


DIVERSE = differ_most(CELLS, 32)


def assert_same_for_all_teams(make, monkeypatch) -> None:
    monkeypatch.setenv("SAPWOOD_TEAM", "1")
    alone = make()
    for team in TEAMS:
        monkeypatch.setenv("SAPWOOD_TEAM", team)
        assert make() == alone, f"a team of {team} made another model"


@pytest.mark.parametrize("cell", DIVERSE, ids=name_of)
def test_a_model_does_not_depend_on_the_number_of_threads(cell: Cell, monkeypatch):
    rows = Rows.of(cell, N_ROWS)

    def make() -> tuple[str, int, bytes]:
        estimator = fitted(cell, rows)
        return estimator.model_.fingerprint(), estimator.best_iteration_, estimator.predict(rows.X).tobytes()

    assert_same_for_all_teams(make, monkeypatch)


@pytest.mark.parametrize("cell", DIVERSE[:5], ids=name_of)
def test_cross_validation_does_not_depend_on_the_number_of_threads(cell: Cell, monkeypatch):
    rows = Rows.of(cell, N_ROWS)

    def make() -> tuple[list[str], bytes, int]:
        result = sapwood.cv(unfitted(cell), rows.X, rows.y, cv=3, sample_weight=rows.weight)
        prints = [one.model_.fingerprint() for one in result.estimators]
        return prints, result.predictions.tobytes(), result.best_iteration

    assert_same_for_all_teams(make, monkeypatch)


def test_the_cells_hold_every_choice():
    for kind in KINDS:
        assert {cell[kind] for cell in DIVERSE} == {cell[kind] for cell in CELLS}
