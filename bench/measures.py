"""Measure one library on one workload; each measure is a class whose ``once`` returns one number."""

from __future__ import annotations

import gc
import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import numpy as np

from bench.contestant import Contestant
from bench.data import ROOT, Series, Split
from bench.workloads import Workload

WARM_ROWS = 300
LATENCY_CALLS = 100
# What a number of threads is compared with.
FEWER = {2: 1, 8: 2}


class Trial(ABC):
    """A library prepared for one workload; the constructor does all that is not measured."""

    unit: ClassVar[str] = "s"
    fresh: ClassVar[bool] = False
    per_package: ClassVar[bool] = False
    has_ratio: ClassVar[bool] = True
    more_is_better: ClassVar[bool] = False

    def __init__(self, contestant: type[Contestant], workload: Workload, split: Split | None) -> None:
        self.contestant = contestant
        self.workload = workload
        self.loss: float | None = None
        self.details: dict[str, float] = {}
        if split is not None:
            self.split = split
            self.prepare()

    @classmethod
    def takes(cls, contestant: type[Contestant]) -> bool:
        """Return whether the measure applies to a library."""
        return not (cls.per_package and contestant.variant)

    def prepare(self) -> None:
        """Fit a few rows, so that JIT compilers have run and libraries are loaded."""
        s = self.split
        model = self.new()
        model.fit(s.X[:WARM_ROWS], s.y[:WARM_ROWS])
        model.predict(s.X_test[:WARM_ROWS])

    def new(self) -> Contestant:
        """Return an unfitted contestant."""
        return self.contestant(self.workload.settings, self.workload.data.task)

    @abstractmethod
    def once(self) -> float:
        """Measure once."""


class Fit(Trial):
    """Time a fit from raw arrays, and evaluate the loss on the test rows."""

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
        """Fit, and predict once as a warm-up."""
        self.model = self.new()
        self.model.fit(self.split.X, self.split.y)
        self.model.predict(self.split.X_test)

    def once(self) -> float:
        """Predict the test rows."""
        return clock(lambda: self.model.predict(self.split.X_test))


class Latency(Predict):
    """Time the prediction of a single row, one call after another, by the function that predicts tables."""

    def once(self) -> float:
        """Return the mean of many calls on different rows."""
        rows = [self.split.X_test[i : i + 1] for i in range(LATENCY_CALLS)]
        predict = self.predictor()
        predict(rows[0])

        def call_each() -> None:
            for row in rows:
                predict(row)

        return clock(call_each) / LATENCY_CALLS

    def predictor(self) -> Callable[[np.ndarray], object]:
        """Return the function that is timed."""
        return self.model.predict


class Prepared(Latency):
    """Time the prediction of a single row by the library's own function for that."""

    @classmethod
    def takes(cls, contestant: type[Contestant]) -> bool:
        """Return whether the library has such a function."""
        return contestant.row_predictor is not Contestant.row_predictor

    def predictor(self) -> Callable[[np.ndarray], object]:
        """Return the function that is timed."""
        return self.model.row_predictor()


class Speedup(Trial):
    """Measure the speed-up of a fit with the threads of the settings over one with ``FEWER``."""

    unit = "times"
    has_ratio = False
    more_is_better = True

    def once(self) -> float:
        """Fit with fewer threads and with all."""
        s = self.split
        few, all_ = (
            self.contestant(replace(self.workload.settings, threads=n), self.workload.data.task)
            for n in (FEWER[self.workload.settings.threads], self.workload.settings.threads)
        )
        return clock(lambda: few.fit(s.X, s.y)) / clock(lambda: all_.fit(s.X, s.y))


class Exponent(Trial):
    """Fit tables of growing size; measure the slope of log time over log size."""

    unit = "power"
    has_ratio = False

    def once(self) -> float:
        """Return the slope; the times are stored as details."""
        series = self.workload.data
        assert isinstance(series, Series)
        times = []
        for table in series.tables:
            split, model = table.load(), self.new()
            times.append(clock(lambda split=split, model=model: model.fit(split.X, split.y)))  # type: ignore[misc]
        self.details = {f"seconds_{size}": seconds for size, seconds in zip(series.sizes, times, strict=True)}
        return float(np.polyfit(np.log(series.sizes), np.log(times), 1)[0])


class Import(Trial):
    """Time the import in a new process, dependencies included."""

    fresh = per_package = True

    def once(self) -> float:
        """Import in a child process that reports its own time."""
        line = f"import time; t = time.perf_counter(); {self.contestant.importing}; print(time.perf_counter() - t)"
        return float(spawn([sys.executable, "-c", line], b"", self.workload.settings.threads))


