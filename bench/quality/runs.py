"""Fit libraries on tables: losses and times, cached on disk."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.quality.libraries import Fit
from bench.quality.tables import Rows, StudyTable

Run = dict[str, Any]
CALIBRATION_BINS = 15
WARM_ROWS = 1_500
EPSILON = 1e-15


class RunStore:
    """Runs by key in a JSON file, written after each; a run that is there is not repeated."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.runs: dict[str, Run] = json.loads(path.read_text()) if path.exists() else {}

    def add(self, key: str, run: Run) -> None:
        """Add a run to those that are in the file, to which another process may have added some meanwhile."""
        if self.path.exists():
            self.runs = json.loads(self.path.read_text())
        self.runs[key] = run
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(self.runs, indent=0, sort_keys=True) + "\n", encoding="utf-8")
        partial.replace(self.path)


def run_key(table: StudyTable, max_rows: int, seed: int, library: str) -> str:
    """Return the key of a run."""
    return f"{table.name}|{max_rows}|{seed}|{library}"


def measure(fit: Fit, rows: Rows, seed: int, threads: int) -> Run:
    """Fit once; return losses on the test rows, seconds and CPU seconds of the fit."""
    wall, cpu = time.perf_counter(), time.process_time()
    predict = fit(rows, seed, threads)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    times = {"seconds": round(wall, 4), "cpu": round(cpu, 4), "threads": threads}
    return losses(rows, np.asarray(predict(rows.X_test))) | times


def best_times(run: Run, earlier: Run) -> Run:
    """Return a run with the shorter times of two."""
    return run | {name: min(run[name], earlier[name]) for name in ("seconds", "cpu")}


def warm_up(fit: Fit, rows: Rows, threads: int) -> None:
    """Fit a few rows, so that compilers have run and libraries are loaded."""
    n = min(WARM_ROWS, len(rows.y))
    few = Rows(rows.X.iloc[:n], rows.y[:n], rows.X_test[:10], rows.y_test[:10], rows.categories, rows.task)
    if rows.task != "regression" and len(np.unique(few.y)) <= rows.y.max():
        return
    fit(few, 0, threads)(few.X_test)


def losses(rows: Rows, prediction: np.ndarray) -> Run:
    """Return the loss: RMSE, or log loss with accuracy, Brier score and expected calibration error."""
    constant = _constant_loss(rows)
    if rows.task == "regression":
        return {"loss": float(np.sqrt(np.mean((prediction - rows.y_test) ** 2))), "constant": constant}
    index, codes = np.arange(len(rows.y_test)), rows.y_test.astype(int)
    chosen = prediction[index, codes]
    is_class = np.zeros_like(prediction)
    is_class[index, codes] = 1.0
    confidence, correct = prediction.max(axis=1), prediction.argmax(axis=1) == codes
    return {
        "loss": float(-np.mean(np.log(np.clip(chosen, EPSILON, 1.0)))),
        "constant": constant,
        "accuracy": float(np.mean(correct)),
        "brier": float(np.mean(((prediction - is_class) ** 2).sum(axis=1))),
        "ece": calibration_error(confidence, correct),
    }


def calibration_error(confidence: np.ndarray, correct: np.ndarray) -> float:
    """Return the expected calibration error: the mean distance of confidence and accuracy over 15 equal bins."""
    bins = np.minimum((confidence * CALIBRATION_BINS).astype(int), CALIBRATION_BINS - 1)
    gap = np.bincount(bins, confidence - correct, CALIBRATION_BINS)
    return float(np.abs(gap).sum() / len(confidence))


def _constant_loss(rows: Rows) -> float:
    """Return the loss of the best constant of the training rows."""
    if rows.task == "regression":
        return float(np.sqrt(np.mean((rows.y.mean() - rows.y_test) ** 2)))
    frequency = np.bincount(rows.y.astype(int)) / len(rows.y)
    return float(-np.mean(np.log(frequency[rows.y_test.astype(int)])))
