"""Build the library: every kernel to LLVM, to an object per CPU level, to one shared library per level.

``python -m sapwood.native.build [level ...]`` builds in place. Objects are cached by the source of the kernel and all
it calls, so that a change recompiles what it touches. Each level is built in a process of its own, because Numba
fixes its CPU when it is imported.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sapwood.native import sources
from sapwood.native.elf import undefined_symbols
from sapwood.native.kernel import LAYOUTS, REGISTRY, Kernel
from sapwood.native.signature import Record

# libc, and the functions of libm whose results are exact on every machine.
ALLOWED_UNDEFINED = {
    "memset", "memcpy", "memmove", "bcmp", "memcmp", "syscall", "usleep", "floor", "ceil", "trunc", "rint", "sqrt",
}  # fmt: skip


class BuildError(RuntimeError):
    """The library could not be built."""


def find_linker() -> list[str] | None:
    """A command that links, or None: the machine's compiler driver or linker, else that of the ziglang package."""
    for name in ("cc", "gcc", "clang", "ld.lld", "ld"):
        path = shutil.which(name)
        if path:
            return [path, "-nostdlib"] if name in ("cc", "gcc", "clang") else [path]
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "ld.lld"]
    return None


def import_kernels() -> None:
    """Import every kernel module, so that the registry is complete."""
    import sapwood.kernels

    for module in pkgutil.iter_modules(sapwood.kernels.__path__):
        importlib.import_module(f"sapwood.kernels.{module.name}")


def build(levels: Iterable[str] | None = None) -> list[Path]:
    """Build the libraries of the levels (all by default) that are not there yet; return their paths.

    Only one process builds at a time; another that waited finds the work done.
    """
    cache = sources.PACKAGE.parent.parent / "build" / "objects"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        _wait_for(lock)
        return _build(levels, cache)


def _wait_for(lock: Any) -> None:
    if importlib.util.find_spec("fcntl"):
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)


def _build(levels: Iterable[str] | None, cache: Path) -> list[Path]:
    identity = sources.source_hash()
    made = []
    running = []
    for level in levels or sources.levels():
        target = sources.library_path(level, identity)
        made.append(target)
        if not target.exists():
            running.append((level, _start(level, target, cache)))
    for level, process in running:
        output, _ = process.communicate()
        if process.returncode != 0:
            raise BuildError(f"building the kernels for {level} failed:\n{output}")
    for old in sources.FOLDER.glob(f"sapwood-*{sources.SUFFIX}"):
        if identity not in old.name:
            old.unlink(missing_ok=True)
    return made


def _start(level: str, target: Path, cache: Path) -> subprocess.Popen[str]:
    environment = dict(os.environ)
    environment.pop("SAPWOOD_BOUNDSCHECK", None)
    environment["NUMBA_CPU_NAME"] = level
    environment["NUMBA_CPU_FEATURES"] = sources.levels()[level]
    environment["NUMBA_DISABLE_INTEL_SVML"] = "1"
    environment["NUMBA_OPT"] = "0"  # one optimisation at the end instead of one per function
    # The child sees what we see, whatever build front ends do to the search path when Python starts.
    search = [str(sources.PACKAGE.parent), *(path for path in sys.path if path)]
    code = f"import sys; sys.path[:] = {search!r}; from sapwood.native import build; build.build_level(*sys.argv[1:])"
    command = [sys.executable, "-c", code, level, str(target), str(cache)]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tempfile.gettempdir()
    )


