"""Run every kernel on copies of its arrays that lie between canaries.

Arrays that share memory share a copy, so that what a kernel writes through one is seen through the other. After the
call the canaries are looked at and the results are copied back. A kernel that reads beyond an array reads random bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sapwood.native.runtime.kernel import Kernel
from sapwood.native.threads.worker_threads import WorkerThreads

MARGIN = 256
LINE = 64


class StrayWriteError(AssertionError):
    """A kernel wrote where nothing of its own is."""


class Guarded:
    """The arguments of one call, between canaries."""

    def __init__(self, name: str, args: tuple[Any, ...], source: np.random.Generator) -> None:
        self._name = name
        self._arrays = _arrays_of(args)
        self._buffers: list[tuple[np.ndarray, np.ndarray, int, int]] = []
        places = [(_address(array), _address(array) + array.nbytes) for array in self._arrays]
        self._copies: dict[int, np.ndarray] = {}
        for begin, end in _merged(places):
            members = [array for array, place in zip(self._arrays, places, strict=True) if begin <= place[0] < end]
            self._enclose(members, begin, end, source)
        self.args = tuple(self._replaced(value) for value in args)

    def _enclose(self, members: list[np.ndarray], begin: int, end: int, source: np.random.Generator) -> None:
        size = end - begin
        buffer = source.integers(0, 256, size + 2 * MARGIN + LINE, dtype=np.uint8)
        first = MARGIN + (begin - buffer.ctypes.data - MARGIN) % LINE  # as far from a cache line as the original
        for array in members:
            start = first + _address(array) - begin
            copy = buffer[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
            copy[...] = array
            self._copies[id(array)] = copy
        self._buffers.append((buffer, buffer.copy(), first, first + size))

    def _replaced(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return self._copies.get(id(value), value)
        if isinstance(value, tuple):
            items = [self._replaced(item) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
        return value

    def finish(self) -> None:
        """Look at the canaries, then hand over the results."""
        for buffer, before, first, last in self._buffers:
            if not (np.array_equal(buffer[:first], before[:first]) and np.array_equal(buffer[last:], before[last:])):
                raise StrayWriteError(f"{self._name} wrote beside an array")
        for array in self._arrays:
            copy = self._copies[id(array)]
            if array.flags.writeable:
                array[...] = copy
            elif array.tobytes() != copy.tobytes():
                raise StrayWriteError(f"{self._name} wrote into an array that nobody may write")


def _arrays_of(value: Any) -> list[np.ndarray]:
    if isinstance(value, np.ndarray):
        return [value] if value.nbytes else []
    if isinstance(value, tuple):
        return [array for item in value for array in _arrays_of(item)]
    return []


def _address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def _merged(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of addresses joined where they overlap."""
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(places):
        if joined and begin < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((begin, end))
    return joined


def surround(patch: Callable[[object, str, Any], None]) -> dict[str, int]:
    """Guard every call from now on, through a function like ``monkeypatch.setattr``; return the calls by kernel."""
    source = np.random.default_rng(7)
    calls: dict[str, int] = {}
    call_alone, run_threads = Kernel.__call__, WorkerThreads.run

    def guarded(kernel: Kernel, args: tuple[Any, ...]) -> Guarded:
        calls[kernel.name] = calls.get(kernel.name, 0) + 1
        return Guarded(kernel.name, args, source)

    def alone(kernel: Kernel, *args: Any) -> Any:
        if not kernel.is_entry:
            return call_alone(kernel, *args)
        inside = guarded(kernel, args)
        result = call_alone(kernel, *inside.args)
        inside.finish()
        return result

    def together(threads: WorkerThreads, kernel: Kernel, args: tuple[Any, ...]) -> None:
        inside = guarded(kernel, args)
        run_threads(threads, kernel, inside.args)
        inside.finish()

    patch(Kernel, "__call__", alone)
    patch(WorkerThreads, "run", together)
    return calls
