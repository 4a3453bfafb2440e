"""Memory that this process can still allocate."""

from __future__ import annotations

import os

from sapwood.native.system.cgroups import group_directories

# Files of a control group that hold its limit and its usage, and the entry of memory.stat that can be reclaimed, by
# version of the interface.
NAMES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


def available_memory(system: str = "/") -> int | None:
    """Return the bytes that are free or can be reclaimed, None if the system does not report them.

    It is the minimum over the machine, control groups and process limits. ``system`` is the directory that holds /proc
    and /sys.
    """
    limits = [_free_of_group(directory, version) for version, directory in group_directories("memory", system)]
    limits += [
        _free_of_machine(os.path.join(system, "proc/meminfo")),
        _free_of_process(os.path.join(system, "proc/self")),
    ]
    reported = [free for free in limits if free is not None]
    return max(0, min(reported)) if reported else None


def _free_of_machine(path: str) -> int | None:
    kilobytes = _entry(path, "MemAvailable:")
    return None if kilobytes is None else 1024 * kilobytes


def _free_of_group(directory: str, version: int) -> int | None:
    limit_file, usage_file, reclaimable = NAMES[version]
    try:
        with open(os.path.join(directory, limit_file)) as file:
            limit = int(file.read())
        with open(os.path.join(directory, usage_file)) as file:
            usage = int(file.read())
    except (OSError, ValueError):  # "max" means no limit
        return None
    return limit - usage + (_entry(os.path.join(directory, "memory.stat"), reclaimable) or 0)


def _free_of_process(directory: str) -> int | None:
    """Return what the limit on address space (``ulimit -v``) leaves."""
    try:
        import resource
    except ImportError:
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    kilobytes = _entry(os.path.join(directory, "status"), "VmSize:")
    return None if limit == resource.RLIM_INFINITY or kilobytes is None else limit - 1024 * kilobytes


def _entry(path: str, name: str) -> int | None:
    """Return the number after a name in a file of names and numbers."""
    try:
        with open(path) as file:
            for line in file:
                parts = line.split()
                if len(parts) > 1 and parts[0] == name:
                    return int(parts[1])
    except (OSError, ValueError):
        pass
    return None
