"""Versions of Sapwood and of what it runs on, for bug reports."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys

import sapwood
from sapwood.native.runtime import kernel
from sapwood.native.system.cpu_count import usable_cpus
from sapwood.native.system.cpu_level import best_cpu_level

PACKAGES = ("numpy", "scikit-learn", "narwhals", "safetensors", "numba", "pandas", "polars", "pyarrow", "scipy")


def versions() -> dict[str, str]:
    """Return the versions of Sapwood, Python and the packages it works with, and how kernels run."""
    found = {
        "sapwood": sapwood.__version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "kernels": _kernels(),
        "threads": f"{usable_cpus()} of {os.cpu_count()} CPUs",
    }
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def show_versions() -> None:
    """Print the versions of Sapwood and of what it runs on, one per line, for bug reports.

    Examples
    --------
    >>> import sapwood
    >>> sapwood.show_versions()  # doctest: +ELLIPSIS
    sapwood ...
    """
    found = versions()
    width = max(map(len, found))
    for name, version in found.items():
        print(f"{name:<{width}}  {version}")


def _kernels() -> str:
    chosen = kernel.mode()
    return f"native for {best_cpu_level()}" if chosen == "native" else chosen
