"""Control groups of this process, in containers and under systemd alike."""

from __future__ import annotations

import os
from collections.abc import Iterator

from sapwood.lazy_dataclass import dataclass


@dataclass(frozen=True)
class Mount:
    """A mounted tree of control groups: of version 2 of the interface, or of a controller of version 1."""

    version: int
    point: str
    root: str


def group_directories(controller: str, system: str = "/") -> Iterator[tuple[int, str]]:
    """Yield version and directory of this process's control group for a controller, and of the groups around it.

    ``system`` is the directory that holds /proc and /sys.
    """
    groups = _groups(os.path.join(system, "proc/self/cgroup"), controller)
    for mount in _mounts(os.path.join(system, "proc/self/mountinfo"), controller):
        if mount.version in groups:
            for directory in _up_from(groups[mount.version], mount):
                yield mount.version, os.path.join(system, directory.lstrip("/"))


def _groups(path: str, controller: str) -> dict[int, str]:
    """Return the control group of this process by version of the interface; a line is ``number:controllers:path``."""
    groups = {}
    for line in _lines(path):
        parts = line.split(":", 2)
        if len(parts) == 3 and (parts[0], parts[1]) == ("0", ""):
            groups[2] = parts[2]
        elif len(parts) == 3 and controller in parts[1].split(","):
            groups[1] = parts[2]
    return groups


def _mounts(path: str, controller: str) -> Iterator[Mount]:
    """Yield the mounts of control groups; a line is ``.. .. .. root point options .. - type source options``."""
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
    """Yield the directories of a group and of all around it, as far as they are visible below the mount."""
    inside = group[len(mount.root) :] if group.startswith(mount.root) and mount.root != "/" else group
    names = [name for name in inside.split("/") if name not in ("", "..")]
    for depth in range(len(names), -1, -1):
        yield "/".join([mount.point, *names[:depth]])


def _lines(path: str) -> list[str]:
    try:
        with open(path) as file:
            return file.read().splitlines()
    except (OSError, UnicodeDecodeError):
        return []
