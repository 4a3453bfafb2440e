"""Kill training with SIGKILL at random moments, resume from its checkpoint, and compare the fingerprints.

``python -m bench.crash_recovery [moments] [rows]``
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sapwood import SapwoodClassifier


def fingerprint(n_rows: int, checkpoint: str | None) -> str:
    generator = np.random.default_rng(1)
    X = generator.normal(size=(n_rows, 10))
    y = np.digitize(X[:, 0] + X[:, 1] * X[:, 2] + generator.normal(size=n_rows), [-1.0, 1.0])
    sets = {"first": (X[: n_rows // 5], y[: n_rows // 5]), "second": (X[-200:], y[-200:])}
    model = SapwoodClassifier(
        n_estimators=300, early_stopping_rounds=100, eval_metric=["log_loss", "accuracy"], subsample=0.6,
        colsample_bytree=0.7, colsample_bynode=0.7, time_limit=3600, checkpoint=checkpoint, checkpoint_every=0.05,
    )  # fmt: skip
    rest = n_rows // 5
    model.fit(X[rest:], y[rest:], eval_set=sets)
    return f"{model.model_.fingerprint()} {model.best_iteration_} {model.best_score_!r} {model.stopped_}"


def main(n_moments: int, n_rows: int) -> None:
    began = time.perf_counter()
    whole = fingerprint(n_rows, None)
    seconds = time.perf_counter() - began
    print(f"uninterrupted: {seconds:.2f} s, {whole}")
    source = random.Random(time.time_ns())
    for moment in range(n_moments):
        with tempfile.TemporaryDirectory() as directory:
            path = str(Path(directory) / "training.checkpoint")
            after = source.uniform(0.0, seconds)
            child = subprocess.Popen(
                [sys.executable, "-m", "bench.crash_recovery", "child", str(n_rows), path], stdout=subprocess.PIPE
            )
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(after)
            child.kill()
            was_killed = child.wait() == -signal.SIGKILL
            size = Path(path).stat().st_size if Path(path).exists() else 0
            again = fingerprint(n_rows, path)
            word = "same" if again == whole else "DIFFERENT"
            print(
                f"{moment:3} {'killed' if was_killed else 'done'} after {after:.2f} s, {size:8} bytes: {word}",
                flush=True,
            )
            if again != whole:
                sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        print("began", flush=True)
        fingerprint(int(sys.argv[2]), sys.argv[3])
    else:
        numbers = [int(text) for text in sys.argv[1:3]]
        main(*(numbers + [20, 4000][len(numbers) :]))
