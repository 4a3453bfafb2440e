"""Synchronise the members of a team: a barrier, a lock and notifications on the words of ``sync``."""

from __future__ import annotations

from sapwood.native.runtime.intrinsics import (
    atomic_add,
    atomic_compare_exchange,
    atomic_load,
    atomic_store,
    pause,
    sleep_while,
    wake_all,
    yield_core,
)
from sapwood.native.runtime.kernel import kernel

# Words of ``sync``, one cache line apart against false sharing. ARRIVED counts the members at the barrier, GENERATION
# the barriers passed. ABORT is 1 when the team must stop. SLEEPERS counts the members asleep; SPINS is how often one
# looks before it sleeps, 0 in a team larger than the machine. COUNTER is for kernels that hand out work. LOCK is 1
# while a member holds it, CHANGES counts notifications.
ARRIVED, GENERATION, ABORT, SLEEPERS, SPINS, COUNTER, LOCK, CHANGES = 0, 8, 16, 24, 32, 40, 48, 56
# The member that holds the lock releases it soon, unless its core was taken away.
LOCK_SPINS = 1_000


@kernel()
def wait_for_change(sync, word, seen):
    """Wait until a word differs from ``seen``; return nonzero if the team must stop."""
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
def notify_change(sync, word):
    """Change a word and wake the members that sleep in ``wait_for_change``."""
    atomic_add(sync, word, 1)
    if atomic_load(sync, SLEEPERS) > 0:
        wake_all(sync, word)


@kernel()
def barrier(sync, members):
    """Wait until all members have arrived; return nonzero if the team must stop."""
    if members == 1:
        return 0
    generation = atomic_load(sync, GENERATION)
    if atomic_add(sync, ARRIVED, 1) == members - 1:
        atomic_store(sync, ARRIVED, 0)
        notify_change(sync, GENERATION)
    elif wait_for_change(sync, GENERATION, generation) != 0:
        return 1
    return atomic_load(sync, ABORT)


@kernel()
def acquire_lock(sync):
    """Wait until no other member holds the lock, and hold it."""
    spins = 0
    while atomic_compare_exchange(sync, LOCK, 0, 1) != 0:
        spins += 1
        if spins % LOCK_SPINS != 0:
            pause()
        else:
            yield_core()


@kernel()
def release_lock(sync):
    """Let another member acquire the lock."""
    atomic_store(sync, LOCK, 0)


@kernel("i64[:], i64")
def check_barrier(member, members, sync, out, times):
    """Pass ``times`` barriers; each member counts its own, and how often another's count differs. For tests."""
    for k in range(times):
        out[member * 8] += 1
        if barrier(sync, members) != 0:
            return
        for other in range(members):
            if out[other * 8] != k + 1:
                out[member * 8 + 1] += 1
        if barrier(sync, members) != 0:
            return
