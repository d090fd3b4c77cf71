"""The arena: temporaries of one call share one block of memory.

Each temporary lives from the step that writes it to the last one that reads it; temporaries that do
not live at the same time may share bytes.

Legal where temporaries that live at the same step have separate bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    placed: list[tuple[int, int, Buffer]] = []  # offset, end, buffer
    offsets: dict[Buffer, int] = {}
    for buffer, start in first.items():
        size = -(-buffer.size * itemsize(buffer.dtype) // ALIGNMENT) * ALIGNMENT
        offset = 0
        for low, high, other in sorted(placed, key=lambda p: p[0]):
            if last[other] < start or first[other] > last[buffer]:
                continue
            if offset + size <= low:
                break
            offset = max(offset, high)
        placed.append((offset, offset + size, buffer))
        offsets[buffer] = offset
    return offsets, max((end for _, end, _ in placed), default=0)


def _used(step: Any) -> list[Buffer]:
    if not isinstance(step, Kernel):
        return [memory(buffer) for buffer in buffers_named(step)]
    return step.buffers
