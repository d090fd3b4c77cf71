"""Placement: which stored values have a buffer, and how large it is.

A value that every reader takes from a register has no buffer. A value that is read only inside its
surrounding loops needs memory for one of their iterations.

Legal where every reader of a value without a buffer is in the value's surrounding loops, after the
value is complete, and reads the element of its own iteration (``_reads_in_place``).  A buffer for
one iteration is legal if all readers are in the same kernel and share the loops it leaves out, and
if these loops are sequential or the buffer is local (``serial_rows``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from math import prod
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine
from autojit.ir.core.program import Program, Value
from autojit.ir.core.types import dtype_name

from .element_walk import Index
from .fusion import Node, Schedule
from .op_loops import Stored
from .traits import Traits

#: The most scalars of a one-iteration buffer in registers or on the stack.
LOCAL = 16


def scalar_dtype(dtype: np.dtype) -> str:
    """The dtype of an element's scalars."""
    return {"c64": "f32", "c128": "f64"}.get(dtype_name(dtype), dtype_name(dtype))


def parts_of(dtype: np.dtype) -> int:
    """How many scalars make up an element."""
    return 2 if dtype.kind == "c" else 1


class Location(NamedTuple):
    """The memory of a value: a buffer and an offset (in elements); it is contiguous."""

    buffer: Buffer
    offset: Affine = Affine(0)


@dataclass
class Frame:
    """The surroundings of the body of a loop or branch: the locations of its inputs and outputs (a
    scalar without a location is taken from its register)."""

    inputs: dict[Value, Location]
    outputs: Sequence[Location | None]
    names: Iterator[int]


