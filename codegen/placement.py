"""Placement: which stored values have a buffer, and how large it is.

A value that every reader takes from a register has none.  A value that is read
only inside of the loops around it needs room for one of their iterations.
"""

from __future__ import annotations

from itertools import count
from math import prod
from typing import Any

import numpy as np

from autojit.ir.program import Program, Value
from autojit.ir.types import dtype_name

from . import affine
from .affine import Affine
from .loops import Buffer
from .pull import Index
from .schedule import Node, Schedule
from .storage import LibraryCall, Stored
from .traits import Traits

#: Buffers of one iteration with at most this many scalars live in registers or on the stack.
LOCAL = 16


def scalar_dtype(dtype: np.dtype) -> str:
    """The dtype of the scalars that make up an element."""
    return {"c64": "f32", "c128": "f64"}.get(dtype_name(dtype), dtype_name(dtype))


def parts_of(dtype: np.dtype) -> int:
    """How many scalars make up an element."""
    return 2 if dtype.kind == "c" else 1


class Placement:
    """The buffers of a scheduled program.

    ``inputs`` and ``outputs`` in order, ``of`` by value, ``copies`` for outputs that are
    inputs or other outputs.  ``shared`` says how many outer loops a value's buffer serves
    one iteration of, and ``floor`` the same by buffer.
    """

    def __init__(self, program: Program, schedule: Schedule, traits: Traits) -> None:
        self.schedule = schedule
        self.traits = traits
        self.of: dict[Value, Buffer] = {}
        self.shared: dict[Value, int] = {}
        self.floor: dict[Buffer, int] = {}
        self.copies: list[tuple[Buffer, Value]] = []
        self.inputs = [self._whole(v, f"in{i}", "input") for i, v in enumerate(program.inputs)]
        self.of.update(zip(program.inputs, self.inputs, strict=True))
        self.outputs = [self._output(v, i) for i, v in enumerate(program.outputs)]
        self._kernel_of, self._readers = self._reading()
        names = count()
        for value, item in schedule.stored.items():
            if value not in self.of:
                shared = self._shared_loops(value, item)
                if shared is not None:
                    self._place(value, shared, names)

    def _whole(self, value: Value, name: str, kind: str) -> Buffer:
        size = value.type.size * parts_of(value.dtype)
        return Buffer(name, scalar_dtype(value.dtype), size, kind)

    def _output(self, value: Value, number: int) -> Buffer:
        buffer = self._whole(value, f"out{number}", "output")
        if value in self.of:  # an input, or an output that is returned twice
            self.copies.append((buffer, value))
        else:
            self.of[value] = buffer
        return buffer

    def _place(self, value: Value, shared: int, names: Any) -> None:
        parts = parts_of(value.dtype)
        gone = self.gone(value, shared)
        size = prod(n for d, n in enumerate(value.shape) if d not in gone) * parts
        if size > LOCAL and not self.traits.serial_rows:
            shared, size = 0, value.type.size * parts
        kind = "local" if shared and size <= LOCAL else "temp"
        buffer = Buffer(f"t{next(names)}", scalar_dtype(value.dtype), size, kind)
        self.of[value] = buffer
        self.shared[value] = shared
        self.floor[buffer] = shared

    def _reading(self) -> tuple[dict[Value, int], dict[Value, list[Any]]]:
        """The kernel that computes each value, and who reads it."""
        kernel_of: dict[Value, int] = {}
        readers: dict[Value, list[Any]] = {}
        for number, kernel in enumerate(self.schedule.kernels()):
            if isinstance(kernel, LibraryCall):
                kernel_of.update((v, number) for v in kernel.values)
                for view in kernel.views:
                    readers.setdefault(view.base, []).append(kernel)
                continue
            for child in kernel:
                for leaf in child.leaves() if isinstance(child, Node) else (child,):
                    assert isinstance(leaf, Stored)
                    kernel_of[leaf.value] = number
                    for value in leaf.reads:
                        readers.setdefault(value, []).append(leaf)
        return kernel_of, readers

    def _shared_loops(self, value: Value, item: Any) -> int | None:
        """How many outer loops all readers share with it; None if all read a register."""
        if isinstance(item, LibraryCall):
            return 0
        path = self.schedule.path[value]
        complete = item.first_reduced
        in_registers = item.in_register
        shared = complete
        for reader in self._readers.get(value, ()):
            if isinstance(reader, LibraryCall):
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
        """Axes of a value that its buffer does not have."""
        shared = self.shared.get(value, 0) if shared is None else shared
        if not shared:
            return set()
        item = self.schedule.stored[value]
        assert isinstance(item, Stored)
        return {d for d in item.dims[:shared] if d is not None}

    def offset(self, value: Value, index: Index) -> Affine:
        """Where an element lies in the value's buffer, in elements."""
        gone = self.gone(value)
        kept = [i for d, i in enumerate(index) if d not in gone]
        extents = [n for d, n in enumerate(value.shape) if d not in gone]
        return affine.flatten(kept, extents)


def _reads_in_place(item: Stored, reader: Stored) -> bool:
    """Whether the reader reads just the element of its own outer iteration."""
    here = {
        d: affine.of(v)
        for d, v in zip(item.dims[: item.first_reduced], reader.vars, strict=False)
        if d is not None
    }
    return all(
        index[d] == expected for index in reader.reads[item.value] for d, expected in here.items()
    )
