"""The number of spins in some time."""

from __future__ import annotations

import time

import numpy as np
import pytest

from sapwood.native.runtime.kernel import mode
from sapwood.native.threads import spin_speed
from sapwood.native.threads.spin_speed import count_spins
from sapwood.native.threads.spin_wait import MEMBER_WORDS, spin_wait


@pytest.mark.skipif(mode() != "native", reason="spins are measured in compiled code only")
def test_spins_take_about_as_long_as_asked():
    seconds = []
    for _ in range(20):
        mailbox = np.zeros(2 * MEMBER_WORDS, dtype=np.int64)
        began = time.perf_counter()
        spin_wait(mailbox, 1, 2, count_spins(500.0))
        seconds.append(time.perf_counter() - began)
    assert 300e-6 < min(seconds) < 2_500e-6


@pytest.mark.skipif(mode() != "native", reason="spins are measured in compiled code only")
def test_the_quickest_measurement_counts(monkeypatch):
    # 1,000 spins take 50, 25, 40, 40 and 40 microseconds: 40 spins per microsecond.
    clock = iter(np.cumsum([0.0, 50.0, 0.0, 25.0, 0.0, 40.0, 0.0, 40.0, 0.0, 40.0]) * 1e-6)
    monkeypatch.setattr(spin_speed.time, "perf_counter", lambda: next(clock))
    spin_speed._spins_per_microsecond.cache_clear()
    counted = count_spins(600.0)
    spin_speed._spins_per_microsecond.cache_clear()
    assert counted == pytest.approx(24_000, abs=1)


def test_the_number_of_spins_grows_with_the_time():
    assert 0 < count_spins(30.0) < count_spins(600.0)


def test_spins_are_not_measured_where_kernels_are_not_compiled_ahead_of_time(monkeypatch):
    monkeypatch.setattr(spin_speed, "mode", lambda: "python")
    spin_speed._spins_per_microsecond.cache_clear()
    assert count_spins(600.0) == round(600.0 * spin_speed.USUAL_SPINS)
    spin_speed._spins_per_microsecond.cache_clear()
