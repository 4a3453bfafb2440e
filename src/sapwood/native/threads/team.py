"""A team of threads that run one kernel together, each with its own number.

``Team.run(kernel, *args)`` returns when every member has returned. The members meet inside the kernel
(``kernels/meet``). If one of them fails, the abort word is set, every waiting member leaves, and the error is raised
here.

Threads are kept in crews that are handed out, so two fits in two Python threads never share one; a forked child starts
with none. Between calls that follow each other closely the members wait in compiled code (``linger.py``).
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable
from functools import lru_cache
from queue import SimpleQueue
from typing import Any

import numpy as np

from sapwood.native.runtime.kernel import Kernel, RepeatedCall, mode, new_sync
from sapwood.native.runtime.library import Call
from sapwood.native.threads.cpu_quota import granted_cpus
from sapwood.native.threads.spin_wait import (
    BLOCK,
    ENTRY,
    KNOCK,
    LINGER_SPINS,
    MEMBER_WORDS,
    MISSED,
    await_members,
    lead,
    linger,
)

try:
    from resource import RUSAGE_THREAD, getrusage
except ImportError:  # not on Linux
    getrusage = None  # type: ignore[assignment]

# Words of ``sync``: see ``kernels/meet``.
ABORT_WORD, SPINS_WORD = 16, 32
# Members spin for about 600 microseconds before they sleep: to wake a thread costs more than most steps take. Where
# others want the cores they spin for 30, and not at all if the team is larger than the machine: the member they wait
# for may need theirs.
SPINS, FEWER_SPINS = 20_000, 1_000
# Others want the cores if ours is taken away so often per second, which is looked at after so many seconds. Beside a
# busy process it is some hundred times, on an idle machine a few tens.
BUSY_RATE, BUSY_EVERY = 100.0, 0.02


class Task:
    """One call that the members of a crew make together: how many have begun it, and how many have ended."""

    def __init__(self, call: Callable[[int, int], None], sync: np.ndarray) -> None:
        self.call = call
        self.failure: BaseException | None = None
        self._sync = sync
        self._lock = threading.Lock()
        self._is_closed = False
        self._n_begun = 0
        self._n_ended = 0
        self._news: SimpleQueue[None] = SimpleQueue()

    def join(self, member: int, members: int) -> None:
        """Take part, unless the task was stopped before."""
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
        self._news.put(None)

    def wait(self, n_members: int) -> None:
        """Wait until so many have taken part."""
        while self._n_ended < n_members:
            self._news.get()

    def stop(self, post: Post | None) -> None:
        """Let nobody begin any more, and wait for those who have, whatever interrupts: they write into our arrays."""
        while True:
            try:
                self._sync[ABORT_WORD] = 1
                with self._lock:
                    self._is_closed = True
                self.wait(self._n_begun)
                if post is not None:
                    post.await_all()
                return
            except BaseException:
                continue


class Post:
    """Where members that linger in compiled code are given calls."""

    def __init__(self, size: int) -> None:
        self.words = np.zeros(MEMBER_WORDS * (size + 1), dtype=np.int64)
        self._lead = lead.bind(self.words, size)
        self._await = await_members.bind(self.words, size)
        self._linger = [linger.bind(self.words, k, size, LINGER_SPINS) for k in range(size)]

    def lead(self, call: Call, inboxes: list[SimpleQueue[Task | None]], task: Task) -> None:
        """Make a call with all members and wait for them; those who do not linger find the task in their inbox."""
        words = self.words
        words[ENTRY] = call.entry_address
        words[BLOCK] = call.block_address
        self._lead(0, 1)
        missed = int(words[MISSED])
        if missed == 0:
            return
        for member, inbox in enumerate(inboxes, start=1):
            if words[member * MEMBER_WORDS + KNOCK]:
                inbox.put(task)
        call(0, len(inboxes) + 1)
        task.wait(missed)
        self.await_all()

    def await_all(self) -> None:
        """Wait until no member works on the call."""
        self._await(0, 1)

    def answer(self, member: int) -> None:
        """Note that a member has looked into its inbox."""
        self.words[member * MEMBER_WORDS + KNOCK] = 0

    def linger(self, member: int) -> None:
        """Stay for calls that follow soon."""
        self._linger[member](0, 1)


class Crew:
    """Threads that wait for tasks; member 0 is whoever calls ``run``. They end when the crew is forgotten."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.sync = new_sync()
        has_cores = size <= usable_cpus()
        self._has_cores = has_cores
        self._interruptions, self._looked_at, self._is_busy = interruptions(), time.monotonic(), False
        self._post = Post(size) if has_cores and mode() == "native" else None
        self._inboxes: list[SimpleQueue[Task | None]] = [SimpleQueue() for _ in range(1, size)]
        weakref.finalize(self, _dismiss, self._inboxes)
        for member, inbox in enumerate(self._inboxes, start=1):
            name, args = f"sapwood-{member}", (inbox, self._post, member, size)
            threading.Thread(target=_serve, args=args, daemon=True, name=name).start()

    def run(self, kernel: Kernel | RepeatedCall, args: tuple[Any, ...]) -> None:
        """Run a kernel on all members and wait for them."""
        self.sync[:] = 0
        self.sync[SPINS_WORD] = self._spins()
        call = kernel.bind(self.sync, *args)
        task = Task(call, self.sync)
        # Ctrl-C may strike between any two steps, so that only the task itself knows who has begun it.
        try:
            if self._post is not None and isinstance(call, Call):
                self._post.lead(call, self._inboxes, task)
            else:
                for inbox in self._inboxes:
                    inbox.put(task)
                task.call(0, self.size)
                task.wait(self.size - 1)
        except BaseException:
            task.stop(self._post)
            raise
        if task.failure is not None:
            raise task.failure

    def _spins(self) -> int:
        """How long members wait awake in the next call."""
        if not self._has_cores:
            return 0
        now = time.monotonic()
        seconds = now - self._looked_at
        if seconds >= BUSY_EVERY:
            n = interruptions()
            self._is_busy = n - self._interruptions > BUSY_RATE * seconds
            self._interruptions, self._looked_at = n, now
        return FEWER_SPINS if self._is_busy else SPINS


