"""Estimates the bytes that a kernel must move between processors and memory, from its statements.

An element of global memory counts once for reading and once for writing, however often a kernel
touches it: repeated reads are from a cache, or by the same team.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from math import prod

from autojit.codegen.loop_ir.cost import itemsize
from autojit.codegen.loop_ir.effects import EFFECTS, Access
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer

from .nodes import DeviceKernel


@dataclass(frozen=True)
class Traffic:
    """The numbers of bytes that are read and written."""

    read: int
    written: int

    @property
    def total(self) -> int:
        """All bytes."""
        return self.read + self.written


def traffic(kernel: DeviceKernel) -> Traffic:
    """The most bytes that a kernel moves."""
    read: dict[Buffer, int] = defaultdict(int)
    written: dict[Buffer, int] = defaultdict(int)
    for s in walk(kernel.body):
        e = EFFECTS[type(s)]
        for accesses, found in (
            ((*e.reads(s), *e.updates(s)), read),
            ((*e.writes(s), *e.updates(s)), written),
        ):
            for access in accesses:
                found[memory(access.buffer)] += _elements(access)
    given = set(kernel.buffers)
    return Traffic(_bytes(read, given), _bytes(written, given))


def _elements(access: Access) -> int:
    """The number of elements that an access may touch, for all values of its index variables."""
    return prod(v.extent for v in access.index.variables()) * access.size


def _bytes(found: dict[Buffer, int], given: set[Buffer]) -> int:
    return sum(min(n, b.size) * itemsize(b.dtype) for b, n in found.items() if b in given)
