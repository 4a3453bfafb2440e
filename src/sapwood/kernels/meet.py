"""The place where the members of a team wait for each other."""

from __future__ import annotations

from sapwood.native.intrinsics import atomic_add, atomic_load, atomic_store, pause, sleep_while, wake_all
from sapwood.native.kernel import kernel

# Words of ``sync``, one cache line apart so that they do not disturb each other.
# SPINS says how often to look before sleeping, so that a team larger than the machine still moves.
# COUNTER is for kernels that hand out work.
ARRIVED, TURN, ABORT, SLEEPERS, SPINS, COUNTER = 0, 8, 16, 24, 32, 40


@kernel()
def meet(sync, members):
    """Wait until every member has come here; nonzero means that the team was told to stop and must leave."""
    if members == 1:
        return 0
    turn = atomic_load(sync, TURN)
    if atomic_add(sync, ARRIVED, 1) == members - 1:
        atomic_store(sync, ARRIVED, 0)
        atomic_add(sync, TURN, 1)
        if atomic_load(sync, SLEEPERS) > 0:
            wake_all(sync, TURN)
    else:
        spins = 0
        while atomic_load(sync, TURN) == turn:
            if atomic_load(sync, ABORT) != 0:
                return 1
            spins += 1
            if spins < sync[SPINS]:
                pause()
            else:
                atomic_add(sync, SLEEPERS, 1)
                sleep_while(sync, TURN, turn)
                atomic_add(sync, SLEEPERS, -1)
    return atomic_load(sync, ABORT)


@kernel("i64[:], i64")
def meet_often(member, members, sync, out, times):
    """Meet ``times`` times, each member counting in its own cell that all others kept pace; for tests and timing."""
    for k in range(times):
        out[member * 8] += 1
        if meet(sync, members) != 0:
            return
        for other in range(members):
            if out[other * 8] != k + 1:
                out[member * 8 + 1] += 1
        if meet(sync, members) != 0:
            return
