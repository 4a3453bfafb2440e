"""Members that wait in compiled code between calls."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from sapwood.kernels.threads.barrier import check_barrier
from sapwood.native.runtime import intrinsics
from sapwood.native.runtime.kernel import mode
from sapwood.native.threads import team
from sapwood.native.threads.spin_wait import KNOCK, MEMBER_WORDS, STATE, WAITING
from sapwood.native.threads.team import Crew

pytestmark = pytest.mark.skipif(mode() != "native", reason="members linger in compiled code alone")


@pytest.fixture(autouse=True)
def enough_cores(monkeypatch):
    """Members linger only where each has a core of its own."""
    monkeypatch.setattr(team, "usable_cpus", lambda: 8)


def states(crew: Crew) -> np.ndarray:
    """What each member but the caller is doing."""
    assert crew._post is not None
    return crew._post.words[MEMBER_WORDS::MEMBER_WORDS][: crew.size - 1] + STATE


def test_calls_in_quick_succession_find_the_members_waiting():
    crew, out = Crew(2), np.zeros(16, np.int64)
    crew.run(check_barrier, (out, 1))
    deadline = time.perf_counter() + 10
    while states(crew)[0] != WAITING and time.perf_counter() < deadline:
        crew.run(check_barrier, (np.zeros(16, np.int64), 1))
    assert states(crew)[0] == WAITING


@pytest.mark.parametrize("pause", [0.0, 0.0003, 0.002])
def test_every_member_takes_part_whether_it_still_waits_or_has_gone_to_sleep(pause):
    crew, out = Crew(4), np.zeros(32, np.int64)
    for _ in range(50):
        out[:] = 0
        crew.run(check_barrier, (out, 3))
        assert out[::8].tolist() == [3, 3, 3, 3]
        time.sleep(pause)


def test_members_fall_asleep_when_no_call_comes():
    crew = Crew(3)
    crew.run(check_barrier, (np.zeros(24, np.int64), 1))
    deadline = time.perf_counter() + 10
    while states(crew).any() and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert not states(crew).any()
    assert crew._post is not None
    assert not crew._post.words[KNOCK::MEMBER_WORDS][1:3].any()


def test_two_crews_work_side_by_side():
    totals: list[int] = []

    def work() -> None:
        crew, out = Crew(2), np.zeros(16, np.int64)
        for _ in range(200):
            out[:] = 0
            crew.run(check_barrier, (out, 2))
            totals.append(out[0] + out[8])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [4] * 600


def test_swapping_tells_what_was_there_and_writes_only_over_what_was_expected():
    words = np.array([5], np.int64)
    assert intrinsics.atomic_swap_if(words, 0, 4, 7) == 5
    assert words[0] == 5
    assert intrinsics.atomic_swap_if(words, 0, 5, 7) == 5
    assert words[0] == 7
