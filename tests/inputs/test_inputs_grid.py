"""Whatever is handed over: a documented result, or a named error before any work."""

from __future__ import annotations

import pytest

from sapwood.boost import rounds
from sapwood.data.binning.bin_mapper import BinMapper
from sapwood.errors import SapwoodError
from tests.inputs import call_cells, feature_cells, frame_cells, target_cells
from tests.inputs.input_cells import Cell, Error

CELLS: list[Cell] = [*feature_cells.CELLS, *frame_cells.CELLS, *target_cells.CELLS, *call_cells.CELLS]


def test_the_grid_is_large_and_its_names_differ():
    assert len(CELLS) == len({cell.name for cell in CELLS}) >= 300


@pytest.fixture
def begun(monkeypatch):
    """The steps of training that were begun, in order."""
    steps: list[str] = []
    fit, make = BinMapper.fit.__func__, rounds.TrainingContext.make.__func__

    def noted_fit(cls, *args, **given):
        steps.append("bins")
        return fit(cls, *args, **given)

    def noted_make(cls, *args, **given):
        steps.append("trees")
        return make(cls, *args, **given)

    monkeypatch.setattr(BinMapper, "fit", classmethod(noted_fit))
    monkeypatch.setattr(rounds.TrainingContext, "make", classmethod(noted_make))
    return steps


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_cell_is_a_documented_result_or_a_named_error_before_any_work(cell: Cell, begun):
    if not isinstance(cell.expected, Error):
        assert cell.expected(cell.call())
        return
    with pytest.raises(cell.expected.kind) as caught:
        cell.call()
    assert isinstance(caught.value, SapwoodError)
    for text in cell.expected.texts:
        assert text in str(caught.value)
    assert begun in ([], ["bins"] if cell.reads else [])