def build_level(level: str, target: str, cache_folder: str) -> None:
    """Compile every kernel for one level and link the library."""
    import llvmlite
    import llvmlite.binding as llvm
    import numba

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    import_kernels()
    cache = Path(cache_folder) / level
    cache.mkdir(parents=True, exist_ok=True)
    versions = {"numba": numba.__version__, "llvmlite": llvmlite.__version__, "level": level}
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=level, features=sources.levels()[level], opt=3, reloc="pic", codemodel="default"
    )
    objects = []
    for kernel in (REGISTRY[name] for name in sorted(REGISTRY)):
        for variant in range(len(kernel.variants)):
            path = cache / f"{kernel.name}_{variant}-{_key(kernel, variant, versions)}.o"
            if not path.exists():
                _write(path, _object(kernel, variant, machine))
            objects.append(path)
    manifest = json.dumps({**versions, "sources": sources.source_hash()}, sort_keys=True)
    path = cache / f"manifest-{hashlib.sha256(manifest.encode()).hexdigest()[:16]}.o"
    if not path.exists():
        _write(path, machine.emit_object(llvm.parse_assembly(_manifest(manifest))))
    _link([*objects, path], Path(target))
    _forget_others(cache, {*objects, path})


def _object(kernel: Kernel, variant: int, machine: Any) -> bytes:
    import llvmlite.binding as llvm

    from sapwood.native import compile

    compile.compile_ahead()
    module = compile.module_of(kernel, variant)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    data: bytes = machine.emit_object(module)
    return data


def _manifest(text: str) -> str:
    data = text.encode() + b"\0"
    body = "".join(f"\\{byte:02X}" for byte in data)
    return f'@sapwood_manifest = constant [{len(data)} x i8] c"{body}"\n'


def _link(objects: list[Path], target: Path) -> None:
    linker = find_linker()
    if linker is None:
        raise BuildError("no linker found: install a C compiler, or the ziglang package, and build again")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + f".{os.getpid()}.part")
    shape = ["-dynamiclib", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared", "-s"]
    names = [str(path) for path in objects]
    result = subprocess.run([*linker, *shape, "-o", str(partial), *names], capture_output=True, text=True)
    if result.returncode != 0:
        raise BuildError(f"{' '.join(linker)} failed:\n{result.stderr}")
    if sys.platform.startswith("linux"):
        foreign = undefined_symbols(partial.read_bytes()) - ALLOWED_UNDEFINED
        if foreign:
            partial.unlink()
            raise BuildError(f"kernels need symbols that are neither libc's nor exact libm's: {sorted(foreign)}")
    os.replace(partial, target)


def _write(path: Path, data: bytes) -> None:
    partial = path.with_suffix(f".{os.getpid()}.part")
    partial.write_bytes(data)
    os.replace(partial, path)


def _forget_others(cache: Path, kept: set[Path]) -> None:
    for path in cache.glob("*.o"):
        if path not in kept:
            path.unlink(missing_ok=True)


def _key(kernel: Kernel, variant: int, versions: dict[str, str]) -> str:
    """Hash of everything that decides the object of one variant."""
    digest = hashlib.sha256(json.dumps(versions, sort_keys=True).encode())
    for name in ("signature.py", "intrinsics.py", "compile.py", "sources.py"):
        digest.update((sources.PACKAGE / "native" / name).read_bytes())
    digest.update(repr((kernel.variants[variant], kernel.takes_team)).encode())
    for kind in kernel.variants[variant]:
        if isinstance(kind, Record):  # code finds fields by their places
            digest.update(repr(list(kind.layout.__annotations__)).encode())
    _digest_function(kernel, digest, set())
    return digest.hexdigest()[:24]


def _digest_function(kernel: Kernel, digest: Any, seen: set[str]) -> None:
    if kernel.name in seen:
        return
    seen.add(kernel.name)
    digest.update(inspect.getsource(kernel.function).encode())
    scope = kernel.function.__globals__
    for name in sorted(set(kernel.function.__code__.co_names) & scope.keys()):
        value = scope[name]
        if isinstance(value, Kernel):
            _digest_function(value, digest, seen)
        elif isinstance(value, type) and value.__name__ in LAYOUTS:
            digest.update(repr(value.__annotations__).encode())
        elif not inspect.ismodule(value) and not callable(value):
            digest.update(f"{name}={value!r}".encode())


if __name__ == "__main__":
    for library in build(sys.argv[1:]):
        print(library)
