"""Whatever growth, search, loss, sampling, constraint and precision meet: it works, or the error says why not."""

from __future__ import annotations

import re

import numpy as np
import pytest

import sapwood
from sapwood.errors import ParameterError
from tests.combinations.cells import (
    KINDS,
    REFUSED,
    Cell,
    Rows,
    all_pairs,
    draw_cells,
    fitted,
    mean_losses,
    must_learn,
    name_of,
    pairs_in,
)

CELLS = draw_cells()


def test_any_two_choices_that_may_meet_do_so_in_a_cell():
    assert all_pairs() == set().union(*map(pairs_in, CELLS))


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_a_cell_trains_below_the_constant_and_its_file_is_the_same_model(cell: Cell, tmp_path):
    rows = Rows.of(cell)
    model = fitted(cell, rows).model_
    raw = model.predict_raw(rows.X)
    reached, constant = mean_losses(cell, rows, raw)
    assert np.isfinite(raw).all()
    assert np.isfinite(model.predict(rows.X)).all()
    assert reached < constant or not must_learn(cell)
    model.save(tmp_path / "model.sapwood")
    assert sapwood.load(tmp_path / "model.sapwood").fingerprint() == model.fingerprint()


@pytest.mark.parametrize("two", REFUSED, ids=str)
def test_a_pair_that_cannot_work_is_refused_with_both_names_and_the_reason(two):
    plain = {kind: next(iter(choices)) for kind, choices in KINDS.items()}
    cell = plain | {"objective": "Squared()"} | dict(two)
    with pytest.raises(ParameterError) as caught:
        fitted(cell, Rows.of(cell))
    for parameter, _ in two:
        assert parameter in str(caught.value)
    assert re.search(r" is not supported with .*: .*; (use|unset) ", str(caught.value))
