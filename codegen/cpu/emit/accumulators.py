"""Accumulators of loops in LLVM IR.

A maximum or minimum of floats becomes two reductions: one of the numbers, and one of whether any
was NaN. LLVM then computes several vectors at a time. An intrinsic that propagates NaN forms one
long chain of four instructions per vector, and took four times as long.
"""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.llvm.scalars import constant, is_float, llvm_type
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Finish
from autojit.codegen.loop_ir.values import Accumulator

from .context import KernelContext

I1 = ir.IntType(1)


def begin(emitter: KernelContext, s: Begin) -> None:
    accumulator, b = s.accumulator, emitter.builder
    slot = emitter.slots[accumulator.number] = emitter.allocas.alloca(llvm_type(accumulator.dtype))
    b.store(constant(accumulator.identity, accumulator.dtype), slot)
    if _is_extreme(accumulator):
        flag = emitter.not_numbers[accumulator.number] = emitter.allocas.alloca(I1)
        b.store(ir.Constant(I1, 0), flag)


def accumulate(emitter: KernelContext, s: Accumulate) -> None:
    accumulator: Accumulator = s.accumulator
    slot = emitter.slots[accumulator.number]
    old = emitter.builder.load(slot, typ=llvm_type(accumulator.dtype))
    value = emitter.registers[s.value.number]
    if _is_extreme(accumulator):
        new = _extreme(emitter, accumulator, old, value)
    else:
        new = emitter.combine(accumulator.combine, old, value, accumulator.dtype)
    emitter.builder.store(new, slot)


def _extreme(
    emitter: KernelContext, accumulator: Accumulator, old: ir.Value, value: ir.Value
) -> ir.Value:
    """Return the larger or smaller of two numbers; record in a flag whether the value is NaN."""
    b, flag = emitter.builder, emitter.not_numbers[accumulator.number]
    b.store(b.or_(b.load(flag, typ=I1), b.fcmp_unordered("uno", value, value)), flag)
    relation = ">" if accumulator.combine == "maximum" else "<"
    flags = ("nnan", "nsz")
    return b.select(b.fcmp_ordered(relation, value, old, flags=flags), value, old, flags=flags)


def finish(emitter: KernelContext, s: Finish) -> None:
    accumulator: Accumulator = s.accumulator
    kind = llvm_type(accumulator.dtype)
    found = emitter.builder.load(emitter.slots[accumulator.number], typ=kind)
    if _is_extreme(accumulator):
        is_nan = emitter.builder.load(emitter.not_numbers[accumulator.number], typ=I1)
        nan = constant(float("nan"), accumulator.dtype)
        found = emitter.builder.select(is_nan, nan, found)
    emitter.registers[s.result.number] = found


def _is_extreme(accumulator: Accumulator) -> bool:
    return accumulator.combine in ("maximum", "minimum") and is_float(accumulator.dtype)
