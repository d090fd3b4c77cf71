"""Locations of a kernel's buffers: arguments, its own memory, and pointers that change.

LLVM knows that two arguments are not the same memory.  It does not follow pointers that are swapped
from one step to the next, and takes them for anything: each loop that reads through one would
ask, as it runs, whether it writes to what it reads, and where it cannot ask it stays scalar.
So two temporaries that change places are reached from the first of them, by an offset that
changes: either of the two, but nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from llvmlite import ir

from autojit.codegen.cpu.host import engine
from autojit.codegen.cpu.llvm.scalars import memory_type
from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.sequences import Recall, Repeat, Swap
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer

I8, I64, POINTER = ir.IntType(8), ir.IntType(64), ir.PointerType()


def pairs(statements: Iterable[Any], offsets: Mapping[Buffer, int]) -> dict[Buffer, Buffer]:
    """Temporaries that change places with one other: the second of each two, with the first.

    ``offsets`` says where in the arena temporaries are.
    """
    found = dict.fromkeys(
        (memory(s.first), memory(s.second)) for s in statements if isinstance(s, Swap)
    )
    times = Counter(buffer for pair in found for buffer in pair)
    return {
        second: first
        for first, second in found
        if times[first] == times[second] == 1 and first in offsets and second in offsets
    }


def arguments(kernel: Kernel, offsets: Mapping[Buffer, int]) -> list[Buffer]:
    """The buffers that a kernel has to be told of."""
    reached = pairs(walk(kernel.body), offsets)
    told = (b for b in kernel.buffers if memory(b) not in reached)
    return [b for b in told if b.kind not in ("local", "tape")]


class Places:
    """The buffers of a kernel as pointers, with slots for what changes."""

    def __init__(
        self,
        kernel: Kernel,
        arguments: Mapping[Buffer, ir.Value],
        offsets: Mapping[Buffer, int],
        slots: ir.IRBuilder,
    ) -> None:
        self.fixed = dict(arguments)
        self._moving: dict[Buffer, _Moving] = {}
        for buffer in kernel.buffers:
            if buffer.kind == "local":
                kind = memory_type(buffer.dtype)
                # An array type, not a count: LLVM takes arrays apart at once.
                place = slots.alloca(ir.ArrayType(kind, max(1, buffer.size)))
                self.fixed[buffer] = slots.bitcast(place, kind.as_pointer())
                poison(slots, self.fixed[buffer], buffer)
        for second, first in pairs(walk(kernel.body), offsets).items():
            base = self.fixed[first]
            for buffer in (first, second):
                offset = ir.Constant(I64, offsets[buffer] - offsets[first])
                self._moving[buffer] = _Moving(slots, offset, base)
        for s in walk(kernel.body):
            for buffer in map(memory, (s.first, s.second) if isinstance(s, Swap) else ()):
                if buffer not in self._moving:
                    self._moving[buffer] = _Moving(slots, self.fixed[buffer])
            for tape in map(memory, s.tapes if isinstance(s, (Repeat, Recall)) else ()):
                self._moving[tape] = _Moving(slots, ir.Constant(POINTER, None))

    def pointer(self, buffer: Buffer, builder: ir.IRBuilder) -> ir.Value:
        """Where a buffer begins."""
        place = memory(buffer)
        moving = self._moving.get(place)
        return self.fixed[place] if moving is None else moving.pointer(builder)

    def move(self, buffer: Buffer, builder: ir.IRBuilder, address: ir.Value) -> None:
        """A tape begins elsewhere from now on."""
        builder.store(address, self._moving[memory(buffer)].slot)

    def swap(self, first: Buffer, second: Buffer, builder: ir.IRBuilder) -> None:
        """Two buffers change places."""
        slots = [self._moving[memory(buffer)].slot for buffer in (first, second)]
        kind = self._moving[memory(first)].kind
        was = [builder.load(slot, typ=kind) for slot in slots]
        for slot, value in zip(slots, reversed(was), strict=True):
            builder.store(value, slot)


def poison(builder: ir.IRBuilder, pointer: ir.Value, buffer: Buffer) -> None:
    """Where tests want it, fill a buffer with bytes of ones: with NaN, where it holds floats."""
    if not engine.POISON:
        return
    size = buffer.size * itemsize(buffer.dtype)
    fill = builder.module.declare_intrinsic("llvm.memset", [POINTER, I64])
    ones = ir.Constant(I8, 255)
    builder.call(fill, [pointer, ones, ir.Constant(I64, size), ir.Constant(ir.IntType(1), 0)])


class _Moving:
    """Where a buffer is at the moment: an offset from a base or, without one, an address."""

    def __init__(self, slots: ir.IRBuilder, start: ir.Value, base: ir.Value | None = None) -> None:
        self.base = base
        self.kind = POINTER if base is None else I64
        self.slot = slots.alloca(self.kind)
        slots.store(start, self.slot)

    def pointer(self, builder: ir.IRBuilder) -> ir.Value:
        place = builder.load(self.slot, typ=self.kind)
        if self.base is None:
            return place
        return builder.gep(self.base, [place], inbounds=True, source_etype=I8)
