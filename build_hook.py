"""Compile the kernels while the wheel is built."""

from __future__ import annotations

import importlib
import os
import sys
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))


class KernelBuildHook(BuildHookInterface):
    """Build the native libraries and tag the wheel: any Python, this platform."""

    def dependencies(self) -> list[str]:
        """Ask for a linker where the machine has none."""
        import shutil

        linkers = ("cc", "gcc", "clang", "ld.lld", "ld")
        return [] if any(shutil.which(name) for name in linkers) else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build what is missing before files are collected."""
        if self.target_name != "wheel":
            return
        build = importlib.import_module("sapwood.native.compiler.build")
        build.build()
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
