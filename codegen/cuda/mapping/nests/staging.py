"""Rows that only one team reads and writes are kept in shared memory.

    share i from …:                    share i from …:
      share j from lane …:               share j from lane …:
        t[100*i + j] = exp(…)      ->      row[100*slot + j] = exp(…)
      …                                  …
        … = t[100*i + j]                   … = row[100*slot + j]

Legal where no other kernel touches the buffer, and iteration n of the nest touches only elements
``c*n`` to ``c*n + c - 1``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.effects import EFFECTS, Access, accesses
from autojit.codegen.loop_ir.nodes import Load, Loop, Store
from autojit.codegen.loop_ir.sequences import Branch
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine, Bounds

from .structure import Nest

#: The most bytes of rows per block: eight blocks of 256 threads then fill a processor of any card
#: (64 KiB for the 1,024 threads of 7.5, 100 for the 1,536 of 8.6 and 12.0, 164 and more elsewhere).
MOST_BYTES = 16 << 10


def rows_of(nest: Nest, private: Collection[Buffer]) -> dict[Buffer, int]:
    """The buffers in which each iteration of a nest has its own row, with the row's length."""
    touched: dict[Buffer, list[tuple[Any, Access, Bounds]]] = {}
    _collect(nest.body, {}, touched)
    if any(loop.start for loop in nest.loops):
        return {}
    found = {}
    for buffer, every in touched.items():
        if buffer in private and all(isinstance(s, Load | Store) for s, _, _ in every):
            widths = {_width(nest, access, bounds) for _, access, bounds in every}
            if len(widths) == 1 and None not in widths:
                (found[buffer],) = widths
    return {b: width for b, width in found.items() if width is not None}


def _collect(
    body: list[Any], bounds: Bounds, found: dict[Buffer, list[tuple[Any, Access, Bounds]]]
) -> None:
    for s in body:
        for access in accesses(s):
            found.setdefault(memory(access.buffer), []).append((s, access, bounds))
        inside = {**bounds, **EFFECTS[type(s)].variables(s)}
        for inner in EFFECTS[type(s)].bodies(s):
            _collect(inner, inside, found)


def _width(nest: Nest, access: Access, bounds: Bounds) -> int | None:
    """The length of the row that an iteration touches; None if it is not the iteration's own."""
    index, below = access.index, 1
    long = [loop for loop in nest.loops if loop.stop > 1]
    if not long:
        return None
    width = index.coefficient(long[-1].var)
    for loop in reversed(long):
        if index.stride(loop.var) is None or index.coefficient(loop.var) != width * below:
            return None
        below *= loop.stop
    low, high = _inside(nest, index).range(bounds)
    return width if low >= 0 and high < width else None


def _inside(nest: Nest, index: Affine) -> Affine:
    """The place in the row."""
    return index.parts([loop.var for loop in nest.loops])[1] + index.constant


def bytes_of(rows: dict[Buffer, int]) -> int:
    """The bytes of one iteration's rows."""
    return sum(width * itemsize(b.dtype) for b, width in rows.items())


def in_shared_memory(
    nest: Nest, rows: dict[Buffer, int], slots: int, slot: Affine
) -> tuple[Nest, list[Buffer]]:
    """The nest with its rows in shared memory, one slot for each team of a block."""
    shared = {
        b: Buffer(f"{b.name}_rows", b.dtype, slots * width, "shared") for b, width in rows.items()
    }

    def moved(s: Any) -> Any:
        if isinstance(s, Load | Store) and memory(s.buffer) in shared:
            root = memory(s.buffer)
            index = slot * rows[root] + _inside(nest, s.index)
            return replace(s, buffer=shared[root], index=index)
        if isinstance(s, Loop):
            return replace(s, body=[moved(inner) for inner in s.body])
        if isinstance(s, Branch):
            return Branch(s.index, [[moved(inner) for inner in body] for body in s.bodies])
        return s

    nested = (s for s in walk(nest.body) if EFFECTS[type(s)].bodies(s))
    assert all(isinstance(s, Loop | Branch) for s in nested)
    body = [moved(s) for s in nest.body]
    return Nest(nest.loops, nest.between, body), list(shared.values())
