"""Compare ordered boosting with and without ordered scoring, on tables with categories.

``python -m bench.ordered_scoring`` prints, for each table and growth, the mean change of the test loss over the splits,
and the CPU time of both.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from bench.categories import NAMES, read, sapwood
from bench.measures import held_out_loss

MAX_ROWS = 40_000
GROWTHS = ("leafwise", "symmetric")


def compare(name: str, growth: str, n_seeds: int) -> str:
    """Return a line with the relative changes of the loss by ordered scoring, one per split, and the CPU seconds."""
    losses, seconds = np.empty((n_seeds, 2)), np.zeros(2)
    for seed in range(n_seeds):
        rows = read(name, seed, MAX_ROWS)
        for on in (False, True):
            params: dict[str, Any] = {"boosting": "ordered", "growth": growth, "ordered_scoring": on}
            start = time.process_time()
            found = sapwood(rows, random_state=seed, **params)
            seconds[int(on)] += time.process_time() - start
            losses[seed, int(on)] = held_out_loss(rows.y_test, found, rows.task)
    change = losses[:, 1] / losses[:, 0] - 1.0
    by_seed = " ".join(f"{one:+.2%}" for one in change)
    return f"{name:18} {growth:10} {change.mean():+.2%} ({by_seed}), CPU {seconds[0]:.1f} s and {seconds[1]:.1f} s"


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", help="table, repeatable; all of bench.categories by default")
    parser.add_argument("--seeds", type=int, default=5)
    chosen = parser.parse_args()
    for name in chosen.only or NAMES:
        for growth in GROWTHS:
            print(compare(name, growth, chosen.seeds), flush=True)


if __name__ == "__main__":
    main()
