"""Whatever is combined, a training that died goes on from its checkpoint to the same model."""

from __future__ import annotations

import pytest

from tests.combinations.cells import Cell, Rows, draw_cells, fitted, name_of
from tests.combinations.test_same_for_all_teams import differ_most


@pytest.mark.parametrize("cell", differ_most(draw_cells(), 32), ids=name_of)
def test_a_training_cut_in_its_middle_ends_with_the_same_model(cell: Cell, tmp_path):
    rows, path = Rows.of(cell), tmp_path / "training.checkpoint"

    def make() -> tuple[str, int, dict]:
        made = fitted(cell, rows, checkpoint=path, checkpoint_every=0)
        return made.model_.fingerprint(), made.best_iteration_, made.evals_result_

    whole = make()
    for file in sorted(tmp_path.iterdir()):
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
        assert make() == whole
