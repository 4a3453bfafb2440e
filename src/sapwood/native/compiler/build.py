"""Build the library: every kernel to objects for each CPU level, and these to one shared library per level.

``python -m sapwood.native.compiler.build [level ...]`` builds in place. Objects are cached (``objects.py``), so that a
change recompiles what it touches. Compiling is shared among processes, because Numba compiles one thing at a time.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sapwood.native.compiler import objects, sources
from sapwood.native.compiler.elf import undefined_symbols
from sapwood.native.threads.team import usable_cpus

# libc, and the functions of libm whose results are exact on every machine.
ALLOWED_UNDEFINED = {
    "memset", "memcpy", "memmove", "bcmp", "memcmp", "syscall", "usleep", "floor", "ceil", "trunc", "rint", "sqrt",
}  # fmt: skip
MOST_PROCESSES = 4


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


def build(levels: Iterable[str] | None = None) -> list[Path]:
    """Build the libraries of the levels (all by default) that are not there yet; return their paths.

    Only one process builds at a time; another that waited finds the work done.
    """
    cache = sources.PACKAGE.parent.parent / "build" / "objects"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "lock", "w") as lock:
        _wait_for(lock)
        return _build(list(levels or sources.levels()), cache)


def _wait_for(lock: Any) -> None:
    if importlib.util.find_spec("fcntl"):
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)


def _build(levels: list[str], cache: Path) -> list[Path]:
    identity = sources.source_hash()
    paths = {level: sources.library_path(level, identity) for level in levels}
    wanted = [level for level, path in paths.items() if not path.exists()]
    if wanted:
        _compile(wanted, objects.missing_kernels(wanted, cache), cache)
    for level in wanted:
        made = objects.all_objects(level, cache)
        _link([*made, _manifest(level, cache)], paths[level])
        for old in set((cache / level).glob("*.o")) - set(made):
            old.unlink(missing_ok=True)
    for old in sources.FOLDER.glob(f"sapwood-*{sources.SUFFIX}"):
        if identity not in old.name:
            old.unlink(missing_ok=True)
    return list(paths.values())


def _compile(levels: list[str], names: list[str], cache: Path) -> None:
    """Share kernels among processes: each takes the longest that no other has taken."""
    with tempfile.TemporaryDirectory() as taken:
        n = min(usable_cpus(), MOST_PROCESSES, len(names))
        running = [_start(levels, names, cache, taken) for _ in range(n)]
        for process in running:
            output, _ = process.communicate()
            if process.returncode != 0:
                raise BuildError(f"compiling the kernels failed:\n{output}")


def _start(levels: list[str], names: list[str], cache: Path, taken: str) -> subprocess.Popen[str]:
    environment = dict(os.environ)
    environment.pop("SAPWOOD_BOUNDSCHECK", None)
    environment["NUMBA_CPU_NAME"] = "generic"
    environment["NUMBA_CPU_FEATURES"] = ""
    environment["NUMBA_DISABLE_INTEL_SVML"] = "1"
    # The child sees what we see, whatever build front ends do to the search path when Python starts.
    search = [str(sources.PACKAGE.parent), *(path for path in sys.path if path)]
    code = (
        f"import sys; sys.path[:] = {search!r}; from sapwood.native.compiler import objects; "
        f"objects.compile_objects({levels!r}, {names!r}, {str(cache)!r}, {taken!r})"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tempfile.gettempdir(),
    )  # fmt: skip


def _manifest(level: str, cache: Path) -> Path:
    """An object that tells what the library was made of."""
    text = json.dumps({**objects.compilers(), "level": level, "sources": sources.source_hash()}, sort_keys=True)
    data = text.encode() + b"\0"
    body = "".join(f"\\{byte:02X}" for byte in data)
    path = cache / level / "manifest.o"
    code = f'@sapwood_manifest = constant [{len(data)} x i8] c"{body}"\n'
    objects.write_whole(path, objects.plain_object(code, level))
    return path


def _link(parts: list[Path], target: Path) -> None:
    linker = find_linker()
    if linker is None:
        raise BuildError("no linker found: install a C compiler, or the ziglang package, and build again")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + f".{os.getpid()}.part")
    shape = ["-dynamiclib", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared", "-s"]
    names = [str(path) for path in parts]
    result = subprocess.run([*linker, *shape, "-o", str(partial), *names], capture_output=True, text=True)
    if result.returncode != 0:
        raise BuildError(f"{' '.join(linker)} failed:\n{result.stderr}")
    if sys.platform.startswith("linux"):
        foreign = undefined_symbols(partial.read_bytes()) - ALLOWED_UNDEFINED
        if foreign:
            partial.unlink()
            raise BuildError(f"kernels need symbols that are neither libc's nor exact libm's: {sorted(foreign)}")
    os.replace(partial, target)


if __name__ == "__main__":
    for library in build(sys.argv[1:]):
        print(library)
