"""Workers simulated in one process send what the formulas say, and train the model of one machine."""

from __future__ import annotations

import pytest
from bench.scale import simulate


@pytest.mark.parametrize("n_workers", [2, 6, 16])
def test_simulated_workers_send_what_the_formulas_say(n_workers: int) -> None:
    found = simulate(n_workers, n_rows=20_000, n_trees=2)
    assert found.is_same
    for purpose in ("scales", "leaves"):
        assert found.traffic[purpose][0] == found.traffic[purpose][1]
    counted, estimate = found.traffic["levels"]
    assert counted.n_bytes == pytest.approx(found.formula.n_bytes, rel=0.05)
    assert counted.n_bytes == pytest.approx(estimate.n_bytes, rel=0.3)
    assert counted.exchanges == pytest.approx(found.formula.exchanges, rel=0.5)  # rows of small children are counted
    assert found.traffic["edges"][0].n_bytes == pytest.approx(found.traffic["edges"][1].n_bytes, rel=0.05)
