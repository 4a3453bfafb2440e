"""Run one fit in a process of its own: read a contestant and a workload from standard input, print memory as JSON."""

from __future__ import annotations

import json
import pickle
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak_mb() -> float:
    """Return the peak resident size."""
    # A child's ru_maxrss starts at the size of the parent that spawned it; Linux has a figure that starts at exec.
    if STATUS.exists():
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    unit = 2**20 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def forget_peak() -> None:
    """Reset the peak to the present size, where Linux allows it, so that making the rows does not count."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def main() -> None:
    """Make the rows, fit, predict one row, and report."""
    contestant, workload = pickle.load(sys.stdin.buffer)
    split = workload.data.load()
    forget_peak()
    data_mb = peak_mb()
    model = contestant(workload.settings, workload.data.task)
    model.fit(split.X, split.y)
    model.predict(split.X_test[:1])
    print(json.dumps({"data_mb": data_mb, "peak_mb": peak_mb()}))


if __name__ == "__main__":
    main()
