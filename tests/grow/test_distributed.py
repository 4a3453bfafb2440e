"""The step-by-step grower of several workers: the trees of the grower that needs one call."""

from __future__ import annotations

import numpy as np
import pytest

from sapwood import SapwoodRegressor, distributed
from sapwood.distributed import Communicator
from sapwood.grow import workspace
from tests.distributed.worker_threads import run_workers
from tests.grow.test_workspace import SHAPES, table


@pytest.mark.parametrize("by", ["rows", "features"])
@pytest.mark.parametrize("given", SHAPES, ids=str)
def test_a_small_pool_of_histograms_grows_the_same_trees(given, by, monkeypatch):
    X, y = table()
    params = {"n_estimators": 3, "max_leaves": 40, "min_child_samples": 3, "n_jobs": 1, **given}
    expected = SapwoodRegressor(**params).fit(X, y).model_.fingerprint()

    def work(communicator: Communicator) -> str:
        rows = np.array_split(np.arange(len(y)), 2)[communicator.rank] if by == "rows" else slice(None)
        return distributed.fit(SapwoodRegressor(**params), X[rows], y[rows], communicator, by=by).model_.fingerprint()

    for n_histograms in (2, 3, 7):
        monkeypatch.setattr(workspace, "pool_size", lambda *sizes, n=n_histograms: n)
        assert set(run_workers(2, work)) == {expected}