def interruptions() -> int:
    """How often another thread was given this thread's core, where that is known."""
    return getrusage(RUSAGE_THREAD).ru_nivcsw if getrusage is not None else 0


def _serve(inbox: SimpleQueue[Task | None], post: Post | None, member: int, members: int) -> None:
    while (task := inbox.get()) is not None:
        if post is not None:
            post.answer(member)
        task.join(member, members)
        del task  # with it the caller's arrays
        if post is not None:
            post.linger(member)


def _dismiss(inboxes: list[SimpleQueue[Task | None]]) -> None:
    for inbox in inboxes:
        inbox.put(None)


# Lists are appended to and popped from in one step, so that nobody needs a lock, which a fork could leave closed.
_idle: dict[int, list[Crew]] = {}
MOST_IDLE = 4

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


class Team:
    """A number of members; threads are taken from the idle crews for the length of a call."""

    def __init__(self, size: int) -> None:
        self.size = size

    def run(self, kernel: Kernel | RepeatedCall, *args: Any) -> None:
        """Run a kernel with these arguments on all members."""
        if self.size == 1 or not kernel.takes_team:
            kernel(*args)
            return
        crew = self._take()
        try:
            crew.run(kernel, args)
        finally:
            self._give_back(crew)

    def _take(self) -> Crew:
        try:
            return _idle[self.size].pop()
        except (KeyError, IndexError):
            return Crew(self.size)

    def _give_back(self, crew: Crew) -> None:
        idle = _idle.setdefault(self.size, [])
        if len(idle) < MOST_IDLE:
            idle.append(crew)


ALONE = Team(1)

# Below this much work (cells touched in a call) threads cost more than they bring.
SMALL_WORK = 1 << 15
# The same for training, in rows times features of the table.
SMALL_TABLE = 12_000


def current_team(n_jobs: int | None = None, work: int | None = None, least: int = SMALL_WORK) -> Team:
    """The team for ``n_jobs`` (None or -1: all that the process may use) and an amount of work, one below ``least``.

    ``SAPWOOD_TEAM`` forces a size whatever the machine has, for tests.
    """
    forced = os.environ.get("SAPWOOD_TEAM")
    if forced:
        return Team(int(forced))
    if work is not None and work < least:
        return ALONE
    most = usable_cpus()
    if n_jobs is None or n_jobs == -1:
        return Team(_environment_limit(most))
    if n_jobs < -1:
        return Team(max(1, most + 1 + n_jobs))
    return Team(min(n_jobs, most))


def training_team(n_jobs: int | None, n_rows: int, n_features: int) -> Team:
    """The team for training on a table of this size."""
    return current_team(n_jobs, n_rows * n_features, SMALL_TABLE)


def _environment_limit(most: int) -> int:
    text = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(most, int(text))) if text.isdigit() else most


@lru_cache(maxsize=1)
def _quota() -> float:
    return granted_cpus()


def usable_cpus() -> int:
    """CPUs that this process may use: its affinity, and the quota of its control group."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, int(min(_quota(), cpus) + 0.5)))
