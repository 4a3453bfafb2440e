"""CPUs that control groups grant to this process, in containers and under systemd alike."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

UNLIMITED = float("inf")


@dataclass(frozen=True)
class Mount:
    """A place where a tree of control groups can be seen: version 2 of the interface, or a part of version 1."""

    version: int
    point: str
    root: str


def granted_cpus(system: str = "/") -> float:
    """The CPUs that this process may use at a time, the least over its control group and those it lies in.

    Infinite where nobody limits it. ``system`` is the directory that /proc and /sys are looked for in.
    """
    return min(
        (_quota(directory, version) for version, directory in group_directories("cpu", system)), default=UNLIMITED
    )


def group_directories(controller: str, system: str = "/") -> Iterator[tuple[int, str]]:
    """The version and directory of this process's control group for a controller, and of those it lies in."""
    groups = _groups(os.path.join(system, "proc/self/cgroup"), controller)
    for mount in _mounts(os.path.join(system, "proc/self/mountinfo"), controller):
        if mount.version in groups:
            for directory in _up_from(groups[mount.version], mount):
                yield mount.version, os.path.join(system, directory.lstrip("/"))


def _groups(path: str, controller: str) -> dict[int, str]:
    """The control group of this process by version of the interface; its lines are ``number:controllers:path``."""
    groups = {}
    for line in _lines(path):
        parts = line.split(":", 2)
        if len(parts) == 3 and (parts[0], parts[1]) == ("0", ""):
            groups[2] = parts[2]
        elif len(parts) == 3 and controller in parts[1].split(","):
            groups[1] = parts[2]
    return groups


def _mounts(path: str, controller: str) -> Iterator[Mount]:
    """Where control groups are mounted; a line is ``.. .. .. root point options .. - type source options``."""
    for line in _lines(path):
        before, _, after = line.partition(" - ")
        left, right = before.split(), after.split()
        if len(left) < 5 or len(right) < 3:
            continue
        root, point = left[3], left[4]
        if right[0] == "cgroup2":
            yield Mount(2, point, root)
        elif right[0] == "cgroup" and controller in right[2].split(","):
            yield Mount(1, point, root)


def _up_from(group: str, mount: Mount) -> Iterator[str]:
    """The directories of a group and of all around it, as far as they can be seen below the mount."""
    inside = group[len(mount.root) :] if group.startswith(mount.root) and mount.root != "/" else group
    names = [name for name in inside.split("/") if name not in ("", "..")]
    for depth in range(len(names), -1, -1):
        yield "/".join([mount.point, *names[:depth]])


def _quota(directory: str, version: int) -> float:
    try:
        if version == 2:
            quota, period = _text(directory, "cpu.max").split()
        else:
            quota, period = _text(directory, "cpu.cfs_quota_us"), _text(directory, "cpu.cfs_period_us")
        granted = UNLIMITED if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError, ZeroDivisionError):
        return UNLIMITED
    return granted if granted > 0 else UNLIMITED


def _text(directory: str, name: str) -> str:
    with open(os.path.join(directory, name)) as file:
        return file.read().strip()


def _lines(path: str) -> list[str]:
    try:
        with open(path) as file:
            return file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
