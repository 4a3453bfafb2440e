"""How the members of a team hand over from one call to the next without falling asleep in between.

A member that has done its part waits a while for the next call inside compiled code, where it can begin at once; to
wake a sleeping thread costs more than many calls take. ``post`` is what caller and members share: the call, and a
line of words for each member.
"""

from __future__ import annotations

from sapwood.native.runtime.intrinsics import (
    atomic_load,
    atomic_store,
    atomic_swap_if,
    call_entry,
    pause,
    sleep_while,
    wake_all,
    yield_core,
)
from sapwood.native.runtime.kernel import kernel

# Words of the call, and of a member after ``MEMBER_WORDS`` times its number.
ENTRY, BLOCK, MISSED = 0, 1, 2
STATE, KNOCK = 0, 1
MEMBER_WORDS = 8
# What a member is doing: nothing here, waiting for a call, or working on one; the last with a caller asleep until then.
AWAY, WAITING, CALLED, AWAITED = range(4)

# A spin takes about 30 nanoseconds. After the first 1,000 the core is offered to others every 50 spins.
EAGER_SPINS = 1_000
YIELD_EVERY = 50
LINGER_SPINS = 12_000


@kernel()
def take_part(post, at, member, members):
    """Make the call that was posted and wait again, waking a caller who sleeps."""
    call_entry(post[ENTRY], post[BLOCK], member, members)
    if atomic_swap_if(post, at + STATE, CALLED, WAITING) == AWAITED:
        atomic_store(post, at + STATE, WAITING)
        wake_all(post, at + STATE)


@kernel("i64[:], i64, i64, i64")
def linger(post, member, members, spins):
    """Wait for calls and take part in them, until none has come for so many spins or somebody knocks."""
    at = member * MEMBER_WORDS
    atomic_store(post, at + STATE, WAITING)
    idle = 0
    while True:
        if atomic_load(post, at + STATE) >= CALLED:
            take_part(post, at, member, members)
            idle = 0
            continue
        idle += 1
        if idle > spins or atomic_load(post, at + KNOCK) != 0:
            if atomic_swap_if(post, at + STATE, WAITING, AWAY) == WAITING:
                return
        elif idle > EAGER_SPINS and idle % YIELD_EVERY == 0:
            yield_core()
        else:
            pause()


@kernel()
def await_member(post, at):
    """Wait until a member no longer works on a call."""
    spins = 0
    while atomic_load(post, at + STATE) >= CALLED:
        spins += 1
        if spins < EAGER_SPINS:
            pause()
        elif atomic_swap_if(post, at + STATE, CALLED, AWAITED) >= CALLED:
            sleep_while(post, at + STATE, AWAITED)


@kernel("i64[:], i64")
def await_members(post, members):
    """Wait until all members are done with the call."""
    for member in range(1, members):
        await_member(post, member * MEMBER_WORDS)


@kernel("i64[:], i64")
def lead(post, members):
    """Hand the posted call to the members that wait for one; if these are all, make it, and wait until all are done.

    ``MISSED`` tells how many do not wait; each of them has its ``KNOCK`` set.
    """
    missed = 0
    for member in range(1, members):
        at = member * MEMBER_WORDS
        if atomic_swap_if(post, at + STATE, WAITING, CALLED) != WAITING:
            atomic_store(post, at + KNOCK, 1)
            missed += 1
    post[MISSED] = missed
    if missed == 0:
        call_entry(post[ENTRY], post[BLOCK], 0, members)
        for member in range(1, members):
            await_member(post, member * MEMBER_WORDS)
