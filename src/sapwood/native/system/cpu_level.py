"""CPU levels (sets of instructions) that kernels are compiled for, and the level of this machine."""

from __future__ import annotations

import os
import platform

# LLVM features by level, the best level first. They are those of the level's definition.
X86_V2 = "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+sahf"
X86_LEVELS = {
    "x86-64-v3": X86_V2 + ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave",
    "x86-64-v2": X86_V2,
}
ARM_LEVELS = {"generic": "+neon"}
V3_FLAGS = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}  # as /proc/cpuinfo spells them


def cpu_levels() -> dict[str, str]:
    """Return the CPU levels of this machine's architecture, each with its LLVM features."""
    return ARM_LEVELS if platform.machine().lower() in ("arm64", "aarch64") else X86_LEVELS


def best_cpu_level() -> str:
    """Return the best level that this CPU can run; the environment variable ``SAPWOOD_CPU`` selects another."""
    levels = cpu_levels()
    chosen = os.environ.get("SAPWOOD_CPU")
    if chosen:
        if chosen not in levels:
            raise ValueError(f"SAPWOOD_CPU must be one of {', '.join(levels)}, got {chosen!r}")
        return chosen
    if levels is ARM_LEVELS:
        return "generic"
    return "x86-64-v3" if _cpu_flags() >= V3_FLAGS else "x86-64-v2"


def _cpu_flags() -> set[str]:
    try:
        with open("/proc/cpuinfo") as lines:
            for line in lines:
                if line.startswith("flags"):
                    return set(line.split(":", 1)[1].split())
    except OSError:
        pass
    return set()
