"""Tables that workloads run on: synthetic ones of any size, real ones from a directory."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
TABLES = Path(os.environ.get("SAPWOOD_BENCH_DATA", ROOT.parent / "shared" / "data"))


class UnavailableError(Exception):
    """A table is not available on this machine."""


@dataclass(frozen=True)
class Split:
    """Training and test rows: float32 features, float32 targets."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Source(Protocol):
    """Rows of a workload; ``task`` is "binary", "multiclass" or "regression"."""

    @property
    def task(self) -> str:
        """Return the task."""

    def load(self) -> Split:
        """Make or read the rows, or raise UnavailableError."""


@dataclass(frozen=True)
class Synthetic:
    """Random dense numeric rows whose target depends on products, waves, steps and gated slopes of a few columns."""

    rows: int
    features: int = 28
    task: str = "binary"
    test_rows: int = 20_000

    def load(self) -> Split:
        """Draw the training rows from one seed and the test rows from another."""
        return Split(*self._draw(self.rows, seed=0), *self._draw(self.test_rows, seed=1))

    def _draw(self, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        # Everything of the size of X happens in place: peak memory is measured against the size of the data.
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((rows, self.features), dtype=np.float32)
        half = self.features // 2
        skewed = X[:, half:]
        skewed *= np.float32(0.7)
        np.exp(skewed, out=skewed)
        signal = X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])
        signal += np.where(X[:, 3] > 0.3, 0.5 * X[:, 4], 0) + np.where(X[:, 1] > 0, 0.2 * X[:, half + 1], 0)
        signal += 0.1 * X[:, :half].sum(axis=1) - 0.3 * np.log(X[:, half]) * X[:, 0]
        noisy = signal + 0.8 * rng.logistic(size=rows)
        y = noisy > 0.2 if self.task == "binary" else noisy
        return X, y.astype(np.float32)


@dataclass(frozen=True)
class Series:
    """Tables of growing size; ``sizes`` are the numbers of rows or columns."""

    tables: tuple[Synthetic, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of_rows(cls, *rows: int) -> Series:
        """Tables of 28 columns."""
        return cls(tuple(Synthetic(n, test_rows=1) for n in rows), rows)

    @classmethod
    def of_features(cls, *features: int) -> Series:
        """Tables of 20,000 rows."""
        return cls(tuple(Synthetic(20_000, n, test_rows=1) for n in features), features)

    @property
    def task(self) -> str:
        """Return the task."""
        return self.tables[0].task

    def load(self) -> Split:
        """Make the first table, to warm up on."""
        return self.tables[0].load()


@dataclass(frozen=True)
class Table:
    """Read the numeric columns of a real table.

    ``positive`` is the class that counts as 1; with ``classes`` all count; without either the target is a number.
    """

    name: str
    positive: str | int | None = None
    max_rows: int | None = None
    classes: bool = False

    @property
    def task(self) -> str:
        """Return the task: binary if there is a positive class."""
        if self.classes:
            return "multiclass"
        return "regression" if self.positive is None else "binary"

    def load(self, seed: int = 0) -> Split:
        """Split the rows at random, a quarter for the test; the same seed gives the same split on every machine."""
        X, y = self._read()
        order = np.random.default_rng(seed).permutation(len(y))[: self.max_rows]
        test, train = np.split(order, [len(order) // 4])
        return Split(X[train], y[train], X[test], y[test])

    def _read(self) -> tuple[np.ndarray, np.ndarray]:
        try:
            facts = json.loads((TABLES / "meta.json").read_text())[self.name]
            import pandas as pd

            frame = pd.read_parquet(TABLES / facts["file"])
        except (OSError, KeyError, ImportError) as error:
            raise UnavailableError(f"table {self.name!r} cannot be read from {TABLES}: {error}") from error
        target = frame[facts["target"]]
        frame, target = frame[target.notna()], target[target.notna()]
        aside = {facts["target"], facts["group"], facts["weight"], *facts["drop"]}
        X = frame.drop(columns=[name for name in frame.columns if name in aside]).select_dtypes("number")
        if self.classes:
            y = target.astype("category").cat.codes
        else:
            y = target if self.positive is None else target == self.positive
        return np.ascontiguousarray(X.to_numpy(np.float32)), y.to_numpy(np.float32)
