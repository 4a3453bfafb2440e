"""The step-by-step grower of several workers: the trees of the grower that needs one call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor, distributed
from sapwood.distributed import Communicator
from sapwood.grow import distributed as grower
from sapwood.grow import histogram_exchange, workspace
from tests.distributed.worker_threads import run_workers
from tests.grow.test_workspace import SHAPES, table

GROWTHS: dict[str, dict[str, Any]] = {
    "leafwise": {"max_leaves": 31},
    "levelwise": {"max_leaves": 31, "growth": "levelwise"},
    "symmetric": {"max_leaves": None, "growth": "symmetric", "max_depth": 5},
}
N_TREES, N_FEATURES = 4, 6


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


def make_rows(n: int = 12_000) -> tuple[np.ndarray, np.ndarray]:
    """Rows with a product, a square and a step, for which leafwise trees are neither balanced nor chains."""
    random = np.random.default_rng(5)
    X = random.normal(size=(n, N_FEATURES))
    y = 2.0 * X[:, 0] + X[:, 1] ** 2 + X[:, 2] * X[:, 3] + 2.0 * (X[:, 4] > 0.7)
    return X, y + random.normal(size=n)


def fit_on_rows(size: int, params: dict[str, Any]) -> list[tuple[str, Communicator]]:
    """The fingerprint and the communicator of each of some workers with rows of their own."""
    X, y = make_rows()

    def work(communicator: Communicator) -> tuple[str, Communicator]:
        rows = np.array_split(np.arange(len(y)), communicator.size)[communicator.rank]
        model = distributed.fit(SapwoodRegressor(n_estimators=N_TREES, **params), X[rows], y[rows], communicator)
        return model.model_.fingerprint(), communicator

    return run_workers(size, work)


def of_trees(counted: dict[str, Any]) -> dict[str, Any]:
    """What was counted while trees grew."""
    return {name: n for name, n in counted.items() if name in ("scales", "leaves") or name.startswith("level")}


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("growth", GROWTHS)
def test_a_tree_of_31_leaves_takes_at_most_30_exchanges(growth, size, monkeypatch):
    X, y = make_rows()
    monkeypatch.setattr(histogram_exchange, "MAX_MORE_BYTES", 0)
    alone = SapwoodRegressor(n_estimators=N_TREES, **GROWTHS[growth]).fit(X, y).model_.fingerprint()
    for fingerprint, communicator in fit_on_rows(size, GROWTHS[growth]):
        assert fingerprint == alone
        assert sum(of_trees(communicator.exchanges).values()) <= 30 * N_TREES


@pytest.mark.parametrize("size", [2, 3, 4])
def test_workers_that_send_whole_histograms_need_half_the_exchanges(size):
    for _, communicator in fit_on_rows(size, GROWTHS["leafwise"]):
        assert sum(of_trees(communicator.exchanges).values()) <= 17 * N_TREES


def fit_counted(max_candidates: int, monkeypatch: pytest.MonkeyPatch) -> tuple[set[str], int]:
    """The fingerprints of two workers that count the rows of many children, and the exchanges of a tree."""
    X, y = make_rows()
    params = {"max_leaves": 31, "min_child_samples": 100, "n_estimators": N_TREES, "objective": "log_cosh"}

    def work(communicator: Communicator) -> tuple[str, int]:
        rows = np.array_split(np.arange(len(y)), 2)[communicator.rank]
        model = distributed.fit(SapwoodRegressor(**params), X[rows], y[rows], communicator)
        return model.model_.fingerprint(), sum(of_trees(communicator.exchanges).values())

    monkeypatch.setattr(grower, "MAX_DEFERRED_CANDIDATES", max_candidates)
    of_workers = [(SapwoodRegressor(**params).fit(X, y).model_.fingerprint(), 0), *run_workers(2, work)]
    return {fingerprint for fingerprint, _ in of_workers}, of_workers[1][1]


def test_rows_of_small_children_are_counted_by_the_exchange_of_other_leaves(monkeypatch):
    at_once, n_at_once = fit_counted(0, monkeypatch)
    deferred, n_deferred = fit_counted(grower.MAX_BATCH_CANDIDATES, monkeypatch)
    assert at_once == deferred
    assert len(deferred) == 1
    assert n_deferred < 0.9 * n_at_once


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("max_more_bytes", [0, histogram_exchange.MAX_MORE_BYTES])
def test_workers_send_the_bytes_that_the_documented_formula_gives(size, max_more_bytes, monkeypatch):
    monkeypatch.setattr(histogram_exchange, "MAX_MORE_BYTES", max_more_bytes)
    n_bytes = 8 * 256 * N_FEATURES  # of a packed histogram
    expected = 30 * n_bytes * (size - 1)
    if max_more_bytes == 0:
        expected = expected / size + 60 * 120 * (size - 1)  # histograms, splits of children
    of_workers = fit_on_rows(size, GROWTHS["leafwise"] | {"precision": "packed"})
    sent = [n for _, worker in of_workers for name, n in worker.sent.items() if name.startswith("level")]
    assert 0.9 * expected <= sum(sent) / size / N_TREES <= 1.1 * expected


@pytest.mark.parametrize("members", ["1", "3"])
@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("max_more_bytes", [0, histogram_exchange.MAX_MORE_BYTES])
def test_whole_histograms_and_slices_of_them_give_the_same_trees(growth, max_more_bytes, members, monkeypatch):
    X, y = make_rows()
    alone = SapwoodRegressor(n_estimators=N_TREES, **GROWTHS[growth]).fit(X, y).model_.fingerprint()
    monkeypatch.setenv("SAPWOOD_TEAM", members)
    monkeypatch.setattr(histogram_exchange, "MAX_MORE_BYTES", max_more_bytes)
    assert {fingerprint for fingerprint, _ in fit_on_rows(2, GROWTHS[growth])} == {alone}


def test_large_batches_are_exchanged_in_parts(monkeypatch):
    X, y = make_rows()
    for growth in ("levelwise", "symmetric"):
        alone = SapwoodRegressor(n_estimators=N_TREES, **GROWTHS[growth]).fit(X, y).model_.fingerprint()
        monkeypatch.setattr(grower, "MAX_BATCH_BYTES", 0)
        assert {fingerprint for fingerprint, _ in fit_on_rows(3, GROWTHS[growth])} == {alone}


@pytest.mark.parametrize("seed", [5, 7, 26, 34])
def test_leaves_next_to_the_deepest_ones_are_split_as_on_one_machine(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2000, 5)).round()
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=2000) > 0).astype(float)
    params: dict[str, Any] = {"n_estimators": 4, "effort": "fast", "max_leaves": 31, "max_depth": 6, "n_jobs": 1}
    alone = SapwoodClassifier(**params).fit(X, y).model_.fingerprint()

    def work(communicator: Communicator) -> str:
        rows = np.arange(communicator.rank, len(X), communicator.size)
        model = SapwoodClassifier(**params)
        fitted = distributed.fit(model, X[rows], y[rows], communicator, row_numbers=rows)
        return fitted.model_.fingerprint()

    for size in (1, 2):
        assert run_workers(size, work) == [alone] * size
