"""Operations that kernels need and Python has no word for, as plain Python.

This is what runs under ``SAPWOOD_KERNELS=python``. When kernels are compiled, ``compile.py`` puts single machine
instructions (or a call into libc) in place of each.
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
    """Add ``value`` to ``array[i]`` and return what was there, as one step."""
    with _atomic:
        before = int(array[i])
        array[i] = before + value
    return before


def atomic_load(array, i):
    """Read ``array[i]`` after everything written before it elsewhere."""
    with _atomic:
        return int(array[i])


def atomic_store(array, i, value):
    """Write ``array[i]`` so that everything written before is seen with it."""
    with _atomic:
        array[i] = value


def atomic_swap_if(array, i, expected, value):
    """Write ``array[i]`` if it is ``expected``, and return what was there, as one step."""
    with _atomic:
        before = int(array[i])
        if before == expected:
            array[i] = value
    return before


def pause():
    """Tell the core that it is spinning."""
    time.sleep(0)


def sleep_while(array, i, value):
    """Sleep until ``array[i]`` may have changed from ``value``; waking early is allowed."""
    time.sleep(0.0001)


def wake_all(array, i):
    """Wake those who sleep on ``array[i]``."""


def yield_core():
    """Let another thread run on this core, if one is waiting."""
    time.sleep(0)


def call_entry(entry, block, member, members):
    """Call the entry point of a compiled kernel at an address, with the block of arguments at another."""
    ENTRY_POINT(int(entry))(int(block), int(member), int(members))


def prefetch(array, i):
    """Ask for ``array[i]`` (the first element of row i) to be brought near."""


def float_bits(x):
    """The 64 bits of a float as a signed integer."""
    return np.int64(struct.unpack("<q", struct.pack("<d", x))[0])


def bits_float(bits):
    """The float that has these 64 bits."""
    return np.float64(struct.unpack("<d", struct.pack("<q", int(bits)))[0])


ALL = (
    atomic_add, atomic_load, atomic_store, atomic_swap_if, pause, sleep_while, wake_all, yield_core, call_entry,
    prefetch, float_bits, bits_float,
)  # fmt: skip
