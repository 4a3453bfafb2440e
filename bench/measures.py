"""Measure one contestant on one workload; each measure is a class whose ``once`` gives one number."""

from __future__ import annotations

import gc
import json
import os
import pickle
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bench.contestants import Contestant
from bench.data import ROOT, Split
from bench.workloads import Workload

WARM_ROWS = 300
LATENCY_CALLS = 100


class Trial(ABC):
    """Hold a contestant ready for one workload; creation does all that is not measured."""

    unit: ClassVar[str] = "s"
    fresh: ClassVar[bool] = False
    per_package: ClassVar[bool] = False

    def __init__(self, contestant: type[Contestant], workload: Workload, split: Split | None) -> None:
        self.contestant = contestant
        self.workload = workload
        self.loss: float | None = None
        self.details: dict[str, float] = {}
        if split is not None:
            self.split = split
            self.prepare()

    def prepare(self) -> None:
        """Fit a few rows, so that compilers have run and libraries are loaded."""
        s = self.split
        model = self.new()
        model.fit(s.X[:WARM_ROWS], s.y[:WARM_ROWS])
        model.predict(s.X_test[:WARM_ROWS])

    def new(self) -> Contestant:
        """Make an unfitted contestant."""
        return self.contestant(self.workload.settings, self.workload.data.task)

    @abstractmethod
    def once(self) -> float:
        """Measure once."""


class Fit(Trial):
    """Time a fit from raw arrays; the loss on the test rows stands beside it."""

    def once(self) -> float:
        """Fit, and score the first model."""
        model = self.new()
        elapsed = clock(lambda: model.fit(self.split.X, self.split.y))
        if self.loss is None:
            self.loss = held_out_loss(self.split.y_test, model.predict(self.split.X_test), self.workload.data.task)
        return elapsed


class Predict(Trial):
    """Time the prediction of all test rows at once."""

    def prepare(self) -> None:
        """Fit, and predict once to be warm."""
        self.model = self.new()
        self.model.fit(self.split.X, self.split.y)
        self.model.predict(self.split.X_test)

    def once(self) -> float:
        """Predict the test rows."""
        return clock(lambda: self.model.predict(self.split.X_test))


class Latency(Predict):
    """Time the prediction of a single row, one call after another."""

    def once(self) -> float:
        """Give the mean of many calls on different rows."""
        rows = [self.split.X_test[i : i + 1] for i in range(LATENCY_CALLS)]
        predict = self.model.row_predictor()
        predict(rows[0])

        def call_each() -> None:
            for row in rows:
                predict(row)

        return clock(call_each) / LATENCY_CALLS


class Import(Trial):
    """Time the import in a new process, with all that it brings along."""

    fresh = per_package = True

    def once(self) -> float:
        """Import in a child that reports its own time."""
        line = f"import time; t = time.perf_counter(); {self.contestant.importing}; print(time.perf_counter() - t)"
        return float(spawn([sys.executable, "-c", line], b"", self.workload.settings.threads))


class First(Trial):
    """Time a new process from its start to the end of its first prediction, with import, fit and exit."""

    fresh = per_package = True

    def once(self) -> float:
        """Run the child by the parent's clock."""
        start = time.perf_counter()
        self.child()
        return time.perf_counter() - start

    def child(self) -> dict[str, float]:
        """Make the rows, fit and predict one row in a new process; give its memory in MB."""
        job = pickle.dumps((self.contestant, self.workload))
        command = [sys.executable, "-m", "bench.child"]
        return json.loads(spawn(command, job, self.workload.settings.threads))


class Memory(First):
    """Measure how far the peak of a process that fits lies above the same process with the rows alone."""

    unit = "MB"
    per_package = False

    def once(self) -> float:
        """Give the difference; both figures are kept as details."""
        self.details = self.child()
        return self.details["peak_mb"] - self.details["data_mb"]


MEASURES: dict[str, type[Trial]] = {
    "fit": Fit,
    "predict": Predict,
    "latency": Latency,
    "import": Import,
    "first": First,
    "memory": Memory,
}


def clock(action: Callable[[], object]) -> float:
    """Time ``action`` after a pause in which threads of the previous contestant stop spinning."""
    gc.collect()
    time.sleep(0.05)
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def spawn(command: list[str], job: bytes, threads: int) -> bytes:
    """Run a child with a limit of threads and give the last line that it prints."""
    env = os.environ | {"OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(command, input=job, capture_output=True, cwd=ROOT, env=env, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace").strip().splitlines()[-1])
    return done.stdout.strip().splitlines()[-1]


def held_out_loss(y: np.ndarray, prediction: np.ndarray, task: str) -> float:
    """Give log loss for a binary task, else the root mean squared error."""
    truth, guess = y.astype(np.float64), np.asarray(prediction, dtype=np.float64)
    if task == "binary":
        p = np.clip(guess, 1e-15, 1 - 1e-15)
        return float(-np.mean(truth * np.log(p) + (1 - truth) * np.log1p(-p)))
    return float(np.sqrt(np.mean((truth - guess) ** 2)))
