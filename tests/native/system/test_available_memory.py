"""Memory that the machine, control groups and limits leave to a process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sapwood.native.system.available_memory import available_memory

GIGABYTE = 2**30


def write(root: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(root)


MACHINE = {"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:   4194304 kB\n", "proc/self/status": "VmSize: 100 kB\n"}
VERSION_2 = {
    "proc/self/cgroup": "0::/job\n",
    "proc/self/mountinfo": "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
    "sys/fs/cgroup/job/memory.max": str(3 * GIGABYTE),
    "sys/fs/cgroup/job/memory.current": str(2 * GIGABYTE),
    "sys/fs/cgroup/job/memory.stat": f"anon 5\ninactive_file {GIGABYTE}\n",
}
VERSION_1 = {
    "proc/self/cgroup": "4:memory:/job\n",
    "proc/self/mountinfo": "1 2 0:3 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
    "sys/fs/cgroup/memory/job/memory.limit_in_bytes": str(3 * GIGABYTE),
    "sys/fs/cgroup/memory/job/memory.usage_in_bytes": str(GIGABYTE),
}


def test_without_limits_it_is_what_the_machine_has(tmp_path):
    assert available_memory(write(tmp_path, MACHINE)) == 4 * GIGABYTE


@pytest.mark.parametrize("group", [VERSION_1, VERSION_2], ids=["version 1", "version 2"])
def test_a_control_group_limits_it(group, tmp_path):
    assert available_memory(write(tmp_path, MACHINE | group)) == 2 * GIGABYTE


def test_a_group_without_limit_changes_nothing(tmp_path):
    files = MACHINE | VERSION_2 | {"sys/fs/cgroup/job/memory.max": "max"}
    assert available_memory(write(tmp_path, files)) == 4 * GIGABYTE


def test_a_group_beyond_its_limit_leaves_nothing(tmp_path):
    files = MACHINE | VERSION_2 | {"sys/fs/cgroup/job/memory.current": str(9 * GIGABYTE)}
    assert available_memory(write(tmp_path, files)) == 0


def test_none_where_the_system_does_not_report_it(tmp_path):
    assert available_memory(str(tmp_path)) is None


@pytest.mark.skipif(not os.path.exists("/proc/meminfo"), reason="no /proc")
def test_this_machine_reports_it():
    assert (available_memory() or 0) > 2**20
