"""Fits and predictions in many threads and processes at once, inside one another, are those of one thread."""

from __future__ import annotations

import gc
import os
import threading
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.cached_property import cached_property
from sapwood.model.io.serialize import from_bytes, to_bytes
from tests.native.threads.small_fits import X, Y, fingerprint


def test_twenty_threads_predict_with_one_model_while_two_fit(monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", "2")
    model = SapwoodRegressor(n_estimators=20).fit(X, Y).model_
    one = model.predictor()
    row = one.predict(X[3])
    expected = {n: model.predict(X[:n]).tobytes() for n in (1, 50, 600)}
    prints = [fingerprint(seed) for seed in range(2)]
    end = time.monotonic() + 2.0

    def predict(n: int) -> bool:
        same = True
        while same and time.monotonic() < end:
            same = model.predict(X[:n]).tobytes() == expected[n] and one.predict(X[3]) == row
        return same

    def fit(seed: int) -> bool:
        same = True
        while same and time.monotonic() < end:
            same = fingerprint(seed) == prints[seed]
        return same

    with ThreadPoolExecutor(22) as pool:
        fitting = [pool.submit(fit, seed) for seed in range(2)]
        predicting = [pool.submit(predict, (1, 50, 600)[k % 3]) for k in range(20)]
        assert all(future.result() for future in fitting + predicting)


def test_threads_that_ask_a_fresh_model_first_get_the_same():
    """What a model prepares for prediction is prepared by whoever comes first, without waiting."""
    fitted = SapwoodRegressor(n_estimators=5).fit(X, Y)
    data, expected = to_bytes(fitted.model_), fitted.predict(X).tobytes()
    for _ in range(10):
        model = from_bytes(data)
        barrier = threading.Barrier(8)

        def ask(model=model, barrier=barrier) -> bytes:
            barrier.wait()
            return model.predict(X).tobytes()

        with ThreadPoolExecutor(8) as pool:
            assert {future.result() for future in [pool.submit(ask) for _ in range(8)]} == {expected}


def test_what_is_computed_once_makes_nobody_wait():
    is_inside, may_end = threading.Event(), threading.Event()

    class Slow:
        @cached_property
        def value(self) -> int:
            is_inside.set()
            may_end.wait(10)
            return 1

    first, second = Slow(), Slow()
    waiting = threading.Thread(target=lambda: first.value)
    waiting.start()
    is_inside.wait(10)
    may_end.set()
    assert second.value == 1
    waiting.join()
    assert first.__dict__["value"] == 1


# --- processes --------------------------------------------------------------------------------------------------------

PROCESSES = """
import multiprocessing, sys
from tests.native.threads.small_fits import fingerprint, in_threads
if __name__ == "__main__":
    first = fingerprint()
    for kind in sys.argv[1:]:
        with multiprocessing.get_context(kind).Pool(2) as pool:
            assert set(pool.map(fingerprint, [0] * 4)) == {first}, kind
            assert set(pool.map(in_threads, [2])) == {first}, kind
    assert fingerprint() == first
"""


@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_processes_of_every_kind_make_the_same_model(start, tmp_path, kind):
    script = tmp_path / "script.py"
    script.write_text(PROCESSES)
    process = start(script, kind, SAPWOOD_TEAM="3")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


FORKED_WHILE_OTHERS_WORK = """
import os, sys, threading
from tests.native.threads.small_fits import X, Y, fingerprint
from sapwood import SapwoodRegressor
first = fingerprint()
model = SapwoodRegressor(n_estimators=5).fit(X, Y)
answer = model.predict(X).tobytes()
is_over = False
def work():
    while not is_over:
        fingerprint()
        SapwoodRegressor(n_estimators=5).fit(X, Y).predict(X)
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads: thread.start()
codes = []
for _ in range(6):
    child = os.fork()
    if child == 0:
        os._exit(0 if fingerprint() == first and model.predict(X).tobytes() == answer else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
is_over = True
for thread in threads: thread.join()
assert codes == [0] * 6, codes
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_while_threads_work_fits_and_predicts(start):
    process = start("-c", FORKED_WHILE_OTHERS_WORK, SAPWOOD_TEAM="3")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


JOBLIB = """
import sys, warnings
from joblib import Parallel, delayed, parallel_config
from tests.native.threads.small_fits import fingerprint
first = fingerprint()
def inner(backend):
    with parallel_config(backend=backend, n_jobs=2):
        return Parallel()(delayed(fingerprint)() for _ in range(2))
for outer in ("loky", "threading"):
    for backend in ("threading", "loky"):
        found = Parallel(n_jobs=2, backend=outer)(delayed(inner)(backend) for _ in range(2))
        assert {one for part in found for one in part} == {first}, (outer, backend)
"""


def test_joblib_of_every_kind_inside_every_other_makes_the_same_model(start):
    process = start("-c", JOBLIB)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


# --- nothing is left behind -------------------------------------------------------------------------------------------


def test_memory_does_not_grow_over_many_fits(monkeypatch):
    monkeypatch.setenv("SAPWOOD_TEAM", "3")
    y = np.digitize(Y, [-1.0, 0.5])

    def fit(times: int) -> int:
        for _ in range(times):
            SapwoodClassifier(n_estimators=2, early_stopping_rounds=2, max_leaves=4).fit(X, y).predict_proba(X)
        gc.collect()  # what waits for the collector is not left behind
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        sizes = [fit(30) for _ in range(4)]
    finally:
        tracemalloc.stop()
    grown = min(np.diff(sizes))  # other threads of this process may allocate meanwhile
    assert grown < 30 * 2000, "a fit leaves more than 2 kB behind"
