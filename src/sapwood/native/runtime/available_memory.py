"""Memory that this process may still take."""

from __future__ import annotations

import os

from sapwood.native.threads.cpu_quota import group_directories

# What control groups call their limit, their use, and the part of it that the system gives back when it is needed.
NAMES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}


def available_memory(system: str = "/") -> int | None:
    """Bytes that are free or can be freed, the least over machine, control groups and limits; None if nobody tells.

    ``system`` is the directory that /proc and /sys are looked for in.
    """
    found = [_free_of_group(directory, version) for version, directory in group_directories("memory", system)]
    found += [
        _free_of_machine(os.path.join(system, "proc/meminfo")),
        _free_of_process(os.path.join(system, "proc/self")),
    ]
    known = [free for free in found if free is not None]
    return max(0, min(known)) if known else None


def _free_of_machine(path: str) -> int | None:
    kilobytes = _entry(path, "MemAvailable:")
    return None if kilobytes is None else 1024 * kilobytes


def _free_of_group(directory: str, version: int) -> int | None:
    limit, used, idle = NAMES[version]
    try:
        with open(os.path.join(directory, limit)) as file:
            most = int(file.read())
        with open(os.path.join(directory, used)) as file:
            taken = int(file.read())
    except (OSError, ValueError):  # a limit of "max" is none
        return None
    return most - taken + (_entry(os.path.join(directory, "memory.stat"), idle) or 0)


def _free_of_process(directory: str) -> int | None:
    """What the limit on address space leaves (``ulimit -v``)."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    taken = _entry(os.path.join(directory, "status"), "VmSize:")
    return None if most == resource.RLIM_INFINITY or taken is None else most - 1024 * taken


def _entry(path: str, name: str) -> int | None:
    """The number behind a name in a file of names and numbers."""
    try:
        with open(path) as file:
            for line in file:
                parts = line.split()
                if len(parts) > 1 and parts[0] == name:
                    return int(parts[1])
    except (OSError, ValueError):
        pass
    return None
