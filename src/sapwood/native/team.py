"""A team of threads that run one kernel together, each with its own number.

``Team.run(kernel, *args)`` returns when every member has returned. The members meet inside the kernel (``kernels/meet``).
If one of them fails, the abort word is set, every waiting member leaves, and the error is raised here.

Threads are kept in crews that are handed out, so two fits in two Python threads never share one; a forked child starts
with none.
"""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from queue import SimpleQueue
from typing import Any

from sapwood.native.kernel import Kernel, new_sync

ABORT_WORD = 16


class Crew:
    """Threads that wait for work; member 0 is whoever calls ``run``."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.sync = new_sync()
        self._inboxes: list[SimpleQueue[Any]] = []
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()
        for member in range(1, size):
            inbox: SimpleQueue[Any] = SimpleQueue()
            thread = threading.Thread(target=self._work, args=(member, inbox), daemon=True, name=f"sapwood-{member}")
            thread.start()
            self._inboxes.append(inbox)

    def run(self, kernel: Kernel, args: tuple[Any, ...]) -> None:
        """Run a kernel on all members and wait for them."""
        self.sync[:] = 0
        call = kernel.bind(self.sync, *args)
        called = 0
        failure: BaseException | None = None
        try:
            for inbox in self._inboxes:
                inbox.put(call)
                called += 1
            call(0, self.size)
        except BaseException as error:
            failure = error
            self.sync[ABORT_WORD] = 1
        failure = self._gather(called, failure)
        if failure is not None:
            raise failure

    def _gather(self, called: int, failure: BaseException | None) -> BaseException | None:
        # The members write into the caller's arrays: nothing, Ctrl-C included, may make us return before they have.
        while called:
            try:
                error = self._done.get()
            except BaseException as interruption:
                failure = failure or interruption
                self.sync[ABORT_WORD] = 1
                continue
            called -= 1
            failure = failure or error
        return failure

    def _work(self, member: int, inbox: SimpleQueue[Any]) -> None:
        while True:
            call = inbox.get()
            if call is None:
                return
            error: BaseException | None = None
            try:
                call(member, self.size)
            except BaseException as raised:
                error = raised
                self.sync[ABORT_WORD] = 1
            del call
            self._done.put(error)

    def dismiss(self) -> None:
        """Let the threads end."""
        for inbox in self._inboxes:
            inbox.put(None)


_idle: dict[int, list[Crew]] = {}
_lock = threading.Lock()
MOST_IDLE = 4


def _forget_crews() -> None:
    global _lock
    _lock = threading.Lock()
    _idle.clear()


os.register_at_fork(after_in_child=_forget_crews)


class Team:
    """A number of members; threads are taken from the idle crews for the length of a call."""

    def __init__(self, size: int) -> None:
        self.size = size

    def run(self, kernel: Kernel, *args: Any) -> None:
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
        with _lock:
            idle = _idle.get(self.size)
            if idle:
                return idle.pop()
        return Crew(self.size)

    def _give_back(self, crew: Crew) -> None:
        with _lock:
            idle = _idle.setdefault(self.size, [])
            if len(idle) < MOST_IDLE:
                idle.append(crew)
                return
        crew.dismiss()


ALONE = Team(1)

# Below this much work (cells touched in a call) threads cost more than they bring.
SMALL_WORK = 1 << 15


def current_team(n_jobs: int | None = None, work: int | None = None) -> Team:
    """The team for ``n_jobs`` (None or -1: all that the process may use) and an amount of work.

    ``SAPWOOD_TEAM`` forces a size whatever the machine has, for tests.
    """
    forced = os.environ.get("SAPWOOD_TEAM")
    if forced:
        return Team(int(forced))
    if work is not None and work < SMALL_WORK:
        return ALONE
    most = usable_cpus()
    if n_jobs is None or n_jobs == -1:
        return Team(_environment_limit(most))
    if n_jobs < -1:
        return Team(max(1, most + 1 + n_jobs))
    return Team(min(n_jobs, most))


def _environment_limit(most: int) -> int:
    text = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(most, int(text))) if text.isdigit() else most


@lru_cache(maxsize=1)
def _quota() -> float:
    """CPUs that the control group grants, infinite when it does not say."""
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        return float("inf") if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        pass
    try:
        with open("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") as file:
            quota_us = int(file.read())
        with open("/sys/fs/cgroup/cpu/cpu.cfs_period_us") as file:
            period_us = int(file.read())
        return quota_us / period_us if quota_us > 0 else float("inf")
    except (OSError, ValueError):
        return float("inf")


def usable_cpus() -> int:
    """CPUs that this process may use: its affinity, and the quota of its control group."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, int(min(_quota(), cpus) + 0.5)))
