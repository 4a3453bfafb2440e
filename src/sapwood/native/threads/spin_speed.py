"""Measure how often a thread spins in a microsecond: one spin took 12 nanoseconds on one CPU, and 30 on another."""

from __future__ import annotations

import time
from functools import cache

import numpy as np

from sapwood.native.runtime.kernel import mode
from sapwood.native.threads.spin_wait import EAGER_SPINS, MEMBER_WORDS, spin_wait

USUAL_SPINS = 33.0  # per microsecond, where kernels are not compiled ahead of time
N_MEASUREMENTS = 5


def count_spins(microseconds: float) -> int:
    """Return the number of spins that take about this long."""
    return round(microseconds * _spins_per_microsecond())


@cache
def _spins_per_microsecond() -> float:
    """Return the speed of the quickest of a few measurements, in which the thread kept its core."""
    if mode() != "native":
        return USUAL_SPINS
    mailbox = np.zeros(2 * MEMBER_WORDS, dtype=np.int64)
    wait = spin_wait.bind(mailbox, 1, 2, EAGER_SPINS)
    seconds = []
    for _ in range(N_MEASUREMENTS):
        began = time.perf_counter()
        wait(0, 1)
        seconds.append(time.perf_counter() - began)
    return EAGER_SPINS / (1e6 * min(seconds))
