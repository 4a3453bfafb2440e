"""Running Python with Sapwood in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sapwood.native.compiler import build
from sapwood.native.system.cpu_level import cpu_levels
from tests.processes import PYTHONPATH

OURS = ("SAPWOOD_KERNELS", "SAPWOOD_CPU", "SAPWOOD_TEAM", "SAPWOOD_BOUNDSCHECK", "OMP_NUM_THREADS")

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session")
def start() -> Start:
    """Start Python on some arguments, with settings of Sapwood's in its environment and nothing else of ours."""

    def started(*arguments: str | Path, **settings: str) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if name not in OURS} | settings
        environment["PYTHONPATH"] = PYTHONPATH
        command = [sys.executable, *map(str, arguments)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return started


@pytest.fixture(scope="session")
def libraries() -> dict[str, Path]:
    """The libraries of all CPU levels, built if they are not there."""
    return dict(zip(cpu_levels(), build.build(), strict=True))