class Placement:
    """The buffers of a scheduled program.

    ``inputs`` and ``outputs`` in order, ``of`` by value, ``copies`` for outputs that are
    inputs or other outputs.  ``shared`` is the number of outer loops of which a value's buffer
    holds one iteration; ``floor`` is the same by buffer.
    """

    def __init__(
        self, program: Program, schedule: Schedule, traits: Traits, frame: Frame | None = None
    ) -> None:
        self.schedule = schedule
        self.traits = traits
        self.of: dict[Value, Buffer] = {}
        self.base: dict[Value, Affine] = {}
        self.shared: dict[Value, int] = {}
        self.floor: dict[Buffer, int] = {}
        self.copies: list[tuple[Location, Value]] = []
        self.inside = frame is not None
        self.inputs: list[Buffer] = []
        self.outputs: list[Buffer] = []
        if frame is None:
            self.inputs = [self._whole(v, f"in{i}", "input") for i, v in enumerate(program.inputs)]
            self.outputs = [
                self._whole(v, f"out{i}", "output") for i, v in enumerate(program.outputs)
            ]
            frame = Frame(
                dict(zip(program.inputs, map(Location, self.inputs), strict=True)),
                [Location(b) for b in self.outputs],
                count(),
            )
        for value, location in frame.inputs.items():
            self._locate(value, location)
        for value, place in zip(program.outputs, frame.outputs, strict=True):
            if place is not None:
                self._output(value, place)
        self._kernel_of, self._readers = self._reading()
        self.names = frame.names
        for value, item in schedule.stored.items():  # from the last to the first
            if value not in self.of:
                shared = self._shared_loops(value, item)
                if shared is not None:
                    self._place(value, shared)
            self._locate_under(value, item)

    def _whole(self, value: Value, name: str, kind: str) -> Buffer:
        size = value.type.size * parts_of(value.dtype)
        return Buffer(name, scalar_dtype(value.dtype), size, kind)

    def _place_of(self, value: Value) -> Location:
        return Location(self.of[value], self.base.get(value, Affine(0)))

    def _locate_under(self, value: Value, item: Any) -> None:
        """Give a value that is written over another one the other's location."""
        for under in (item.base, item.over) if isinstance(item, Stored) else ():
            if under is not None:
                self._locate(under, self._place_of(value))
        for taken, after in self.schedule.together.items():
            if after is value:
                self._locate(taken, self._under(self._place_of(value)))

    def _under(self, place: Location) -> Location:
        """The same memory as a separate buffer, because reads from it see another value."""
        b = place.buffer
        name = f"{b.name}_{next(self.names)}"
        return Location(Buffer(name, b.dtype, b.size, b.kind, b), place.offset)

    def _locate(self, value: Value, location: Location) -> None:
        self.of[value] = location.buffer
        self.base.pop(value, None)
        if location.offset != Affine(0):
            self.base[value] = location.offset

    def _output(self, value: Value, place: Location) -> None:
        if value in self.of:  # an input, or an output that is returned twice
            self.copies.append((place, value))
        else:
            self._locate(value, place)

    def _place(self, value: Value, shared: int) -> None:
        parts = parts_of(value.dtype)
        gone = self.gone(value, shared)
        size = prod(n for d, n in enumerate(value.shape) if d not in gone) * parts
        if size > LOCAL and not self.traits.serial_rows:
            shared, size = 0, value.type.size * parts
        kind = "local" if (shared or self.inside) and size <= LOCAL else "temp"
        buffer = Buffer(f"t{next(self.names)}", scalar_dtype(value.dtype), size, kind)
        self.of[value] = buffer
        self.shared[value] = shared
        self.floor[buffer] = shared

    def _reading(self) -> tuple[dict[Value, int], dict[Value, list[Any]]]:
        """The kernel that computes each value, and the value's readers."""
        kernel_of: dict[Value, int] = {}
        readers: dict[Value, list[Any]] = {}
        for number, kernel in enumerate(self.schedule.kernels()):
            for child in kernel if isinstance(kernel, list) else [kernel]:
                for leaf in child.leaves() if isinstance(child, Node) else (child,):
                    values = [leaf.value] if isinstance(leaf, Stored) else leaf.values
                    # A body is one kernel, whatever it calls.
                    kernel_of.update((v, 0 if self.inside else number) for v in values)
                    for value in leaf.reads:
                        readers.setdefault(value, []).append(leaf)
        return kernel_of, readers

    def _shared_loops(self, value: Value, item: Any) -> int | None:
        """The number of outer loops that all readers share with it; None if all read a register."""
        if not isinstance(item, Stored):
            return 0
        path = self.schedule.path[value]
        complete = item.first_reduced
        in_registers = item.in_register
        shared = complete
        for reader in self._readers.get(value, ()):
            if not isinstance(reader, Stored):
                return 0
            if self._kernel_of[reader.value] != self._kernel_of[value]:
                return 0
            theirs = self.schedule.path[reader.value]
            common = 0
            while common < min(len(path), len(theirs)) and path[common] is theirs[common]:
                common += 1
            shared = min(shared, common)
            if common < complete or not _reads_in_place(item, reader):
                in_registers = False
        return None if in_registers else shared

    def gone(self, value: Value, shared: int | None = None) -> set[int]:
        """The axes of a value that its buffer leaves out."""
        shared = self.shared.get(value, 0) if shared is None else shared
        if not shared:
            return set()
        item = self.schedule.stored[value]
        assert isinstance(item, Stored)
        return {d for d in item.dims[:shared] if d is not None}

    def offset(self, value: Value, index: Index) -> Affine:
        """The offset of an element in the value's buffer, in elements."""
        gone = self.gone(value)
        kept = [i for d, i in enumerate(index) if d not in gone]
        extents = [n for d, n in enumerate(value.shape) if d not in gone]
        offset = affine.flatten(kept, extents)
        base = self.base.get(value)
        return offset if base is None else offset + base


def _reads_in_place(item: Stored, reader: Stored) -> bool:
    """Whether the reader reads only the element of its own outer iteration."""
    here = {
        d: affine.of(v)
        for d, v in zip(item.dims[: item.first_reduced], reader.vars, strict=False)
        if d is not None
    }
    return all(
        index[d] == expected for index in reader.reads[item.value] for d, expected in here.items()
    )
