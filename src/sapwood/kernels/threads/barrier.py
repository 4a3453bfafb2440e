"""Where the members of a team wait for each other, and for their turn."""

from __future__ import annotations

from sapwood.native.runtime.intrinsics import (
    atomic_add,
    atomic_load,
    atomic_store,
    atomic_swap_if,
    pause,
    sleep_while,
    wake_all,
    yield_core,
)
from sapwood.native.runtime.kernel import kernel

# Words of ``sync``, one cache line apart so that they do not disturb each other.
# SPINS says how often to look before sleeping, so that a team larger than the machine still moves.
# COUNTER is for kernels that hand out work. LOCK is 1 while a member has it, NEWS counts what it told the others.
ARRIVED, TURN, ABORT, SLEEPERS, SPINS, COUNTER, LOCK, NEWS = 0, 8, 16, 24, 32, 40, 48, 56
# Who has the lock gives it back soon, unless its core was taken away.
LOCK_SPINS = 1_000


@kernel()
def await_change(sync, word, seen):
    """Wait until a word is no longer what it was; nonzero means that the team was told to stop."""
    spins = 0
    while atomic_load(sync, word) == seen:
        if atomic_load(sync, ABORT) != 0:
            return 1
        spins += 1
        if spins < sync[SPINS]:
            pause()
        else:
            atomic_add(sync, SLEEPERS, 1)
            sleep_while(sync, word, seen)
            atomic_add(sync, SLEEPERS, -1)
    return 0


@kernel()
def advance(sync, word):
    """Change a word and wake those who sleep until it does."""
    atomic_add(sync, word, 1)
    if atomic_load(sync, SLEEPERS) > 0:
        wake_all(sync, word)


@kernel()
def meet(sync, members):
    """Wait until every member has come here; nonzero means that the team was told to stop and must leave."""
    if members == 1:
        return 0
    turn = atomic_load(sync, TURN)
    if atomic_add(sync, ARRIVED, 1) == members - 1:
        atomic_store(sync, ARRIVED, 0)
        advance(sync, TURN)
    elif await_change(sync, TURN, turn) != 0:
        return 1
    return atomic_load(sync, ABORT)


@kernel()
def take_lock(sync):
    """Be the only member between this and ``give_lock``."""
    spins = 0
    while atomic_swap_if(sync, LOCK, 0, 1) != 0:
        spins += 1
        if spins % LOCK_SPINS != 0:
            pause()
        else:
            yield_core()


@kernel()
def give_lock(sync):
    """Let the next member in."""
    atomic_store(sync, LOCK, 0)


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
