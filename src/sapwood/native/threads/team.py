"""A team of threads that run one kernel together, each with its own number, and the size of the team for some work.

``Team.run(kernel, *args)`` returns when every member has returned. The members synchronise inside the kernel
(``kernels/threads/barrier.py``). Threads are taken from a pool for the length of a call, so two fits in two Python
threads never share one; a forked child starts with none.
"""

from __future__ import annotations

import os
from typing import Any

from sapwood.native.runtime.kernel import Kernel, RepeatedCall
from sapwood.native.system.cpu_count import usable_cpus
from sapwood.native.threads.side_by_side import CoreShare, current_share
from sapwood.native.threads.worker_threads import WorkerThreads

# Idle threads by size of the team. Lists are appended to and popped from in one step, so no lock is needed, which a
# fork could leave locked.
_idle: dict[int, list[WorkerThreads]] = {}
MAX_IDLE = 4

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


class Team:
    """A number of members; ``run`` runs a kernel on all of them.

    A team whose cores are shared with other Python threads has fewer ``members`` than its ``size``, for which memory is
    allocated, until the cores are free. The number changes in ``take_free_cores`` only.
    """

    def __init__(self, size: int, share: CoreShare | None = None) -> None:
        self.size = self.members = size
        self._share = share
        self.take_free_cores()

    def take_free_cores(self) -> None:
        """Let the team have as many members as there are cores for it now, at most its size."""
        if self._share is not None:
            self.members = self._share.part_of(self.size)

    def run(self, kernel: Kernel | RepeatedCall, *args: Any) -> None:
        """Run a kernel with these arguments on all members."""
        if self.members == 1 or not kernel.takes_team:
            kernel(*args)
            return
        threads = self._acquire()
        try:
            threads.run(kernel, args)
        finally:
            self._release(threads)

    def _acquire(self) -> WorkerThreads:
        try:
            return _idle[self.members].pop()
        except (KeyError, IndexError):
            return WorkerThreads(self.members)

    def _release(self, threads: WorkerThreads) -> None:
        idle = _idle.setdefault(threads.size, [])
        if len(idle) < MAX_IDLE:
            idle.append(threads)


SERIAL_TEAM = Team(1)

# Below this much work (cells touched in a call) threads cost more than they save.
MIN_PARALLEL_WORK = 1 << 15
# For training: rows times features of the table.
MIN_PARALLEL_TABLE = 12_000


def current_team(n_jobs: int | None = None, work: int | None = None, min_work: int = MIN_PARALLEL_WORK) -> Team:
    """Return the team for ``n_jobs`` (None or -1: all usable CPUs); a team of one for less work than ``min_work``.

    The environment variable ``SAPWOOD_TEAM`` forces a size whatever the machine has, for tests.
    """
    if work is not None and work < min_work and not os.environ.get("SAPWOOD_TEAM"):
        return SERIAL_TEAM
    return Team(count_threads(n_jobs), current_share())


def count_threads(n_jobs: int | None = None) -> int:
    """Return the number of threads for ``n_jobs``, however little work there is."""
    forced = os.environ.get("SAPWOOD_TEAM")
    if forced:
        return int(forced)
    n_cpus = usable_cpus()
    if n_jobs is None or n_jobs == -1:
        return _environment_limit(n_cpus)
    return max(1, n_cpus + 1 + n_jobs) if n_jobs < -1 else min(n_jobs, n_cpus)


def training_team(n_jobs: int | None, n_rows: int, n_features: int) -> Team:
    """Return the team for training on a table of this size."""
    return current_team(n_jobs, n_rows * n_features, MIN_PARALLEL_TABLE)


def _environment_limit(n_cpus: int) -> int:
    text = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(n_cpus, int(text))) if text.isdigit() else n_cpus
