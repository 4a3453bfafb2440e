"""Hand calls to worker threads that wait for them in compiled code.

A member that has finished its part of a call spins for a while until the next call, which it can begin at once: to wake
a sleeping thread takes longer than many calls. Caller and members share a *mailbox*: first the call, then
``MEMBER_WORDS`` words for each member.
"""

from __future__ import annotations

from sapwood.native.runtime.intrinsics import (
    atomic_compare_exchange,
    atomic_load,
    atomic_store,
    call_entry,
    pause,
    sleep_while,
    wake_all,
    yield_core,
)
from sapwood.native.runtime.kernel import kernel

# Words of the call: the addresses of the kernel's entry point and of its arguments, and how many members were absent.
ENTRY, BLOCK, N_ABSENT = 0, 1, 2
# Words of a member, after ``MEMBER_WORDS`` times its number: its state, and 1 if it must leave to look into its queue.
STATE, WAKE = 0, 1
MEMBER_WORDS = 8
# States of a member: not in ``spin_wait``; waiting for a call; running one; running one while the caller sleeps.
ABSENT, WAITING, RUNNING, AWAITED = range(4)

# After the first 1,000 spins, some tens of microseconds, the core is offered to other threads every 50 spins.
EAGER_SPINS = 1_000
YIELD_EVERY = 50


@kernel()
def run_posted_call(mailbox, at, member, members):
    """Run a member's part of the posted call, and wake the caller if it sleeps."""
    call_entry(mailbox[ENTRY], mailbox[BLOCK], member, members)
    if atomic_compare_exchange(mailbox, at + STATE, RUNNING, WAITING) == AWAITED:
        atomic_store(mailbox, at + STATE, WAITING)
        wake_all(mailbox, at + STATE)


@kernel("i64[:], i64, i64, i64")
def spin_wait(mailbox, member, members, spins):
    """Wait for calls and run them, until none has come for ``spins`` spins or the member must look into its queue."""
    at = member * MEMBER_WORDS
    atomic_store(mailbox, at + STATE, WAITING)
    idle = 0
    while True:
        if atomic_load(mailbox, at + STATE) >= RUNNING:
            run_posted_call(mailbox, at, member, members)
            idle = 0
            continue
        idle += 1
        if idle > spins or atomic_load(mailbox, at + WAKE) != 0:
            if atomic_compare_exchange(mailbox, at + STATE, WAITING, ABSENT) == WAITING:
                return
        elif idle > EAGER_SPINS and idle % YIELD_EVERY == 0:
            yield_core()
        else:
            pause()


@kernel()
def wait_for_member(mailbox, at):
    """Wait until a member no longer runs a call."""
    spins = 0
    while atomic_load(mailbox, at + STATE) >= RUNNING:
        spins += 1
        if spins < EAGER_SPINS:
            pause()
        elif atomic_compare_exchange(mailbox, at + STATE, RUNNING, AWAITED) >= RUNNING:
            sleep_while(mailbox, at + STATE, AWAITED)


@kernel("i64[:], i64")
def wait_for_members(mailbox, members):
    """Wait until no member runs a call."""
    for member in range(1, members):
        wait_for_member(mailbox, member * MEMBER_WORDS)


@kernel("i64[:], i64")
def dispatch_call(mailbox, members):
    """Hand the posted call to the waiting members; if none is absent, run member 0's part and wait for all.

    ``N_ABSENT`` becomes the number of absent members; each of them has its ``WAKE`` set.
    """
    n_absent = 0
    for member in range(1, members):
        at = member * MEMBER_WORDS
        if atomic_compare_exchange(mailbox, at + STATE, WAITING, RUNNING) != WAITING:
            atomic_store(mailbox, at + WAKE, 1)
            n_absent += 1
    mailbox[N_ABSENT] = n_absent
    if n_absent == 0:
        call_entry(mailbox[ENTRY], mailbox[BLOCK], 0, members)
        for member in range(1, members):
            wait_for_member(mailbox, member * MEMBER_WORDS)
