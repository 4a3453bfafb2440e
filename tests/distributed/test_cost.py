"""The cost of a distributed fit is estimated by formulas, here with examples computed by hand."""

from __future__ import annotations

import logging

import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.distributed import estimate_cost
from sapwood.distributed.cost import Collectives, Histogram, Traffic, level_traffic, log_attempt
from sapwood.distributed.partitions import PartitionFacts


def test_collectives_of_few_workers_send_to_all_at_once() -> None:
    four = Collectives(4)
    assert four.gather(10) == Traffic(30, 1, 3)
    assert four.choose(16) == Traffic(48, 1, 3)
    assert four.sum(16) == Traffic(48, 1, 3)
    assert four.reduce_scatter(400) == Traffic(300, 1, 3)
    assert four.sum(8000) == Traffic(6000 + 3 * 2000, 2, 6)


def test_collectives_of_many_workers_take_steps() -> None:
    sixteen = Collectives(16)
    assert sixteen.gather(10) == Traffic(15 * 18, 4, 4)
    assert sixteen.sum(16) == Traffic(64, 4, 4)
    assert sixteen.reduce_scatter(1600) == Traffic(1500, 4, 4)
    assert sixteen.choose(16) == Traffic(4 * 24, 4, 4)
    assert Collectives(17).sum(16) == Traffic(16 * 6, 6, 6)


def test_a_worker_that_is_alone_sends_nothing() -> None:
    cost = estimate_cost(SapwoodRegressor(), 1000, 3, 1)
    assert cost.tree.n_bytes == cost.tree.messages == cost.once.n_bytes == 0


def test_two_workers_send_each_other_whole_histograms() -> None:
    small = Histogram(100, 1)
    # 5 histograms of 800 bytes, and with them 4 ranges of hessians and 5 numbers of rows.
    assert level_traffic(Collectives(2), small, 5, 3) == Traffic(5 * 800 + 8 * (4 + 5), 3, 3)


def test_memory_is_that_of_the_rows_of_one_worker() -> None:
    costs = [estimate_cost(SapwoodClassifier(max_leaves=31), 10**6, 28, r) for r in (1, 10)]
    histograms = 31 * 8 * 28 * 264
    assert costs[0].memory == 10**6 * (2 * 28 + 40) + histograms
    assert costs[1].memory == 10**5 * (2 * 28 + 40) + histograms


@pytest.mark.parametrize(
    "params", [{"max_leaves": None, "max_depth": 6}, {"growth": "symmetric"}, {"max_bins": [9, 99]}]
)
def test_parameters_of_all_kinds_have_a_cost(params: dict[str, object]) -> None:
    assert estimate_cost(SapwoodRegressor(**params), 10**6, 2, 4).tree.n_bytes > 0


def test_leaves_that_are_drawn_by_node_take_more_exchanges() -> None:
    usual, drawn = (
        estimate_cost(SapwoodRegressor(growth="leafwise", colsample_bynode=share), 10**6, 28, 4) for share in (1.0, 0.5)
    )
    assert drawn.tree.exchanges > 2 * usual.tree.exchanges


def test_the_first_attempt_is_logged_with_its_cost(caplog: pytest.LogCaptureFixture) -> None:
    logger, facts = logging.getLogger("sapwood.test"), [PartitionFacts(500, None, "", None, 3)] * 2
    with caplog.at_level(logging.INFO, "sapwood.test"):
        log_attempt(logger, 0, SapwoodRegressor(n_estimators=7), facts, 2)
        log_attempt(logger, 1, SapwoodRegressor(n_estimators=7), facts, 2)
    first, cost, second = (record.getMessage() for record in caplog.records)
    assert (first, second) == ("attempt 1: 1000 rows on 2 workers", "attempt 2: 1000 rows on 2 workers")
    assert cost.startswith("2 workers: each sends about ")
    assert "7 trees" in cost
