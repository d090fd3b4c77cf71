"""Loops whose steps run in turn, and branches, in LLVM IR."""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.llvm.counted import CountedLoop, never_unrolled
from autojit.codegen.loop_ir.sequences import (
    NOTE,
    Branch,
    Keep,
    Recall,
    Release,
    Repeat,
    Steps,
    Swap,
)
from autojit.ir.core.affine import Affine

from .context import KernelContext

I64, POINTER = ir.IntType(64), ir.PointerType()


def repeat(emitter: KernelContext, s: Repeat) -> None:
    """Test, body, and again; the tapes grow twofold where they are full.

    What fails in the loop ends it, and what has failed before skips it: its condition may never
    come to hold with made-up elements.
    """
    b = emitter.builder
    trips = emitter.trips[s.trips] = emitter.allocas.alloca(I64)
    head, body, done = (b.append_basic_block(n) for n in ("head", "body", "done"))
    fine = emitter.all_fine()
    if fine is None:
        b.branch(head)
    else:
        b.store(ir.Constant(I64, 0), trips)
        b.cbranch(fine, head, done)
    before = b.block
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
        emitter.rooms[s.tapes[0]].reserve(step, done)
    emitter.body(s.body)
    following = b.add(step, ir.Constant(I64, 1), flags=("nuw", "nsw"))
    step.add_incoming(following, b.block)
    b.branch(head).set_metadata("llvm.loop", never_unrolled(emitter.module))
    b.position_at_end(done)


def steps(emitter: KernelContext, s: Steps) -> None:
    """The body for each step that a loop ran."""
    b = emitter.builder
    count = b.load(emitter.trips[s.trips], typ=I64)
    zero, one = ir.Constant(I64, 0), ir.Constant(I64, 1)
    some = b.icmp_unsigned(">", count, zero)
    with b.if_then(some), CountedLoop(b, zero, count, keep_rolled=True) as i:
        last = b.sub(count, one, flags=("nuw", "nsw"))
        emitter.vars[s.step] = b.sub(last, i, flags=("nuw", "nsw")) if s.backward else i
        emitter.body(s.body)


def release(emitter: KernelContext, s: Release) -> None:
    """Give the memory of tapes back."""
    emitter.rooms[s.tapes[0]].release()


def keep(emitter: KernelContext, s: Keep) -> None:
    """Write down where tapes are."""
    b = emitter.builder
    words = [b.load(emitter.trips[s.trips], typ=I64)]
    if s.tapes:
        words += emitter.rooms[s.tapes[0]].words()
    for i, word in enumerate(words):
        emitter.store_to(emitter.address(s.note, Affine(i)), word, "i64")


def recall(emitter: KernelContext, s: Recall) -> None:
    """Read where tapes are."""
    b = emitter.builder
    words = [emitter.load_from(emitter.address(s.note, Affine(i)), "i64") for i in range(NOTE)]
    trips = emitter.trips[s.trips] = emitter.allocas.alloca(I64)
    b.store(words[0], trips)
    if s.tapes:
        emitter.rooms[s.tapes[0]].take(words[1:])


def branch(emitter: KernelContext, s: Branch) -> None:
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


def swap(emitter: KernelContext, s: Swap) -> None:
    """Two buffers change places."""
    emitter.places.swap(s.first, s.second, emitter.builder)
