"""What the compiled library is made of: its identity, its place and its CPU levels."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
FOLDER = PACKAGE / "native" / "lib"
SUFFIX = ".dylib" if sys.platform == "darwin" else ".so"

# Best first. The features are what the level's definition lists; nothing else of the build machine is used.
X86_V2 = "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+sahf"
X86_LEVELS = {
    "x86-64-v3": X86_V2 + ",+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe,+xsave",
    "x86-64-v2": X86_V2,
}
ARM_LEVELS = {"generic": "+neon"}
V3_FLAGS = {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}


def levels() -> dict[str, str]:
    """The CPU levels built for this machine's architecture, each with its LLVM features."""
    return ARM_LEVELS if platform.machine().lower() in ("arm64", "aarch64") else X86_LEVELS


def source_files() -> list[Path]:
    """The files that decide what the library contains."""
    return [*sorted((PACKAGE / "kernels").rglob("*.py")), *compiler_files(), PACKAGE / "native/threads/spin_wait.py"]


def compiler_files() -> list[Path]:
    """The files that decide how kernels are compiled."""
    names = ("runtime/signature", "runtime/intrinsics", "compiler/numba", "compiler/objects", "compiler/sources")
    return [PACKAGE / "native" / f"{name}.py" for name in names]


def source_hash() -> str:
    """The identity of kernels and compiler; it is part of the library's file name."""
    digest = hashlib.sha256()
    for path in source_files():
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def library_path(level: str, identity: str) -> Path:
    """Where the library of a CPU level lies."""
    return FOLDER / f"sapwood-{identity}-{level}{SUFFIX}"


def best_level() -> str:
    """The best level this CPU can run; ``SAPWOOD_CPU`` chooses another."""
    known = levels()
    chosen = os.environ.get("SAPWOOD_CPU")
    if chosen:
        if chosen not in known:
            raise ValueError(f"SAPWOOD_CPU must be one of {', '.join(known)}, got {chosen!r}")
        return chosen
    if known is ARM_LEVELS:
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
