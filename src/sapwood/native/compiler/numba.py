"""Translate kernels with Numba: to functions for the ``jit`` mode, and to LLVM modules for the library.

A kernel is a plain function whose globals name other kernels and intrinsics. To compile it, the function is copied
with globals in which each of those is replaced by its Numba counterpart.
"""

from __future__ import annotations

import os
import types as python_types

import llvmlite.binding as llvm
from numba import njit, types
from numba.core import event, typed_passes, untyped_passes
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompilerBase
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext

from sapwood.native.compiler.entry_point import entry_point, symbol_of
from sapwood.native.compiler.intrinsics import NUMBA_INTRINSICS
from sapwood.native.runtime.kernel import REGISTRY, Kernel
from sapwood.native.runtime.signature import Array, Record

NUMBA_TYPES = {
    "u8": types.uint8, "u16": types.uint16, "u32": types.uint32, "u64": types.uint64,
    "i8": types.int8, "i16": types.int16, "i32": types.int32, "i64": types.int64,
    "f32": types.float32, "f64": types.float64,
}  # fmt: skip

# The passes of Numba that kernels need: they have no closures, array expressions or literal types to resolve.
PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.GenericRewrites,
    untyped_passes.ReconstructSSA,
    typed_passes.NopythonTypeInference,
    typed_passes.PreLowerStripPhis,
    typed_passes.IRLegalization,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)

_dispatchers: dict[str, object] = {}
_is_ahead_of_time = False


class KernelCompiler(CompilerBase):
    """Numba's compiler with the passes that kernels need."""

    def define_pipelines(self):
        """Return the one sequence of passes."""
        passes = PassManager("kernel")
        for step in PASSES:
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]


def numba_type(kind):
    """Return the Numba type of a signature's argument."""
    if isinstance(kind, Array):
        return types.Array(NUMBA_TYPES[kind.kind], kind.ndim, "C")
    if isinstance(kind, Record):
        return types.NamedTuple([numba_type(field) for field in kind.fields], kind.layout)
    return NUMBA_TYPES[kind.kind]


def argument_types(kernel: Kernel, variant: int):
    """Return the Numba types of a call, the team's arguments included."""
    team = (types.int64, types.int64, types.Array(types.int64, 1, "C")) if kernel.takes_team else ()
    return team + tuple(numba_type(kind) for kind in kernel.variants[variant])


def compile_ahead_of_time() -> None:
    """Only generate LLVM IR from now on, nothing that can be called in this process."""
    global _is_ahead_of_time
    _is_ahead_of_time = True
    # Numba identifies functions by their entry points: each gets a builtin of its own, which is never called.
    CPUContext.get_executable = lambda self, library, function, environment: [].append
    # Numba would optimise every function and everything it calls; ``llvm.optimised_object`` does it once.
    CPUCodeLibrary._optimize_functions = _simplify_functions
    CPUCodeLibrary._optimize_final_module = lambda self: None
    # It would also load the code into this process, and announce every call of LLVM as an event.
    CPUCodeLibrary._finalize_final_module = lambda self: setattr(self, "_finalized", True)
    event.start_event = event.end_event = lambda *arguments, **more: None


def _simplify_functions(library, module):
    """Run the passes that work on single functions, with one pass manager for all that the module defines."""
    module.data_layout = library._codegen._data_layout
    manager, builder = library._codegen._function_pass_manager()
    for function in module.functions:
        if not function.is_declaration:
            manager.run(function, builder)


def dispatcher(kernel: Kernel):
    """Return the Numba function of a kernel, its callees translated with it."""
    if kernel.name not in _dispatchers:
        is_called_from_python = kernel.is_entry and not _is_ahead_of_time
        function = njit(
            nogil=True,
            error_model="numpy",
            boundscheck=os.environ.get("SAPWOOD_BOUNDSCHECK") == "1",
            no_cpython_wrapper=not is_called_from_python,
            no_cfunc_wrapper=True,
            _nrt=False,
            pipeline_class=KernelCompiler,
        )(_translated(kernel.function))
        # Numba would compile a function anew for every constant that it is called with.
        template = function.get_call_template
        function.get_call_template = lambda args, kws: template([types.unliteral(arg) for arg in args], kws)
        _dispatchers[kernel.name] = function
    return _dispatchers[kernel.name]


def _translated(function):
    scope = dict(function.__globals__)
    for name in set(function.__code__.co_names) & scope.keys():
        value = scope[name]
        if isinstance(value, Kernel):
            scope[name] = dispatcher(value)
        elif isinstance(value, python_types.FunctionType) and value in NUMBA_INTRINSICS:
            scope[name] = NUMBA_INTRINSICS[value]
    copy = python_types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__)
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    return copy


def llvm_module(kernel: Kernel, variant: int):
    """Compile one variant and add its entry point; everything else in the module is internal."""
    function = dispatcher(kernel)
    signature = argument_types(kernel, variant)
    function.compile(signature)
    result = function.overloads[signature]
    with global_compiler_lock:
        result.library.finalize()  # links the callees in
    module = result.library._final_module.clone()
    module.link_in(llvm.parse_assembly(entry_point(kernel, variant, result.fndesc.llvm_func_name)))
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
