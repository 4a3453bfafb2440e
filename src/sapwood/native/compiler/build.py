"""Build the libraries: compile every kernel for each CPU level, and link one shared library per level.

``python -m sapwood.native.compiler.build [level ...]`` builds in place and reports progress on stderr. Objects are
cached (``object_files.py``), so that a change recompiles only what it touches. Several processes compile, because Numba
compiles one function at a time.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO

from sapwood.native.compiler import object_files, sources
from sapwood.native.compiler.elf import undefined_symbols
from sapwood.native.runtime.kernel import REGISTRY
from sapwood.native.system.cpu_count import usable_cpus
from sapwood.native.system.cpu_level import cpu_levels

# libc, and the functions of libm whose results are exact on every machine.
ALLOWED_UNDEFINED = {
    "memset", "memcpy", "memmove", "bcmp", "memcmp", "syscall", "usleep", "floor", "ceil", "trunc", "rint", "sqrt",
}  # fmt: skip
MAX_PROCESSES = 4
REPORT_SECONDS = 5.0  # between two reports of progress
POLL_SECONDS = 0.05


class BuildError(RuntimeError):
    """A library could not be built."""


def find_linker() -> list[str] | None:
    """Return a command that links: that of the machine, else of the ziglang package; None if there is neither."""
    if importlib.util.find_spec("ziglang") and machine_linker() is None:
        return [sys.executable, "-m", "ziglang", "ld.lld"]
    return machine_linker()


def machine_linker() -> list[str] | None:
    """Return a command of the machine that links, a compiler driver or a linker; None if there is none."""
    for name in ("cc", "gcc", "clang", "ld.lld", "ld"):
        path = shutil.which(name)
        if path:
            return [path, "-nostdlib"] if name in ("cc", "gcc", "clang") else [path]
    return None


def build(levels: Iterable[str] | None = None) -> list[Path]:
    """Build the missing libraries of some CPU levels (by default of all); return the paths of all of them.

    Only one process builds at a time; one that waited for another finds the work done.
    """
    folder = sources.PACKAGE.parent.parent / "build" / "objects"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        _lock(lock)
        return _build(list(levels or cpu_levels()), folder)


def _lock(lock: IO[str]) -> None:
    if importlib.util.find_spec("fcntl"):
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)


def _build(levels: list[str], folder: Path) -> list[Path]:
    identity = sources.source_hash()
    paths = {level: sources.library_path(level, identity) for level in levels}
    missing = [level for level, path in paths.items() if not path.exists()]
    names = object_files.missing_kernels(missing, folder) if missing else []
    if names:  # none where a change left the code of all kernels as it was
        _compile(missing, names, folder)
    for level in missing:
        linked = object_files.object_paths(level, folder)
        _link([*linked, _manifest(level, folder)], paths[level])
        for old in set((folder / level).glob("*.o")) - set(linked):
            old.unlink(missing_ok=True)
    for old in sources.LIBRARY_FOLDER.glob(f"sapwood-*{sources.SUFFIX}"):
        if identity not in old.name:
            old.unlink(missing_ok=True)
    return list(paths.values())


def _compile(levels: list[str], names: list[str], folder: Path) -> None:
    """Compile kernels in several processes; every second one translates, see ``compile_process.py``.

    Every second translator begins with the kernels that take longest, so that few functions are translated twice.
    """
    n_processes = min(usable_cpus(), MAX_PROCESSES, len(names))
    n_translators = max(1, n_processes // 2)
    objects = [
        object_files.object_path(REGISTRY[name], variant, level, folder)
        for level in levels
        for name in names
        for variant in range(len(REGISTRY[name].variants))
    ]
    orders = [names[::-1] if number % 2 else names for number in range(n_translators)]
    orders += [[]] * (n_processes - n_translators)
    with tempfile.TemporaryDirectory() as shared, tempfile.TemporaryFile("w+") as output:
        running = [_start(levels, order, folder, shared, n_translators, output) for order in orders]
        try:
            _report_progress(running, objects, len(levels))
        finally:
            for process in running:
                process.terminate()
                process.wait()
        if any(process.returncode != 0 for process in running):
            output.seek(0)
            raise BuildError(f"compiling the kernels failed:\n{output.read()}")


def _report_progress(running: list[subprocess.Popen[str]], objects: list[Path], n_levels: int) -> None:
    """Report how many kernels have their objects, until all processes have ended or one has failed."""
    reported, next_report = 0, time.monotonic()
    while None in (states := [process.poll() for process in running]) and not any(states):
        time.sleep(POLL_SECONDS)
        if time.monotonic() < next_report:
            continue
        next_report += REPORT_SECONDS
        n_compiled = sum(path.exists() for path in objects) // n_levels
        if n_compiled > reported:
            n_kernels = len(objects) // n_levels
            print(f"sapwood: compiled {n_compiled} of {n_kernels} kernels", file=sys.stderr, flush=True)
        reported = n_compiled


def _start(
    levels: list[str], names: list[str], folder: Path, shared: str, n_translators: int, output: IO[str]
) -> subprocess.Popen[str]:
    environment = dict(os.environ)
    environment.pop("SAPWOOD_BOUNDSCHECK", None)
    environment["NUMBA_CPU_NAME"] = "generic"
    environment["NUMBA_CPU_FEATURES"] = ""
    environment["NUMBA_DISABLE_INTEL_SVML"] = "1"
    # The child has our search path, whatever build front ends do to it when Python starts.
    search = [str(sources.PACKAGE.parent), *(path for path in sys.path if path)]
    code = (
        f"import sys; sys.path[:] = {search!r}; from pathlib import Path; "
        "from sapwood.native.compiler.compile_process import compile_objects; "
        f"compile_objects({levels!r}, {names!r}, Path({str(folder)!r}), Path({shared!r}), {n_translators})"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment, stdout=output, stderr=subprocess.STDOUT, text=True, cwd=tempfile.gettempdir(),
    )  # fmt: skip


def _manifest(level: str, folder: Path) -> Path:
    """Write an object file that holds the versions, CPU level and sources that the library was compiled from."""
    from sapwood.native.compiler import llvm

    text = json.dumps(
        {**object_files.compiler_versions(), "level": level, "sources": sources.source_hash()}, sort_keys=True
    )
    data = text.encode() + b"\0"
    body = "".join(f"\\{byte:02X}" for byte in data)
    path = folder / level / "manifest.o"
    code = f'@sapwood_manifest = constant [{len(data)} x i8] c"{body}"\n'
    object_files.write_atomically(path, llvm.plain_object(code, level))
    return path


def _link(parts: list[Path], target: Path) -> None:
    linker = find_linker()
    if linker is None:
        raise BuildError("no linker found: install a C compiler, or the ziglang package, and build again")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + f".{os.getpid()}.part")
    form = ["-dynamiclib", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared", "-s"]
    names = [str(path) for path in parts]
    result = subprocess.run([*linker, *form, "-o", str(partial), *names], capture_output=True, text=True)
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
