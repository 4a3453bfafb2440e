"""Hatchling build hook: compile the kernels when a wheel is built."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))


class KernelBuildHook(BuildHookInterface):
    """Build the native libraries and tag the wheel for any Python 3 on this platform."""

    def dependencies(self) -> list[str]:
        """Require the ziglang package where the machine has no linker."""
        return ["ziglang"] if _build_module().machine_linker() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build missing libraries before the files of the wheel are collected; progress goes to stderr."""
        if self.target_name != "wheel":
            return
        _build_module().build()
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"


def _build_module() -> ModuleType:
    return importlib.import_module("sapwood.native.compiler.build")