class First(Trial):
    """Time a new process from its start to the end of its first prediction, with import, fit and exit."""

    fresh = per_package = True

    def once(self) -> float:
        """Run the child process, timed by the parent."""
        start = time.perf_counter()
        self.child()
        return time.perf_counter() - start

    def child(self) -> dict[str, float]:
        """Make the rows, fit and predict one row in a new process; return its memory in MB."""
        job = pickle.dumps((self.contestant, self.workload))
        command = [sys.executable, "-m", "bench.child"]
        return json.loads(spawn(command, job, self.workload.settings.threads))


class Reopen(Trial):
    """Time a new process from its start to the end of its first prediction with a saved model, import and exit too."""

    per_package = True

    def prepare(self) -> None:
        """Fit and save."""
        directory = tempfile.mkdtemp()
        weakref.finalize(self, shutil.rmtree, directory)
        ending = "ubj" if self.contestant.package == "xgboost" else "model"  # XGBoost looks at the ending
        self.path = str(Path(directory) / f"saved.{ending}")
        model = self.new()
        model.fit(self.split.X, self.split.y)
        model.save(self.path)

    def once(self) -> float:
        """Run the child process, timed by the parent."""
        row = f"import numpy; path = {self.path!r}; row = numpy.zeros((1, {self.split.X.shape[1]}), numpy.float32)"
        command = [sys.executable, "-c", f"{row}; {self.contestant.reopening}; print('done')"]
        start = time.perf_counter()
        spawn(command, b"", self.workload.settings.threads)
        return time.perf_counter() - start


class Size(Trial):
    """Measure the compressed size of a package's files in a wheel, without dependencies."""

    unit = "MB"
    fresh = per_package = True

    def once(self) -> float:
        """Compress every file as a wheel does."""
        return sum(len(zlib.compress(path.read_bytes())) for path in package_files(self.contestant.package)) / 1e6


def package_files(package: str) -> list[Path]:
    """Return the files of an installed package, with the libraries in its wheel."""
    spec = find_spec(package)
    assert spec is not None and spec.origin is not None
    home = Path(spec.origin).parent
    bundled = home.parent / ("scikit_learn.libs" if package == "sklearn" else f"{package}.libs")
    files = [path for place in (home, bundled) for path in place.rglob("*") if path.is_file()]
    return [path for path in files if path.suffix != ".pyc" and not is_stale(path)]


def is_stale(path: Path) -> bool:
    """Return whether a file is a native library of Sapwood that was built from other sources."""
    if path.parent.name != "lib" or not path.name.startswith("sapwood-"):
        return False
    from sapwood.native.compiler.sources import source_hash

    return source_hash() not in path.name


class Memory(First):
    """Measure the peak memory of a process that fits, minus that of a process with the rows only."""

    unit = "MB"
    per_package = False

    def once(self) -> float:
        """Return the difference; both figures are stored as details."""
        self.details = self.child()
        return self.details["peak_mb"] - self.details["data_mb"]


MEASURES: dict[str, type[Trial]] = {
    "fit": Fit,
    "predict": Predict,
    "latency": Latency,
    "prepared": Prepared,
    "import": Import,
    "first": First,
    "reopen": Reopen,
    "size": Size,
    "speedup": Speedup,
    "exponent": Exponent,
    "memory": Memory,
}


def clock(action: Callable[[], object]) -> float:
    """Time ``action`` after a pause in which threads of the previous library stop spinning."""
    gc.collect()
    time.sleep(0.05)
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def spawn(command: list[str], job: bytes, threads: int) -> bytes:
    """Run a child process with a limit of threads and return the last line that it prints."""
    env = os.environ | {"OMP_NUM_THREADS": str(threads)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    done = subprocess.run(command, input=job, capture_output=True, cwd=ROOT, env=env, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace").strip().splitlines()[-1])
    return done.stdout.strip().splitlines()[-1]


def held_out_loss(y: np.ndarray, prediction: np.ndarray, task: str) -> float:
    """Return log loss for classes, else the root mean squared error."""
    truth, guess = y.astype(np.float64), np.asarray(prediction, dtype=np.float64)
    if task == "binary":
        p = np.clip(guess, 1e-15, 1 - 1e-15)
        return float(-np.mean(truth * np.log(p) + (1 - truth) * np.log1p(-p)))
    if task == "multiclass":
        return float(-np.mean(np.log(np.clip(guess[np.arange(len(y)), y.astype(int)], 1e-15, 1.0))))
    return float(np.sqrt(np.mean((truth - guess) ** 2)))
