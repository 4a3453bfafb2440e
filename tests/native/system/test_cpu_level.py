"""The CPU level that kernels are loaded for."""

from __future__ import annotations

import pytest

from sapwood.native.system import cpu_level


def test_a_cpu_level_can_be_chosen(monkeypatch):
    for level in cpu_level.cpu_levels():
        monkeypatch.setenv("SAPWOOD_CPU", level)
        assert cpu_level.best_cpu_level() == level


def test_an_unknown_cpu_level_is_refused(monkeypatch):
    monkeypatch.setenv("SAPWOOD_CPU", "pentium")
    with pytest.raises(ValueError, match=r"SAPWOOD_CPU must be one of .*, got 'pentium'"):
        cpu_level.best_cpu_level()


@pytest.mark.parametrize(
    ("flags", "level"),
    [
        ("avx avx2 bmi1 bmi2 f16c fma abm movbe sse4_2", "x86-64-v3"),
        ("avx avx2 bmi1 bmi2 f16c abm movbe sse4_2", "x86-64-v2"),
        ("", "x86-64-v2"),
    ],
)
def test_the_best_level_is_what_the_cpu_has(monkeypatch, flags, level):
    monkeypatch.delenv("SAPWOOD_CPU", raising=False)
    monkeypatch.setattr(cpu_level.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(cpu_level, "_cpu_flags", lambda: set(flags.split()))
    assert cpu_level.best_cpu_level() == level


def test_arm_has_one_level(monkeypatch):
    monkeypatch.delenv("SAPWOOD_CPU", raising=False)
    monkeypatch.setattr(cpu_level.platform, "machine", lambda: "arm64")
    assert cpu_level.best_cpu_level() == "generic"
