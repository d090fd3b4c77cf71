"""The arena: temporaries of one call share one block of memory.

Each temporary lives from the step that writes it to the last one that reads it; temporaries that do
not live at the same time may share bytes.

Legal where temporaries that live at the same step have separate bytes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from heapq import heappop, heappush
from math import inf
from typing import Any

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.program import ALIGNMENT, Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import buffers_named, memory
from autojit.codegen.loop_ir.values import Buffer

from .loop_level import NESTS, NOT_PLACED, loop_pass


@loop_pass("Gives temporaries places in one block of memory.", needs=[NOT_PLACED], keeps=[NESTS])
def plan(program: LoopProgram) -> None:
    """Give every temporary an offset: first fit, in the order of their first use."""
    program.temps, program.arena = places([_used(step) for step in program.steps])


def places(used: Sequence[Sequence[Buffer]]) -> tuple[dict[Buffer, int], int]:
    """Return the offsets of temporaries, and the total number of bytes.

    Args:
        used: the buffers of each step, in the order of the steps.
    """
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for position, buffers in enumerate(used):
        for buffer in buffers:
            if buffer.kind == "temp":
                first.setdefault(buffer, position)
                last[buffer] = position
    memory, offsets = _Gaps(), dict[Buffer, int]()
    taken: list[tuple[int, int, int]] = []  # the last step, offset, end
    for buffer, start in first.items():
        while taken and taken[0][0] < start:
            memory.free(*heappop(taken)[1:])
        size = -(-buffer.size * itemsize(buffer.dtype) // ALIGNMENT) * ALIGNMENT
        offset = offsets[buffer] = memory.take(size)
        if size:
            heappush(taken, (last[buffer], offset, offset + size))
    return offsets, memory.end


class _Gaps:
    """Memory without an end, of which parts are taken: the gaps between these, in order.

    The gaps of a chain and its gradient are few, so that the work is proportional to the number of
    temporaries.
    """

    def __init__(self) -> None:
        #: Where gaps begin and end; the last one has no end.
        self.starts: list[int] = [0]
        self.ends: list[float] = [inf]
        #: The end of all parts that were ever taken.
        self.end = 0

    def take(self, size: int) -> int:
        """Take the first bytes of the first gap that is long enough."""
        k = 0
        while self.ends[k] - self.starts[k] < size:
            k += 1
        offset = self.starts[k]
        self.starts[k] += size
        self.end = max(self.end, self.starts[k])
        if self.starts[k] == self.ends[k]:
            del self.starts[k], self.ends[k]
        return offset

    def free(self, start: int, end: int) -> None:
        """Give a part back, and join it with the gaps beside it."""
        k = bisect_left(self.starts, start)
        if k < len(self.starts) and self.starts[k] == end:
            self.starts[k] = start
        else:
            self.starts.insert(k, start)
            self.ends.insert(k, end)
        if k and self.ends[k - 1] == start:
            self.ends[k - 1] = self.ends[k]
            del self.starts[k], self.ends[k]


def _used(step: Any) -> list[Buffer]:
    if not isinstance(step, Kernel):
        return [memory(buffer) for buffer in buffers_named(step)]
    return step.buffers
