"""Objects: one file of machine code per kernel variant and CPU level, kept in a cache.

The name of an object ends in a hash of everything that decides its code: the source of the kernel and of all it calls
(without comments and docstrings), the types of its arguments, the compiler and the CPU level. Numba generates LLVM IR
for no CPU in particular; LLVM then optimises it for each level.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import json
import os
import pkgutil
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
    import sapwood.kernels
    import sapwood.native.threads.spin_wait

    for module in pkgutil.walk_packages(sapwood.kernels.__path__, "sapwood.kernels."):
        importlib.import_module(module.name)


def compilers() -> dict[str, str]:
    """The versions that decide what code is made."""
    return {"numba": version("numba"), "llvmlite": version("llvmlite")}


def object_path(kernel: Kernel, variant: int, level: str, cache: Path) -> Path:
    """Where the object of one variant lies."""
    digest = hashlib.sha256(json.dumps({**compilers(), "level": level}, sort_keys=True).encode())
    for path in sources.compiler_files():
        digest.update(path.read_bytes())
    digest.update(repr((kernel.variants[variant], kernel.takes_team)).encode())
    for kind in kernel.variants[variant]:
        if isinstance(kind, Record):  # code finds fields by their places
            digest.update(repr(list(kind.layout.__annotations__)).encode())
    for source in called_sources(kernel):
        digest.update(source.encode())
    return cache / level / f"{kernel.name}_{variant}-{digest.hexdigest()[:24]}.o"


def called_sources(kernel: Kernel, seen: set[str] | None = None) -> list[str]:
    """The sources of a kernel and of all it calls, and the constants they name."""
    seen = set() if seen is None else seen
    if kernel.name in seen:
        return []
    seen.add(kernel.name)
    found = [_code_of(kernel.function)]
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
def _code_of(function: Callable[..., Any]) -> str:
    """Return the source of a function without comments and docstring."""
    tree = ast.parse(inspect.getsource(function))
    body = tree.body[0].body  # type: ignore[attr-defined]
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body.pop(0)
    return ast.unparse(tree)


def all_objects(level: str, cache: Path) -> list[Path]:
    """The paths of all objects of a level."""
    return [
        object_path(REGISTRY[name], variant, level, cache)
        for name in sorted(REGISTRY)
        for variant in range(len(REGISTRY[name].variants))
    ]


def missing_kernels(levels: list[str], cache: Path) -> list[str]:
    """The kernels that lack an object, those that take longest to compile first."""
    import_kernels()
    missing = [
        kernel
        for kernel in REGISTRY.values()
        for variant in range(len(kernel.variants))
        if not all(object_path(kernel, variant, level, cache).exists() for level in levels)
    ]
    names = {kernel.name: sum(map(len, called_sources(kernel))) for kernel in missing}
    return sorted(names, key=lambda name: (-names[name], name))


def compile_objects(levels: list[str], names: list[str], cache_folder: str, taken: str) -> None:
    """Compile for all levels the kernels that no other process has taken; runs in a process of its own."""
    from sapwood.native.compiler import numba as compile

    compile.compile_ahead()
    import_kernels()
    machines = {level: _machine(level) for level in levels}
    for kernel in (REGISTRY[name] for name in names):
        for variant in range(len(kernel.variants)):
            if not _take(Path(taken, f"{kernel.name}_{variant}")):
                continue
            code = str(compile.module_of(kernel, variant))
            for level, machine in machines.items():
                path = object_path(kernel, variant, level, Path(cache_folder))
                if not path.exists():
                    write_whole(path, optimised(code, machine))


def _take(mark: Path) -> bool:
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def _machine(level: str) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    features = sources.levels()[level]
    return target.create_target_machine(cpu=level, features=features, opt=3, reloc="pic", codemodel="default")


def optimised(code: str, machine: Any) -> bytes:
    """The object of an LLVM module, optimised for a machine."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(code)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    data: bytes = machine.emit_object(module)
    return data


def plain_object(code: str, level: str) -> bytes:
    """The object of a little LLVM code, as it is."""
    import llvmlite.binding as llvm

    data: bytes = _machine(level).emit_object(llvm.parse_assembly(code))
    return data


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that no one ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.write_bytes(data)
    os.replace(partial, path)
