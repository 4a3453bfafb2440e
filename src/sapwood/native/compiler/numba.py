"""Turn kernels into machine code: the one file that knows Numba.

A kernel is a plain function whose globals name other kernels and intrinsics. To compile it, the function is copied
with globals in which each of those is replaced by its Numba counterpart. ``dispatcher`` is what the ``jit`` mode
calls; ``module_of`` gives the LLVM module of one kernel variant, with a wrapper that reads its arguments from a block
of slots.
"""

from __future__ import annotations

import os
import types as python_types

import llvmlite.binding as llvm
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.core.codegen import CPUCodeLibrary, JITCodeLibrary
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.extending import intrinsic
from numba.np import arrayobj

from sapwood.native.runtime import intrinsics
from sapwood.native.runtime.kernel import REGISTRY, Kernel
from sapwood.native.runtime.signature import Array, Record, Scalar, flatten

ITEM_SIZES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8}
NUMBA_TYPES = {
    "u8": types.uint8, "u16": types.uint16, "u32": types.uint32, "u64": types.uint64,
    "i8": types.int8, "i16": types.int16, "i32": types.int32, "i64": types.int64,
    "f32": types.float32, "f64": types.float64,
}  # fmt: skip

# SYS_futex; elsewhere members that wait long sleep a little and look again.
FUTEX = {"x86_64": 202, "aarch64": 98}
SCHED_YIELD = {"x86_64": 24, "aarch64": 124}
FUTEX_WAIT, FUTEX_WAKE = 128, 129  # private to the process
WAIT_NANOSECONDS = 1_000_000

_BYTE_POINTER = ir.IntType(8).as_pointer()
_I32, _I64 = ir.IntType(32), ir.IntType(64)


def numba_type(kind):
    """The Numba type of a signature's argument."""
    if isinstance(kind, Array):
        return types.Array(NUMBA_TYPES[kind.kind], kind.ndim, "C")
    if isinstance(kind, Record):
        return types.NamedTuple([numba_type(field) for field in kind.fields], kind.layout)
    return NUMBA_TYPES[kind.kind]


# --- intrinsics -------------------------------------------------------------------------------------------------------


def _pointer(context, builder, array_type, array, index, index_type):
    made = arrayobj.make_array(array_type)(context, builder, array)
    where = context.cast(builder, index, index_type, types.intp)
    zeros = [where] + [context.get_constant(types.intp, 0)] * (array_type.ndim - 1)
    return cgutils.get_item_pointer(context, builder, array_type, made, zeros, wraparound=False)


def _c_function(builder, name, result, arguments):
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


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
def _atomic_swap_if(typing, array, i, expected, value):
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
        number = SCHED_YIELD.get(_machine()) if _is_linux() else None
        if number is not None:
            syscall = _c_function(builder, "syscall", _I64, [_I64] * 7)
            builder.call(syscall, [ir.Constant(_I64, number)] + [ir.Constant(_I64, 0)] * 6)
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
        number = FUTEX.get(_machine()) if _is_linux() else None
        if number is None:
            nap = _c_function(builder, "usleep", _I32, [_I32])
            builder.call(nap, [ir.Constant(_I32, 50)])
            return context.get_dummy_value()
        pointer = _pointer(context, builder, array, args[0], args[1], i)
        address = builder.ptrtoint(pointer, _I64)
        low_half = context.cast(builder, args[2], value, types.int64)
        timeout = cgutils.alloca_once(builder, ir.ArrayType(_I64, 2))
        zero = ir.Constant(_I32, 0)
        builder.store(ir.Constant(_I64, 0), builder.gep(timeout, [zero, zero]))
        builder.store(ir.Constant(_I64, WAIT_NANOSECONDS), builder.gep(timeout, [zero, ir.Constant(_I32, 1)]))
        syscall = _c_function(builder, "syscall", _I64, [_I64] * 7)
        null = ir.Constant(_I64, 0)
        wait = ir.Constant(_I64, FUTEX_WAIT)
        builder.call(
            syscall,
            [ir.Constant(_I64, number), address, wait, low_half, builder.ptrtoint(timeout, _I64), null, null],
        )
        return context.get_dummy_value()

    return types.void(array, i, value), generate


@intrinsic
def _wake_all(typing, array, i):
    def generate(context, builder, signature, args):
        number = FUTEX.get(_machine()) if _is_linux() else None
        if number is not None:
            pointer = _pointer(context, builder, array, args[0], args[1], i)
            syscall = _c_function(builder, "syscall", _I64, [_I64] * 7)
            null = ir.Constant(_I64, 0)
            everyone, wake = ir.Constant(_I64, 2**31 - 1), ir.Constant(_I64, FUTEX_WAKE)
            address = builder.ptrtoint(pointer, _I64)
            builder.call(syscall, [ir.Constant(_I64, number), address, wake, everyone, null, null, null])
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


COUNTERPARTS = {function: globals()[f"_{function.__name__}"] for function in intrinsics.ALL}


def _machine():
    return llvm.get_process_triple().split("-")[0].replace("arm64", "aarch64")


def _is_linux():
    return "linux" in llvm.get_process_triple()


# --- dispatchers ------------------------------------------------------------------------------------------------------

_dispatchers: dict[str, object] = {}
_ahead = False


