"""Meeting, step by step, with plain Python threads; the compiled meeting is tested with the team."""

from __future__ import annotations

import threading
from itertools import pairwise

import numpy as np
import pytest

from sapwood.kernels.threads.barrier import ABORT, ARRIVED, GENERATION, SLEEPERS, barrier, check_barrier
from sapwood.native.runtime.kernel import new_sync
from sapwood.native.threads.worker_threads import ABORT_WORD


def run_threads(members, work):
    """Run ``work(member)`` in as many threads and collect what they return."""
    found = [None] * members

    def run(member):
        found[member] = work(member)

    threads = [threading.Thread(target=run, args=(member,)) for member in range(members)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    return found


def test_the_team_and_the_kernels_mean_the_same_word():
    assert ABORT == ABORT_WORD


def test_the_words_lie_on_cache_lines_of_their_own():
    words = sorted([ARRIVED, GENERATION, ABORT, SLEEPERS])
    assert all(later - sooner >= 8 for sooner, later in pairwise(words))
    assert words[-1] < len(new_sync())


def test_one_member_meets_nobody():
    assert barrier(new_sync(), 1) == 0


@pytest.mark.parametrize("members", [2, 5])
def test_nobody_leaves_before_all_have_come(members):
    sync, come = new_sync(), []

    def work(member):
        come.append(member)
        left = barrier(sync, members)
        return left, len(come)

    assert run_threads(members, work) == [(0, members)] * members
    assert sync[ARRIVED] == 0
    assert sync[GENERATION] == 1


def test_meeting_often_keeps_all_in_step_in_plain_python():
    out, sync = np.zeros(24, dtype=np.int64), new_sync()
    run_threads(3, lambda member: check_barrier.function(member, 3, sync, out, 30))
    assert out.reshape(3, 8)[:, :2].tolist() == [[30, 0]] * 3


def test_a_member_that_waits_leaves_when_told_to():
    sync = new_sync()

    def work(member):
        if member == 1:
            sync[ABORT] = 1
            return None
        return barrier(sync, 2)

    assert run_threads(2, work)[0] == 1


def test_a_member_that_comes_after_the_word_is_told_too():
    sync = new_sync()
    sync[ABORT] = 1
    assert run_threads(2, lambda member: barrier(sync, 2)) == [1, 1]
