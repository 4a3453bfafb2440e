"""Object files: the machine code of one kernel variant for one CPU level, kept in a cache.

The name of an object ends in a hash of everything that decides its code: the source of the kernel and of all it calls,
the types of its arguments, the compiler and the CPU level. Comments and docstrings do not count. Numba generates LLVM
IR for no CPU in particular; LLVM then optimises it for each level.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
import os
import pkgutil
import textwrap
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sapwood.native.compiler import sources
from sapwood.native.runtime.kernel import LAYOUTS, REGISTRY, Kernel
from sapwood.native.runtime.signature import Record


def import_kernels() -> None:
    """Import every kernel module, so that the registry is complete."""
    importlib.import_module("sapwood.native.threads.spin_wait")
    for name in sources.KERNEL_PACKAGES:
        package = importlib.import_module(f"sapwood.{name}")
        for module in pkgutil.walk_packages(package.__path__, f"sapwood.{name}."):
            importlib.import_module(module.name)


def compiler_versions() -> dict[str, str]:
    """Return the versions of the packages that generate code."""
    return {"numba": version("numba"), "llvmlite": version("llvmlite")}


def object_path(kernel: Kernel, variant: int, level: str, folder: Path) -> Path:
    """Return the path of the object of one variant in a cache folder."""
    digest = hashlib.sha256(json.dumps({**compiler_versions(), "level": level}, sort_keys=True).encode())
    for path in sources.compiler_files():
        digest.update(_file_code(path).encode())
    digest.update(repr((kernel.variants[variant], kernel.takes_team)).encode())
    for kind in kernel.variants[variant]:
        if isinstance(kind, Record):  # code finds fields by their positions
            digest.update(repr(list(kind.layout.__annotations__)).encode())
    for source in called_sources(kernel):
        digest.update(source.encode())
    return folder / level / f"{kernel.name}_{variant}-{digest.hexdigest()[:24]}.o"


def called_sources(kernel: Kernel, seen: set[str] | None = None) -> list[str]:
    """Return the sources of a kernel and of all it calls, and the constants they name."""
    seen = set() if seen is None else seen
    if kernel.name in seen:
        return []
    seen.add(kernel.name)
    found = [_function_code(kernel.function)]
    scope = kernel.function.__globals__
    for name in sorted(set(kernel.function.__code__.co_names) & scope.keys()):
        value = scope[name]
        if isinstance(value, Kernel):
            found += called_sources(value, seen)
        elif isinstance(value, type) and value.__name__ in LAYOUTS:
            found.append(repr(value.__annotations__))
        elif not inspect.ismodule(value) and not callable(value):
            found.append(f"{name}={value!r}")
    return found


@cache
def _function_code(function: Callable[..., Any]) -> str:
    return _without_comments(textwrap.dedent(inspect.getsource(function)))


@cache
def _file_code(path: Path) -> str:
    return _without_comments(path.read_text())


def _without_comments(source: str) -> str:
    """Return source code without comments and docstrings."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)


def object_paths(level: str, folder: Path) -> list[Path]:
    """Return the paths of all objects of a level."""
    return [
        object_path(REGISTRY[name], variant, level, folder)
        for name in sorted(REGISTRY)
        for variant in range(len(REGISTRY[name].variants))
    ]


def missing_kernels(levels: list[str], folder: Path) -> list[str]:
    """Return the kernels that lack an object, those that take longest to translate last."""
    import_kernels()
    missing = [
        kernel
        for kernel in REGISTRY.values()
        for variant in range(len(kernel.variants))
        if not all(object_path(kernel, variant, level, folder).exists() for level in levels)
    ]
    names = {kernel.name: sum(map(len, called_sources(kernel))) for kernel in missing}
    return sorted(names, key=lambda name: (names[name], name))


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that no process ever sees a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.write_bytes(data)
    os.replace(partial, path)
