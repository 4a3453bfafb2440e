"""In whole fits no kernel writes beside its arrays, nor does the model depend on what lies beside them."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodClassifier
from sapwood.native.runtime.kernel import Kernel
from tests.combinations.cells import Cell, Rows, draw_cells, fitted, name_of
from tests.combinations.test_same_for_all_teams import differ_most
from tests.native.runtime.canaries import StrayWriteError, surround

CELLS = differ_most(draw_cells(), 32)


def outcome(cell: Cell) -> tuple[str, bytes, bytes]:
    rows = Rows.of(cell)
    made = fitted(cell, rows, n_estimators=6).model_
    return made.fingerprint(), made.predict(rows.X).tobytes(), made.leaf_indices(rows.X).tobytes()


@pytest.mark.parametrize("cell", CELLS, ids=name_of)
def test_a_fit_between_canaries_is_the_same_and_harms_none(cell, monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", "2")
    plain = outcome(cell)
    calls = surround(monkeypatch.setattr)
    assert outcome(cell) == plain
    assert len(calls) > 5


def test_categories_between_canaries_are_the_same_and_harm_none(monkeypatch):
    source = np.random.default_rng(1)
    X = np.stack([source.integers(0, 9, 300).astype(str), source.choice(["a", "b"], 300)], axis=1).astype(object)
    y = np.isin(X[:, 0], ["1", "3", "8"]).astype(int)
    settings = {"n_estimators": 5, "category_encoding": "ordered"}
    plain = SapwoodClassifier(**settings).fit(X, y).model_.fingerprint()
    surround(monkeypatch.setattr)
    assert SapwoodClassifier(**settings).fit(X, y).model_.fingerprint() == plain


def test_a_stray_write_is_noticed(monkeypatch):
    def strays(values, out):
        out.base[-200] ^= 255

    kernel = Kernel(strays, ("f64[:], f64[:]",))
    monkeypatch.setenv("SAPWOOD_KERNELS", "python")
    surround(monkeypatch.setattr)
    with pytest.raises(StrayWriteError, match="strays wrote beside an array"):
        kernel(np.zeros(3), np.zeros(3))


def test_arrays_that_share_memory_still_do(monkeypatch):
    def copies(values, out):
        for i in range(len(values)):
            out[i] = 2 * values[i]

    kernel = Kernel(copies, ("f64[:], f64[:]",))
    monkeypatch.setenv("SAPWOOD_KERNELS", "python")
    surround(monkeypatch.setattr)
    values = np.ones(4)
    kernel(values[:-1], values[1:])
    assert values.tolist() == [1.0, 2.0, 4.0, 8.0]
