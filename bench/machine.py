"""Describe the machine and check whether it is idle."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from pathlib import Path

BUSY = 0.5


def describe() -> dict[str, object]:
    """Return processor, cores, memory, system, Python and load."""
    return {
        "processor": processor(),
        "cores": cores(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load": load(),
        "when": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def processor() -> str:
    """Return the name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load() -> float:
    """Return the load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def warn_if_busy(threads: int) -> None:
    """Print a warning if the machine is busy, or has fewer cores than the libraries get threads."""
    if load() > BUSY:
        print(f"WARNING: the load average is {load()}: the machine is not idle, so these times mean little")
    if cores() < threads:
        print(f"WARNING: {threads} threads share {cores()} cores, so these times mean little")
