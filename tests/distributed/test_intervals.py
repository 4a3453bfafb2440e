"""Prediction intervals that workers train together are those of one machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sapwood import SapwoodRegressor, distributed
from sapwood.boost import intervals
from sapwood.distributed import Communicator
from sapwood.errors import InputError
from tests.distributed.test_totals import fit_alone, fit_together, make_data
from tests.distributed.worker_threads import rows_of, run_workers

SHORT = {"n_estimators": 4, "early_stopping_rounds": 2}
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "weights": {"weighted": True},
    "groups": {"groups": np.arange(400) % 23},
    "few groups": {"groups": np.arange(400) % 3},
    "offsets": {"init_score": np.linspace(-1.0, 1.0, 400)},
}


@pytest.fixture(autouse=True)
def short_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "MODEL_PARAMS", intervals.MODEL_PARAMS | SHORT)


@pytest.mark.parametrize("name", CASES)
def test_workers_train_the_intervals_of_one(name: str) -> None:
    more = dict(CASES[name])
    data = make_data("numbers", more.pop("weighted", False)) | more
    params = {"intervals": 0.8, "n_estimators": 2}
    alone = fit_alone(data, params).model_
    for size in (1, 2, 3) if name == "plain" else (3,):
        for fitted, _ in fit_together(data, params, size):
            np.testing.assert_array_equal(fitted.model_.intervals.excess, alone.intervals.excess)
            assert fitted.model_.fingerprint() == alone.fingerprint()
            assert fitted.model_.intervals.model.fingerprint() == alone.intervals.model.fingerprint()


def test_workers_that_search_features_train_the_intervals_of_one() -> None:
    data, params = make_data("numbers"), {"intervals": True, "n_estimators": 2, "effort": "fast"}
    alone = SapwoodRegressor(**params).fit(data["X"], data["y"]).model_

    def work(communicator: Communicator) -> Any:
        return distributed.fit(SapwoodRegressor(**params), data["X"], data["y"], communicator, by="features").model_

    for model in run_workers(2, work):
        assert model.fingerprint() == alone.fingerprint()


def test_rows_of_all_workers_are_counted() -> None:
    """Twelve rows at each of two workers are enough, nine are too few."""

    def fit(communicator: Communicator, n: int) -> Any:
        rows = rows_of(n, communicator.rank, 2)
        model = SapwoodRegressor(intervals=True, effort="fast", n_estimators=2)
        y = np.arange(float(n))
        return distributed.fit(model, y[rows, None], y[rows], communicator, row_numbers=rows)

    for fitted in run_workers(2, lambda communicator: fit(communicator, 24)):
        assert len(fitted.model_.intervals.excess) == 24
    with pytest.raises(InputError, match="at least 20 rows, and there are 18"):
        run_workers(2, lambda communicator: fit(communicator, 18))
