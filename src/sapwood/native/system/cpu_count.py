"""Number of CPUs that this process may use: its affinity, and the quota of its control groups."""

from __future__ import annotations

import os
from functools import lru_cache

from sapwood.native.system.cgroups import group_directories

UNLIMITED = float("inf")


def usable_cpus() -> int:
    """Return the number of CPUs that this process may use, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, int(min(_cached_quota(), cpus) + 0.5)))


@lru_cache(maxsize=1)
def _cached_quota() -> float:
    return cpu_quota()


def cpu_quota(system: str = "/") -> float:
    """Return the number of CPUs that the control groups of this process grant it, infinite without a limit.

    It is the minimum over its group and those around it. ``system`` is the directory that holds /proc and /sys.
    """
    return min(
        (_group_quota(directory, version) for version, directory in group_directories("cpu", system)),
        default=UNLIMITED,
    )


def _group_quota(directory: str, version: int) -> float:
    try:
        if version == 2:
            quota, period = _text(directory, "cpu.max").split()
        else:
            quota, period = _text(directory, "cpu.cfs_quota_us"), _text(directory, "cpu.cfs_period_us")
        cpus = UNLIMITED if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return UNLIMITED
    return cpus if cpus > 0 else UNLIMITED


def _text(directory: str, name: str) -> str:
    with open(os.path.join(directory, name)) as file:
        return file.read().strip()
