"""Loops whose steps run in order, and branches, in LLVM IR."""

from __future__ import annotations

from llvmlite import ir

from autojit.codegen.cpu.abi import interruptions
from autojit.codegen.cpu.abi.interruptions import Pauses
from autojit.codegen.cpu.llvm.counted import CountedLoop, never_unrolled
from autojit.codegen.cpu.llvm.demands import can_fail
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.cost import work
from autojit.codegen.loop_ir.matrices import Factorization
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
from autojit.codegen.loop_ir.traversal import walk
from autojit.ir.core.affine import Affine

from .context import KernelContext

I64, POINTER = ir.IntType(64), ir.PointerType()


def repeat(emitter: KernelContext, s: Repeat) -> None:
    """Write a loop that tests its condition and runs its body; full tapes double their size.

    A failure in the loop ends it, and an earlier failure skips it: with placeholder elements its
    condition may never become false. After some steps it pauses, for Ctrl-C (see
    ``interruptions``).
    """
    b = emitter.builder
    emitter.trips[s.trips] = emitter.allocas.alloca(I64)
    b.store(ir.Constant(I64, 0), emitter.trips[s.trips])
    begin, done = b.append_basic_block("begin"), b.append_basic_block("done")
    b.cbranch(emitter.all_fine(), begin, done)
    b.position_at_end(begin)
    pauses = interruptions.Pauses(emitter, b, _steps_to_pause(s))
    write = _fallible if any(map(can_fail, walk([*s.condition, *s.body]))) else _infallible
    write(emitter, s, pauses, done)
    b.position_at_end(done)


def _pause(emitter: KernelContext, s: Repeat, pauses: Pauses, done: ir.Block) -> None:
    """Pause; a loop that must end then counts as one of no steps, so that no sweep follows."""
    b = emitter.builder
    stop, on = b.append_basic_block("stop"), b.append_basic_block("resumed")
    b.cbranch(pauses.pause(), stop, on)
    b.position_at_end(stop)
    b.store(ir.Constant(I64, 0), emitter.trips[s.trips])
    b.branch(done)
    b.position_at_end(on)


def _fallible(emitter: KernelContext, s: Repeat, pauses: Pauses, done: ir.Block) -> None:
    """Write one loop that contains the pauses: LLVM sees that its counter is not negative."""
    b = emitter.builder
    head, on, pause, body = (b.append_basic_block(n) for n in ("head", "on", "pause", "body"))
    step = _head(emitter, s, head, ir.Constant(I64, 0))
    test, fine = emitter.registers[s.test.number], emitter.still_fine([*s.condition, *s.body])
    b.cbranch(test if fine is None else b.and_(test, fine), on, done)
    b.position_at_end(on)
    b.cbranch(pauses.due(step), pause, body).set_weights([1, 1 << 16])
    b.position_at_end(pause)
    _pause(emitter, s, pauses, done)
    b.branch(body)
    b.position_at_end(body)
    _body(emitter, s, step, head, done)


def _infallible(emitter: KernelContext, s: Repeat, pauses: Pauses, done: ir.Block) -> None:
    """Write the steps between two pauses as an inner loop without calls, so that LLVM may vectorize
    it. After a pause the condition is computed again, which changes nothing."""
    b = emitter.builder
    names = "some", "head", "body", "leave", "pause"
    some, head, body, leave, pause = (b.append_basic_block(n) for n in names)
    begin = b.block
    b.branch(some)
    b.position_at_end(some)
    first = b.phi(I64)
    first.add_incoming(ir.Constant(I64, 0), begin)
    limit = pauses.limit()
    step = _head(emitter, s, head, first)
    test = emitter.registers[s.test.number]
    early = b.icmp_unsigned("<", step, limit)
    b.cbranch(b.and_(test, early), body, leave)
    b.position_at_end(leave)
    b.cbranch(early, done, pause)
    b.position_at_end(pause)
    _pause(emitter, s, pauses, done)
    first.add_incoming(step, b.block)
    outer = b.branch(some)
    outer.set_metadata("llvm.loop", never_unrolled(emitter.module))
    b.position_at_end(body)
    _body(emitter, s, step, head, done)


def _head(emitter: KernelContext, s: Repeat, head: ir.Block, first: ir.Value) -> ir.PhiInstr:
    """Write the number of the step and the condition. Return the number."""
    b = emitter.builder
    before = b.block
    b.branch(head)
    b.position_at_end(head)
    step = b.phi(I64)
    step.add_incoming(first, before)
    emitter.vars[s.step] = step
    b.store(step, emitter.trips[s.trips])
    emitter.body(s.condition)
    return step


def _body(
    emitter: KernelContext, s: Repeat, step: ir.PhiInstr, head: ir.Block, done: ir.Block
) -> None:
    """Write the body and the jump back."""
    b = emitter.builder
    if s.tapes:
        emitter.rooms[s.tapes[0]].reserve(step, done)
    emitter.body(s.body)
    following = b.add(step, ir.Constant(I64, 1), flags=("nuw", "nsw"))
    step.add_incoming(following, b.block)
    b.branch(head).set_metadata("llvm.loop", never_unrolled(emitter.module))


def _steps_to_pause(s: Repeat) -> int:
    """Estimate the steps of a loop before its first pause by their work; 1 if it is unknown."""
    everything = [*s.condition, *s.body]
    if any(isinstance(x, (Callback, Factorization, Repeat, Steps)) for x in walk(everything)):
        return 1
    return max(1, interruptions.FIRST // max(1, work(everything)))


def steps(emitter: KernelContext, s: Steps) -> None:
    """Write a loop that runs the body for each step of an earlier loop."""
    b = emitter.builder
    count = b.load(emitter.trips[s.trips], typ=I64)
    zero, one = ir.Constant(I64, 0), ir.Constant(I64, 1)
    some = b.icmp_unsigned(">", count, zero)
    with b.if_then(some), CountedLoop(b, zero, count, keep_rolled=True) as i:
        last = b.sub(count, one, flags=("nuw", "nsw"))
        emitter.vars[s.step] = b.sub(last, i, flags=("nuw", "nsw")) if s.backward else i
        emitter.body(s.body)


def release(emitter: KernelContext, s: Release) -> None:
    """Release the memory of tapes."""
    emitter.rooms[s.tapes[0]].release()


def keep(emitter: KernelContext, s: Keep) -> None:
    """Store the places of tapes."""
    b = emitter.builder
    words = [b.load(emitter.trips[s.trips], typ=I64)]
    if s.tapes:
        words += emitter.rooms[s.tapes[0]].words()
    for i, word in enumerate(words):
        emitter.store_to(emitter.address(s.note, Affine(i)), word, "i64")


def recall(emitter: KernelContext, s: Recall) -> None:
    """Load the places of tapes."""
    b = emitter.builder
    words = [emitter.load_from(emitter.address(s.note, Affine(i)), "i64") for i in range(NOTE)]
    trips = emitter.trips[s.trips] = emitter.allocas.alloca(I64)
    b.store(words[0], trips)
    if s.tapes:
        emitter.rooms[s.tapes[0]].take(words[1:])


def branch(emitter: KernelContext, s: Branch) -> None:
    """Jump to the body at the index; the first or the last if the index is out of range."""
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
    """Swap two buffers."""
    emitter.places.swap(s.first, s.second, emitter.builder)
