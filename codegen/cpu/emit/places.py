"""Locations of a kernel's buffers: arguments, its own memory, and pointers that change.

LLVM knows that two arguments do not overlap. It does not follow pointers that are swapped between
steps, and assumes that they may point anywhere: each loop that reads through one would need an
overlap check at run time, and stay scalar if no check is possible. So two temporaries that swap
places are both addressed from the first one, by an offset that changes. LLVM then knows that the
address is in one of the two, and nowhere else.
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
    """Return the pairs of temporaries that swap with each other only: the second, then the first.

    ``offsets`` contains the temporaries' offsets in the arena.
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
    """Return the buffers that a kernel takes as arguments."""
    reached = pairs(walk(kernel.body), offsets)
    told = (b for b in kernel.buffers if memory(b) not in reached)
    return [b for b in told if b.kind not in ("local", "tape")]


class Places:
    """The buffers of a kernel as pointers; pointers that change have slots."""

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
                # An array type, not a count: LLVM splits arrays into scalars at once.
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
        """Return the address of a buffer's first element."""
        place = memory(buffer)
        moving = self._moving.get(place)
        return self.fixed[place] if moving is None else moving.pointer(builder)

    def move(self, buffer: Buffer, builder: ir.IRBuilder, address: ir.Value) -> None:
        """Set the address of a tape."""
        builder.store(address, self._moving[memory(buffer)].slot)

    def swap(self, first: Buffer, second: Buffer, builder: ir.IRBuilder) -> None:
        """Swap two buffers."""
        slots = [self._moving[memory(buffer)].slot for buffer in (first, second)]
        kind = self._moving[memory(first)].kind
        was = [builder.load(slot, typ=kind) for slot in slots]
        for slot, value in zip(slots, reversed(was), strict=True):
            builder.store(value, slot)


def poison(builder: ir.IRBuilder, pointer: ir.Value, buffer: Buffer) -> None:
    """Fill a buffer with ones (NaN in floats), if tests request it."""
    if not engine.POISON:
        return
    size = buffer.size * itemsize(buffer.dtype)
    fill = builder.module.declare_intrinsic("llvm.memset", [POINTER, I64])
    ones = ir.Constant(I8, 255)
    builder.call(fill, [pointer, ones, ir.Constant(I64, size), ir.Constant(ir.IntType(1), 0)])


class _Moving:
    """The current place of a buffer: an offset from a base, or an address if there is no base."""

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
