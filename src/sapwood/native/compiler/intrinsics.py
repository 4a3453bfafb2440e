"""Machine instructions and system calls in place of the intrinsics, as Numba extensions.

Each function ``_name`` generates the LLVM IR of ``name`` in ``native/runtime/intrinsics.py``.
"""

from __future__ import annotations

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from sapwood.native.runtime import intrinsics

# System calls of Linux. Elsewhere members that wait long sleep a little and look again.
FUTEX = {"x86_64": 202, "aarch64": 98}
SCHED_YIELD = {"x86_64": 24, "aarch64": 124}
FUTEX_WAIT, FUTEX_WAKE = 128, 129  # private to the process
WAIT_NANOSECONDS = 1_000_000

_BYTE_POINTER = ir.IntType(8).as_pointer()
_I32, _I64 = ir.IntType(32), ir.IntType(64)


def _machine():
    return llvm.get_process_triple().split("-")[0].replace("arm64", "aarch64")


def _system_call(numbers):
    """Return the number of a system call on this machine, None if it has none."""
    return numbers.get(_machine()) if "linux" in llvm.get_process_triple() else None


def _pointer(context, builder, array_type, array, index, index_type):
    struct = arrayobj.make_array(array_type)(context, builder, array)
    row = context.cast(builder, index, index_type, types.intp)
    indices = [row] + [context.get_constant(types.intp, 0)] * (array_type.ndim - 1)
    return cgutils.get_item_pointer(context, builder, array_type, struct, indices, wraparound=False)


def _c_function(builder, name, result, arguments):
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


def _call_system(builder, number, *arguments):
    """Call ``syscall`` with up to six 64-bit arguments."""
    syscall = _c_function(builder, "syscall", _I64, [_I64] * 7)
    padding = [ir.Constant(_I64, 0)] * (6 - len(arguments))
    builder.call(syscall, [ir.Constant(_I64, number), *arguments, *padding])


@intrinsic
def _atomic_add(typing, array, i, value):
    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, array, args[0], args[1], i)
        return builder.atomic_rmw("add", pointer, context.cast(builder, args[2], value, types.int64), "seq_cst")

    return types.int64(array, i, value), generate


@intrinsic
def _atomic_load(typing, array, i):
    def generate(context, builder, signature, args):
        return builder.load_atomic(_pointer(context, builder, array, args[0], args[1], i), "seq_cst", 8)

    return types.int64(array, i), generate


@intrinsic
def _atomic_store(typing, array, i, value):
    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, array, args[0], args[1], i)
        builder.store_atomic(context.cast(builder, args[2], value, types.int64), pointer, "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, i, value), generate


@intrinsic
def _atomic_compare_exchange(typing, array, i, expected, value):
    def generate(context, builder, signature, args):
        pointer = _pointer(context, builder, array, args[0], args[1], i)
        old = context.cast(builder, args[2], expected, types.int64)
        new = context.cast(builder, args[3], value, types.int64)
        return builder.extract_value(builder.cmpxchg(pointer, old, new, "seq_cst", "seq_cst"), 0)

    return types.int64(array, i, expected, value), generate


@intrinsic
def _call_entry(typing, entry, block, member, members):
    def generate(context, builder, signature, args):
        entry_type = ir.FunctionType(ir.VoidType(), [_BYTE_POINTER, _I64, _I64])
        numbers = [
            context.cast(builder, arg, kind, types.int64) for arg, kind in zip(args, signature.args, strict=True)
        ]
        function = builder.inttoptr(numbers[0], entry_type.as_pointer())
        builder.call(function, [builder.inttoptr(numbers[1], _BYTE_POINTER), numbers[2], numbers[3]])
        return context.get_dummy_value()

    return types.void(entry, block, member, members), generate


@intrinsic
def _yield_core(typing):
    def generate(context, builder, signature, args):
        number = _system_call(SCHED_YIELD)
        if number is not None:
            _call_system(builder, number)
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _pause(typing):
    def generate(context, builder, signature, args):
        if _machine() == "x86_64":
            builder.call(_c_function(builder, "llvm.x86.sse2.pause", ir.VoidType(), []), [])
        else:
            hint = _c_function(builder, "llvm.aarch64.hint", ir.VoidType(), [_I32])
            builder.call(hint, [ir.Constant(_I32, 1)])  # yield
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _sleep_while(typing, array, i, value):
    def generate(context, builder, signature, args):
        number = _system_call(FUTEX)
        if number is None:
            usleep = _c_function(builder, "usleep", _I32, [_I32])
            builder.call(usleep, [ir.Constant(_I32, 50)])
            return context.get_dummy_value()
        pointer = _pointer(context, builder, array, args[0], args[1], i)
        address = builder.ptrtoint(pointer, _I64)
        low_half = context.cast(builder, args[2], value, types.int64)
        timeout = cgutils.alloca_once(builder, ir.ArrayType(_I64, 2))
        zero = ir.Constant(_I32, 0)
        builder.store(ir.Constant(_I64, 0), builder.gep(timeout, [zero, zero]))
        builder.store(ir.Constant(_I64, WAIT_NANOSECONDS), builder.gep(timeout, [zero, ir.Constant(_I32, 1)]))
        wait = ir.Constant(_I64, FUTEX_WAIT)
        _call_system(builder, number, address, wait, low_half, builder.ptrtoint(timeout, _I64))
        return context.get_dummy_value()

    return types.void(array, i, value), generate


@intrinsic
def _wake_all(typing, array, i):
    def generate(context, builder, signature, args):
        number = _system_call(FUTEX)
        if number is not None:
            pointer = _pointer(context, builder, array, args[0], args[1], i)
            wake, max_waiters = ir.Constant(_I64, FUTEX_WAKE), ir.Constant(_I64, 2**31 - 1)
            _call_system(builder, number, builder.ptrtoint(pointer, _I64), wake, max_waiters)
        return context.get_dummy_value()

    return types.void(array, i), generate


@intrinsic
def _prefetch(typing, array, i):
    def generate(context, builder, signature, args):
        pointer = builder.bitcast(_pointer(context, builder, array, args[0], args[1], i), _BYTE_POINTER)
        fetch = _c_function(builder, "llvm.prefetch.p0", ir.VoidType(), [_BYTE_POINTER, _I32, _I32, _I32])
        builder.call(fetch, [pointer, ir.Constant(_I32, 0), ir.Constant(_I32, 3), ir.Constant(_I32, 1)])
        return context.get_dummy_value()

    return types.void(array, i), generate


@intrinsic
def _float_bits(typing, x):
    def generate(context, builder, signature, args):
        return builder.bitcast(context.cast(builder, args[0], x, types.float64), _I64)

    return types.int64(x), generate


@intrinsic
def _bits_float(typing, bits):
    def generate(context, builder, signature, args):
        return builder.bitcast(context.cast(builder, args[0], bits, types.int64), ir.DoubleType())

    return types.float64(bits), generate


NUMBA_INTRINSICS = {function: globals()[f"_{function.__name__}"] for function in intrinsics.ALL}