def compile_ahead() -> None:
    """Only make LLVM code from now on, nothing that can be called in this process."""
    global _ahead
    _ahead = True
    # Numba knows functions by their entry points: each gets a builtin of its own, which is never called.
    CPUContext.get_executable = lambda self, library, function, environment: [].append
    # What Numba would do for every function and everything it calls is done once, by ``objects.optimised``.
    CPUCodeLibrary._optimize_final_module = lambda self: None
    JITCodeLibrary._finalize_specific = lambda self: None


def dispatcher(kernel: Kernel):
    """The Numba function of a kernel, its callees translated with it."""
    if kernel.name not in _dispatchers:
        is_called_from_python = kernel.is_entry and not _ahead
        made = njit(
            nogil=True,
            error_model="numpy",
            boundscheck=os.environ.get("SAPWOOD_BOUNDSCHECK") == "1",
            no_cpython_wrapper=not is_called_from_python,
            no_cfunc_wrapper=True,
            _nrt=False,
        )(_translated(kernel.function))
        # Numba would compile a function anew for every constant that it is called with.
        template = made.get_call_template
        made.get_call_template = lambda args, kws: template([types.unliteral(arg) for arg in args], kws)
        _dispatchers[kernel.name] = made
    return _dispatchers[kernel.name]


def _translated(function):
    names = set(function.__code__.co_names)
    replaced = dict(function.__globals__)
    for name in names & replaced.keys():
        value = replaced[name]
        if isinstance(value, Kernel):
            replaced[name] = dispatcher(value)
        elif isinstance(value, python_types.FunctionType) and value in COUNTERPARTS:
            replaced[name] = COUNTERPARTS[value]
    copy = python_types.FunctionType(function.__code__, replaced, function.__name__, function.__defaults__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    return copy


# --- one LLVM module per kernel variant -------------------------------------------------------------------------------


def symbol_of(kernel: Kernel, variant: int) -> str:
    """The name under which a variant is exported."""
    return f"sapwood_{kernel.name}_{variant}"


def argument_types(kernel: Kernel, variant: int):
    """The Numba types of a call, the team's arguments included."""
    team = (types.int64, types.int64, types.Array(types.int64, 1, "C")) if kernel.takes_team else ()
    return team + tuple(numba_type(kind) for kind in kernel.variants[variant])


def module_of(kernel: Kernel, variant: int):
    """Compile one variant and add its entry point; everything else in the module is internal."""
    made = dispatcher(kernel)
    wanted = argument_types(kernel, variant)
    made.compile(wanted)
    result = made.overloads[wanted]
    with global_compiler_lock:
        result.library.finalize()  # links the callees in
    module = llvm.parse_assembly(result.library.get_llvm_str())
    target = result.fndesc.llvm_func_name
    module.link_in(llvm.parse_assembly(_entry_point(kernel, variant, target)))
    symbol = symbol_of(kernel, variant)
    never_inlined = [f"{len(name)}{name}B" for name, kernel in REGISTRY.items() if kernel.noinline]
    for function in module.functions:
        if not function.is_declaration and function.name != symbol:
            function.linkage = "internal"
            if any(name in function.name for name in never_inlined):
                function.add_function_attribute("noinline")
    for variable in module.global_variables:
        if not variable.is_declaration and not variable.name.startswith("llvm."):
            variable.linkage = "internal"
    return module


def _entry_point(kernel: Kernel, variant: int, target: str) -> str:
    """LLVM text of ``void symbol(i64* block, i64 member, i64 members)``, which unpacks the block and calls ``target``.

    Numba passes an array as (owner, parent, items, item size, address, shape, strides).
    """
    lines: list[str] = []
    passed: list[str] = ["ptr %result", "ptr %exception"]
    slot = 0

    def load(text: str) -> str:
        nonlocal slot
        lines.append(f"  %p{slot} = getelementptr i64, ptr %block, i64 {slot}")
        lines.append(f"  %v{slot} = load {text}, ptr %p{slot}")
        slot += 1
        return f"%v{slot - 1}"

    kinds = flatten(kernel.variants[variant])
    if kernel.takes_team:
        passed += ["i64 %member", "i64 %members"]
        kinds = [Array("i64", 1), *kinds]
    for kind in kinds:
        if isinstance(kind, Scalar):
            text = "double" if kind.kind == "f64" else "i64"
            passed.append(f"{text} {load(text)}")
            continue
        address = load("ptr")
        shape = [load("i64") for _ in range(kind.ndim)]
        size = ITEM_SIZES[kind.kind]
        strides: list[str] = []
        step = str(size)
        for axis in reversed(range(kind.ndim)):
            strides.insert(0, step)
            lines.append(f"  %s{slot}_{axis} = mul i64 {step}, {shape[axis]}")
            step = f"%s{slot}_{axis}"
        lines.append(f"  %n{slot} = sdiv i64 {step}, {size}")
        passed += ["ptr null", "ptr null", f"i64 %n{slot}", f"i64 {size}", f"ptr {address}"]
        passed += [f"i64 {length}" for length in shape] + [f"i64 {stride}" for stride in strides]
    parameters = ", ".join(text.split(" ")[0] for text in passed)
    return "\n".join(
        [
            f'declare i32 @"{target}"({parameters})',
            f'define void @"{symbol_of(kernel, variant)}"(ptr %block, i64 %member, i64 %members) {{',
            "  %result = alloca ptr",
            "  %exception = alloca ptr",
            *lines,
            f'  %status = call i32 @"{target}"({", ".join(passed)})',
            "  ret void",
            "}",
        ]
    )
