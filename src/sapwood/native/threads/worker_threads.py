"""Worker threads that run one kernel together, and the mailbox through which they are called.

If one of them fails, the abort word is set, every member that waits leaves, and the error is raised in the caller.
Between calls that follow each other closely the threads wait in compiled code (``spin_wait.py``).
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

from sapwood.native.runtime.kernel import Kernel, RepeatedCall, mode, new_sync
from sapwood.native.runtime.kernel_calls import Call
from sapwood.native.system.cpu_count import usable_cpus
from sapwood.native.threads.spin_speed import count_spins
from sapwood.native.threads.spin_wait import (
    BLOCK,
    ENTRY,
    MEMBER_WORDS,
    N_ABSENT,
    WAKE,
    dispatch_call,
    spin_wait,
    wait_for_members,
)

try:
    from resource import RUSAGE_THREAD, getrusage
except ImportError:  # not on Linux
    getrusage = None  # type: ignore[assignment]

# Words of ``sync``: see ``kernels/threads/barrier.py``.
ABORT_WORD, SPINS_WORD = 16, 32
# For so many microseconds members spin inside a call before they sleep: to wake a thread takes longer than most steps.
# Where other processes compete for the cores they spin for the shorter time, and not at all if the team is larger than
# the machine: the member they wait for may need theirs. Between two calls they spin for ``IDLE_SPINNING``.
SPINNING, BRIEF_SPINNING, IDLE_SPINNING = 600.0, 30.0, 360.0
# Context switches per second above which the cores count as contended, and seconds between two checks. Beside a busy
# process there are some hundred, on an idle machine a few tens.
BUSY_RATE, BUSY_SECONDS = 100.0, 0.02


class Task:
    """One call that all members run: how many have begun it, and how many have ended."""

    def __init__(self, call: Callable[[int, int], None], sync: np.ndarray) -> None:
        self.call = call
        self.failure: BaseException | None = None
        self._sync = sync
        self._lock = threading.Lock()
        self._is_closed = False
        self._n_begun = 0
        self._n_ended = 0
        self._endings: SimpleQueue[None] = SimpleQueue()

    def run_part(self, member: int, members: int) -> None:
        """Run a member's part, unless the task was stopped before."""
        with self._lock:
            if self._is_closed:
                return
            self._n_begun += 1
        try:
            self.call(member, members)
        except BaseException as error:
            self.failure = error
            self._sync[ABORT_WORD] = 1
        with self._lock:
            self._n_ended += 1
        self._endings.put(None)

    def wait(self, n_members: int) -> None:
        """Wait until this many members have ended."""
        while self._n_ended < n_members:
            self._endings.get()

    def stop(self, mailbox: Mailbox | None) -> None:
        """Let no member begin any more, and wait for those that have, whatever interrupts: they write to our arrays."""
        while True:
            try:
                self._sync[ABORT_WORD] = 1
                with self._lock:
                    self._is_closed = True
                self.wait(self._n_begun)
                if mailbox is not None:
                    mailbox.wait_for_members()
                return
            except BaseException:
                continue


class Mailbox:
    """The words through which members that spin in compiled code receive calls."""

    def __init__(self, size: int) -> None:
        self.words = np.zeros(MEMBER_WORDS * (size + 1), dtype=np.int64)
        self._dispatch = dispatch_call.bind(self.words, size)
        self._wait = wait_for_members.bind(self.words, size)
        self._spin_wait = [spin_wait.bind(self.words, k, size, count_spins(IDLE_SPINNING)) for k in range(size)]

    def run(self, call: Call, queues: list[SimpleQueue[Task | None]], task: Task) -> None:
        """Run a call on all members and wait for them; members that do not spin find the task in their queue."""
        words = self.words
        words[ENTRY] = call.entry_address
        words[BLOCK] = call.block_address
        self._dispatch(0, 1)
        n_absent = int(words[N_ABSENT])
        if n_absent == 0:
            return
        for member, queue in enumerate(queues, start=1):
            if words[member * MEMBER_WORDS + WAKE]:
                queue.put(task)
        call(0, len(queues) + 1)
        task.wait(n_absent)
        self.wait_for_members()

    def wait_for_members(self) -> None:
        """Wait until no member runs the call."""
        self._wait(0, 1)

    def clear_wake(self, member: int) -> None:
        """Note that a member has looked into its queue."""
        self.words[member * MEMBER_WORDS + WAKE] = 0

    def spin_wait(self, member: int) -> None:
        """Wait for calls that follow soon, and run them."""
        self._spin_wait[member](0, 1)


class WorkerThreads:
    """Threads that wait for tasks; member 0 is the thread that calls ``run``. They end when this object is deleted."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.sync = new_sync()
        has_cores = size <= usable_cpus()
        self._has_cores = has_cores
        self._usual_spins, self._brief_spins = count_spins(SPINNING), count_spins(BRIEF_SPINNING)
        self._n_switches, self._checked_at, self._is_busy = context_switches(), time.monotonic(), False
        self._mailbox = Mailbox(size) if has_cores and mode() == "native" else None
        self._queues: list[SimpleQueue[Task | None]] = [SimpleQueue() for _ in range(1, size)]
        weakref.finalize(self, _end_threads, self._queues)
        for member, queue in enumerate(self._queues, start=1):
            name, args = f"sapwood-{member}", (queue, self._mailbox, member, size)
            threading.Thread(target=_run_tasks, args=args, daemon=True, name=name).start()

    def run(self, kernel: Kernel | RepeatedCall, args: tuple[Any, ...]) -> None:
        """Run a kernel on all members and wait for them."""
        self.sync[:] = 0
        self.sync[SPINS_WORD] = self._spins()
        call = kernel.bind(self.sync, *args)
        task = Task(call, self.sync)
        # Ctrl-C may strike between any two steps, so only the task itself knows which members have begun it.
        try:
            if self._mailbox is not None and isinstance(call, Call):
                self._mailbox.run(call, self._queues, task)
            else:
                for queue in self._queues:
                    queue.put(task)
                task.call(0, self.size)
                task.wait(self.size - 1)
        except BaseException:
            task.stop(self._mailbox)
            raise
        if task.failure is not None:
            raise task.failure

    def _spins(self) -> int:
        """Return how often members look before they sleep in the next call."""
        if not self._has_cores:
            return 0
        now = time.monotonic()
        seconds = now - self._checked_at
        if seconds >= BUSY_SECONDS:
            n = context_switches()
            self._is_busy = n - self._n_switches > BUSY_RATE * seconds
            self._n_switches, self._checked_at = n, now
        return self._brief_spins if self._is_busy else self._usual_spins


def context_switches() -> int:
    """Return how often another thread was given this thread's core; 0 where the system does not report it."""
    return getrusage(RUSAGE_THREAD).ru_nivcsw if getrusage is not None else 0


def _run_tasks(queue: SimpleQueue[Task | None], mailbox: Mailbox | None, member: int, members: int) -> None:
    while (task := queue.get()) is not None:
        if mailbox is not None:
            mailbox.clear_wake(member)
        task.run_part(member, members)
        del task  # with it the caller's arrays
        if mailbox is not None:
            mailbox.spin_wait(member)


def _end_threads(queues: list[SimpleQueue[Task | None]]) -> None:
    for queue in queues:
        queue.put(None)
