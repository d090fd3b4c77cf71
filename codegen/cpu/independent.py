"""Loops whose iterations touch memory of their own, for LLVM to know.

LLVM finds out by itself where arrays are arguments.  Tapes, and arrays that change places from step
to step, are wherever they are: it would ask as the loop runs, for each array that is written and
each other one, and where these are many it leaves the loop scalar.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..loops import (
    Accumulate,
    Buffer,
    Compute,
    Constant,
    IndexValue,
    InRange,
    Load,
    Loop,
    Store,
    Swap,
)
from ..walk import memory, walk

_KNOWN = (Accumulate, Compute, Constant, IndexValue, InRange, Load, Store)


def that_move(body: list[Any]) -> set[Buffer]:
    """The memory that is not always at one place: of tapes, and of buffers that change places."""
    found = set()
    for s in walk(body):
        if isinstance(s, Swap):
            found |= {memory(s.first), memory(s.second)}
        elif (buffer := getattr(s, "buffer", None)) is not None and buffer.kind == "tape":
            found.add(memory(buffer))
    return found


def is_independent(loop: Loop, moving: Collection[Buffer]) -> bool:
    """Whether an innermost loop touches such memory, and no iteration what another one writes."""
    if loop.role == "sequence" or not all(isinstance(s, _KNOWN) for s in loop.body):
        return False
    accesses = [s for s in loop.body if isinstance(s, (Load, Store))]
    if not any(memory(s.buffer) in moving for s in accesses):
        return False
    places = {memory(s.buffer): s.index for s in accesses if isinstance(s, Store)}
    return all(index.stride(loop.var) for index in places.values()) and all(
        places.get(memory(s.buffer), s.index) == s.index for s in accesses
    )
