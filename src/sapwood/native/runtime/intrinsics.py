"""Intrinsics: operations that kernels need and Python lacks, in plain Python for ``SAPWOOD_KERNELS=python``.

When kernels are compiled, ``native/compiler/intrinsics.py`` replaces each by a machine instruction or a system call.
"""

from __future__ import annotations

import ctypes
import struct
import threading
import time

import numpy as np

_atomic = threading.Lock()
ENTRY_POINT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


def atomic_add(array, i, value):
    """Add ``value`` to ``array[i]`` atomically and return the old value."""
    with _atomic:
        before = int(array[i])
        array[i] = before + value
    return before


def atomic_load(array, i):
    """Read ``array[i]`` atomically, sequentially consistent with other threads."""
    with _atomic:
        return int(array[i])


def atomic_store(array, i, value):
    """Write ``array[i]`` atomically, sequentially consistent with other threads."""
    with _atomic:
        array[i] = value


def atomic_compare_exchange(array, i, expected, value):
    """Write ``array[i]`` atomically if it equals ``expected``; return the old value."""
    with _atomic:
        before = int(array[i])
        if before == expected:
            array[i] = value
    return before


def pause():
    """Hint to the core that this is a spin loop."""
    time.sleep(0)


def sleep_while(array, i, value):
    """Sleep while ``array[i]`` equals ``value``; may return early."""
    time.sleep(0.0001)


def wake_all(array, i):
    """Wake all threads that sleep on ``array[i]``."""


def yield_core():
    """Let another thread run on this core, if one is waiting."""
    time.sleep(0)


def call_entry(entry, block, member, members):
    """Call the entry point of a compiled kernel at the address ``entry`` with the arguments at ``block``."""
    ENTRY_POINT(int(entry))(int(block), int(member), int(members))


def prefetch(array, i):
    """Prefetch ``array[i]`` (the first element of row i) into the cache."""


def float_bits(x):
    """Return the 64 bits of a float as a signed integer."""
    return np.int64(struct.unpack("<q", struct.pack("<d", x))[0])


def bits_float(bits):
    """Return the float with these 64 bits."""
    return np.float64(struct.unpack("<d", struct.pack("<q", int(bits)))[0])


ALL = (
    atomic_add, atomic_load, atomic_store, atomic_compare_exchange, pause, sleep_while, wake_all, yield_core,
    call_entry, prefetch, float_bits, bits_float,
)  # fmt: skip
