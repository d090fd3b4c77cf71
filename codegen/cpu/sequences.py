"""Loops whose steps run in turn, and branches, in LLVM IR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llvmlite import ir

from ..arena import itemsize
from ..errors import OUT_OF_MEMORY
from ..loops import (
    Branch,
    Buffer,
    Release,
    Repeat,
    Steps,
    Swap,
)
from ..walk import memory
from . import abi
from .counted import CountedLoop

if TYPE_CHECKING:
    from .emit import KernelEmitter

I64, POINTER = ir.IntType(64), ir.PointerType()
_REALLOC = ir.FunctionType(POINTER, [POINTER, I64])
_FREE = ir.FunctionType(ir.VoidType(), [POINTER])
#: How many steps a tape has room for at first.
FIRST_STEPS = 256


def repeat(emitter: KernelEmitter, s: Repeat) -> None:
    """Test, body, and again; the tapes grow twofold where they are full.

    What fails ends the loop: its condition may never come to hold with made-up elements.
    """
    b = emitter.builder
    trips = emitter.trips[s.trips] = emitter.allocas.alloca(I64)
    capacity = emitter.allocas.alloca(I64)
    b.store(ir.Constant(I64, 0), capacity)
    before = b.block
    head, body, done = (b.append_basic_block(n) for n in ("head", "body", "done"))
    b.branch(head)
    b.position_at_end(head)
    step = b.phi(I64)
    step.add_incoming(ir.Constant(I64, 0), before)
    emitter.vars[s.step] = step
    b.store(step, trips)
    emitter.body(s.condition)
    test, fine = emitter.registers[s.test.number], emitter.still_fine([*s.condition, *s.body])
    b.cbranch(test if fine is None else b.and_(test, fine), body, done)
    b.position_at_end(body)
    if s.tapes:
        _reserve(emitter, s.tapes, step, capacity, done)
    emitter.body(s.body)
    following = b.add(step, ir.Constant(I64, 1), flags=("nuw", "nsw"))
    step.add_incoming(following, b.block)
    b.branch(head)
    b.position_at_end(done)


def _reserve(
    emitter: KernelEmitter, tapes: list[Buffer], step: ir.Value, capacity: ir.Value, done: ir.Block
) -> None:
    b = emitter.builder
    full = b.icmp_unsigned(">=", step, b.load(capacity, typ=I64))
    with b.if_then(full, likely=False):
        old = b.load(capacity, typ=I64)
        twice = b.mul(old, ir.Constant(I64, 2))
        more = b.select(
            b.icmp_unsigned("==", old, ir.Constant(I64, 0)), ir.Constant(I64, FIRST_STEPS), twice
        )
        for tape in tapes:
            size = b.mul(more, ir.Constant(I64, max(1, tape.size) * itemsize(tape.dtype)))
            function = abi.load(b, emitter.table, abi.SLOTS["realloc"], _REALLOC.as_pointer())
            slot = emitter.moving[memory(tape)]
            grown = b.call(function, [b.load(slot, typ=POINTER), size])
            failed, fine = b.append_basic_block("failed"), b.append_basic_block("fine")
            b.cbranch(b.icmp_unsigned("==", grown, ir.Constant(POINTER, None)), failed, fine)
            b.position_at_end(failed)
            emitter.fail_if(ir.Constant(ir.IntType(1), 1), OUT_OF_MEMORY)
            b.branch(done)
            b.position_at_end(fine)
            b.store(grown, slot)
        b.store(more, capacity)


def steps(emitter: KernelEmitter, s: Steps) -> None:
    """The body for each step that a loop ran."""
    b = emitter.builder
    count = b.load(emitter.trips[s.trips], typ=I64)
    zero, one = ir.Constant(I64, 0), ir.Constant(I64, 1)
    some = b.icmp_unsigned(">", count, zero)
    with b.if_then(some), CountedLoop(b, zero, count, keep_rolled=True) as i:
        last = b.sub(count, one, flags=("nuw", "nsw"))
        emitter.vars[s.step] = b.sub(last, i, flags=("nuw", "nsw")) if s.backward else i
        emitter.body(s.body)


def release(emitter: KernelEmitter, s: Release) -> None:
    """Give the memory of tapes back."""
    b = emitter.builder
    for tape in s.tapes:
        slot = emitter.moving[memory(tape)]
        function = abi.load(b, emitter.table, abi.SLOTS["free"], _FREE.as_pointer())
        b.call(function, [b.load(slot, typ=POINTER)])
        b.store(ir.Constant(POINTER, None), slot)


def branch(emitter: KernelEmitter, s: Branch) -> None:
    """A jump to the body of the index; the first and the last take what is out of range."""
    b = emitter.builder
    index = emitter.registers[s.index.number]
    blocks = [b.append_basic_block(f"branch{k}") for k in range(len(s.bodies))]
    done = b.append_basic_block("joined")
    low = b.icmp_signed("<", index, ir.Constant(I64, 0))
    clipped = b.select(low, ir.Constant(I64, 0), index)
    choice = b.switch(clipped, blocks[-1])
    for k, block in enumerate(blocks[:-1]):
        choice.add_case(ir.Constant(I64, k), block)
    for block, statements in zip(blocks, s.bodies, strict=True):
        b.position_at_end(block)
        emitter.body(statements)
        b.branch(done)
    b.position_at_end(done)


def swap(emitter: KernelEmitter, s: Swap) -> None:
    """Two buffers change places."""
    b = emitter.builder
    first, second = emitter.moving[memory(s.first)], emitter.moving[memory(s.second)]
    a, c = b.load(first, typ=POINTER), b.load(second, typ=POINTER)
    b.store(c, first)
    b.store(a, second)
