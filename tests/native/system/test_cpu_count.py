"""CPU quota of control groups, by either version of their interface, in containers and outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from sapwood.native.system.cpu_count import cpu_quota

V2 = "24 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = "30 25 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
HYBRID = V1 + "40 25 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
V1_IN_A_CONTAINER = "30 25 0:26 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n"
UNLIMITED = float("inf")


@pytest.fixture
def system(tmp_path):
    """A machine with such files; those of control groups by their path below /sys/fs/cgroup."""

    def made(mounts: str, group: str, **files: str) -> str:
        texts = {"proc/self/mountinfo": mounts, "proc/self/cgroup": group}
        texts |= {f"sys/fs/cgroup/{name}": text for name, text in files.items()}
        for name, text in texts.items():
            path = Path(tmp_path, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return str(tmp_path)

    return made


def cfs(directory: str, quota: int, period: int = 100000) -> dict[str, str]:
    return {f"{directory}/cpu.cfs_quota_us": f"{quota}\n", f"{directory}/cpu.cfs_period_us": f"{period}\n"}


@pytest.mark.parametrize(
    ("mounts", "group", "files", "quota"),
    [
        pytest.param(V2, "0::/\n", {"cpu.max": "250000 100000\n"}, 2.5, id="a container"),
        pytest.param(V2, "0::/\n", {"cpu.max": "max 100000\n"}, UNLIMITED, id="a container without limit"),
        pytest.param(
            V2, "0::/user.slice/run.scope\n", {"user.slice/run.scope/cpu.max": "150000 100000"}, 1.5, id="systemd-run"
        ),
        pytest.param(
            V2,
            "0::/a.slice/b.service\n",
            {"a.slice/b.service/cpu.max": "max 100000", "a.slice/cpu.max": "50000 100000"},
            0.5,
            id="a slice around a service",
        ),
        pytest.param(
            V2,
            "0::/a.slice/b.service\n",
            {"a.slice/b.service/cpu.max": "100000 100000", "a.slice/cpu.max": "400000 100000"},
            1.0,
            id="a service within a slice",
        ),
        pytest.param(V1, "4:cpu,cpuacct:/\n3:memory:/x\n", cfs("cpu,cpuacct", -1), UNLIMITED, id="v1 without limit"),
        pytest.param(V1, "4:cpu,cpuacct:/job\n", cfs("cpu,cpuacct/job", 400000), 4.0, id="v1"),
        pytest.param(V1_IN_A_CONTAINER, "4:cpu,cpuacct:/docker/abc\n", cfs("cpu", 200000), 2.0, id="v1 in a container"),
        pytest.param(HYBRID, "4:cpu,cpuacct:/job\n0::/job\n", cfs("cpu,cpuacct/job", 300000), 3.0, id="hybrid"),
        pytest.param(V2, "0::/../other\n", {"cpu.max": "200000 100000"}, 2.0, id="a group that cannot be seen"),
        pytest.param(V2, "0::/\n", {"cpu.max": "nonsense"}, UNLIMITED, id="nonsense"),
        pytest.param(V2, "0::/\n", {"cpu.max": "100000 0"}, UNLIMITED, id="a period of nothing"),
        pytest.param("nonsense - \n", "nonsense\n", {}, UNLIMITED, id="other nonsense"),
        pytest.param(V2, "", {"cpu.max": "200000 100000"}, UNLIMITED, id="a process in no group"),
    ],
)
def test_the_quota_is_the_minimum_over_all_groups_around_the_process(system, mounts, group, files, quota):
    assert cpu_quota(system(mounts, group, **files)) == quota


def test_a_system_without_control_groups_sets_no_quota(tmp_path):
    assert cpu_quota(str(tmp_path)) == UNLIMITED


def test_this_machine_can_be_read():
    assert cpu_quota() > 0
