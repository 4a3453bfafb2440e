"""Machine code for a CPU level from LLVM IR."""

from __future__ import annotations

from functools import cache
from typing import Any

import llvmlite.binding as llvm

from sapwood.native.system.cpu_level import cpu_levels


@cache
def target_machine(level: str) -> Any:
    """Return LLVM's target for position-independent code of a CPU level; nothing else of this machine is used."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple())
    features = cpu_levels()[level]
    return target.create_target_machine(cpu=level, features=features, opt=3, reloc="pic", codemodel="default")


def optimised_object(code: bytes, level: str) -> bytes:
    """Return the object file of an LLVM module, optimised for a CPU level.

    Loops are unrolled only for the best level: others are for old machines, and take less time to compile without.
    """
    module = llvm.parse_bitcode(code)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = options.slp_vectorization = True
    options.loop_interleaving = options.loop_unrolling = level == next(iter(cpu_levels()))
    machine = target_machine(level)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    data: bytes = machine.emit_object(module)
    return data


def plain_object(code: str, level: str) -> bytes:
    """Return the object file of an LLVM module without optimising it."""
    data: bytes = target_machine(level).emit_object(llvm.parse_assembly(code))
    return data
