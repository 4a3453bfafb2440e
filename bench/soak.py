"""Soak tests: ``python -m bench.soak threads|fits|processes [amount]``.

- ``threads 60``: for so many seconds 20 threads predict with one model while two others fit; every result is compared.
- ``fits 1000``: so many fits in a row; memory and threads must not grow.
- ``processes 50``: 8 processes of 8 threads with so many rounds each, together and one after the other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np

from sapwood import SapwoodClassifier, SapwoodRegressor
from sapwood.native.system.cpu_count import usable_cpus

N_PREDICTING, N_FITTING, N_PROCESSES, N_THREADS = 20, 2, 8, 8


def table(n_rows: int, n_features: int = 8) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    return X, X[:, 0] - X[:, 1] ** 2


def threads(seconds: float) -> None:
    X, y = table(3000)
    model = SapwoodRegressor(n_estimators=40, n_jobs=1).fit(X, y)
    one = model.model_.predictor()
    shapes = [1, 7, 300, 3000]
    expected = {n: model.predict(X[:n]).tobytes() for n in shapes}
    row = one.predict(X[5])
    print_of = [
        SapwoodRegressor(n_estimators=10, subsample=0.8, random_state=k, n_jobs=1).fit(X, y).model_.fingerprint()
        for k in range(N_FITTING)
    ]  # fmt: skip
    end, wrong, counts = time.monotonic() + seconds, [], [0] * (N_PREDICTING + N_FITTING)

    def predict(me: int) -> None:
        while time.monotonic() < end and not wrong:
            n = shapes[(counts[me] + me) % len(shapes)]
            if model.predict(X[:n]).tobytes() != expected[n] or one.predict(X[5]) != row:
                wrong.append(f"thread {me} predicted something else for {n} rows")
            counts[me] += 1

    def fit(me: int) -> None:
        k = me - N_PREDICTING
        while time.monotonic() < end and not wrong:
            made = SapwoodRegressor(n_estimators=10, subsample=0.8, random_state=k).fit(X, y).model_
            if made.fingerprint() != print_of[k]:
                wrong.append(f"thread {me} made another model")
            counts[me] += 1

    running = [threading.Thread(target=predict, args=(k,)) for k in range(N_PREDICTING)]
    running += [threading.Thread(target=fit, args=(N_PREDICTING + k,)) for k in range(N_FITTING)]
    for one_thread in running:
        one_thread.start()
    for one_thread in running:
        one_thread.join()
    predictions, fits = sum(counts[:N_PREDICTING]), sum(counts[N_PREDICTING:])
    print(f"{predictions} predictions and {fits} fits in {seconds:g} s: {wrong[0] if wrong else 'all the same'}")
    sys.exit(bool(wrong))


def resident() -> float:
    """Megabytes of memory in use."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def fits(n_fits: int) -> None:
    os.environ["SAPWOOD_TEAM"] = "4"
    X, y = table(500)
    labels = np.digitize(y, [-1.0, 0.5])
    warm = None
    for k in range(n_fits):
        model = SapwoodClassifier(n_estimators=3, early_stopping_rounds=2, max_leaves=8)
        model.fit(X, labels)
        model.predict_proba(X)
        if k == n_fits // 10:
            warm = resident(), threading.active_count()
        if (k + 1) % max(1, n_fits // 10) == 0:
            print(f"{k + 1:5} fits: {resident():.1f} MB, {threading.active_count()} threads", flush=True)
    assert warm is not None
    grown, more = resident() - warm[0], threading.active_count() - warm[1]
    print(f"grown by {grown:.2f} MB and {more} threads since fit {n_fits // 10}")
    sys.exit(grown > 4.0 or more > 0)


def child(n_rounds: int) -> None:
    X, y = table(30_000, 20)
    SapwoodRegressor(n_estimators=1).fit(X[:1000], y[:1000])
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.process_time()
    SapwoodRegressor(n_estimators=n_rounds, n_jobs=N_THREADS).fit(X, y)
    print(time.process_time() - began, flush=True)


def started(n_rounds: int, size: int | None) -> list[subprocess.Popen[str]]:
    settings = {} if size is None else {"SAPWOOD_TEAM": str(size)}
    command = [sys.executable, "-m", "bench.soak", "child", str(n_rounds)]
    children = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings}
        )
        for _ in range(N_PROCESSES)
    ]
    for one in children:
        assert one.stdout is not None
        one.stdout.readline()
    return children


def run(children: list[subprocess.Popen[str]]) -> float:
    """Run child processes at the same time; return the CPU seconds they took."""
    for one in children:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    return sum(float(one.stdout.readline()) for one in children if one.stdout is not None)


def processes(n_rounds: int) -> None:
    """As the machine allows (``n_jobs=8``), and with 8 threads whatever it has."""
    for size in (None, N_THREADS):
        children = started(n_rounds, size)
        began = time.perf_counter()
        cpu_apart = sum(run([one]) for one in children)
        apart = time.perf_counter() - began
        children = started(n_rounds, size)
        began = time.perf_counter()
        cpu_together = run(children)
        together = time.perf_counter() - began
        team = f"{min(N_THREADS, usable_cpus())} members" if size is None else f"{size} members, forced"
        print(
            f"{N_PROCESSES} processes, {team}: {apart:.2f} s one after the other (CPU {cpu_apart:.2f}), "
            f"{together:.2f} s together (CPU {cpu_together:.2f}), {together / apart:.2f} times",
            flush=True,
        )


WAYS = {"threads": threads, "fits": fits, "processes": processes, "child": child}

if __name__ == "__main__":
    DEFAULT = {"threads": 60, "fits": 1000, "processes": 50}
    WAYS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else DEFAULT[sys.argv[1]])
