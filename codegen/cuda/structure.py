"""Which loops of a nest run at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import prod
from typing import Any

from autojit.codegen.loop_ir.nodes import (
    AccumulateInto,
    Begin,
    Buffer,
    Fill,
    Finish,
    Kernel,
    Load,
    Loop,
    Place,
    Scalar,
    ScatterInto,
)
from autojit.codegen.loop_ir.traversal import walk
from autojit.ir.core.affine import Affine, Var

_COMBINING = (AccumulateInto, ScatterInto)
#: What ``cuda.atomic.add`` takes.
_ATOMIC = ("f32", "f64", "i32", "i64", "u32", "u64")


_IMPORTS = """\
import math

import numpy as np
from numba import cuda
from numba.cuda import libdevice
"""


@dataclass(frozen=True)
class Machine:
    """Sizes of launches.

    ``threads`` in a block, a power of two; ``most_blocks`` in a grid, whose threads then
    do several elements; ``tile`` x ``tile`` threads multiply tiles of matrices; ``row`` is
    the shortest loop that a block shares; ``many`` rows keep the device busy with a thread
    each; ``few`` iterations of a reduction are not worth a second launch.
    """

    threads: int = 256
    most_blocks: int = 1024
    tile: int = 16
    row: int = 32
    many: int = 16384
    few: int = 2048
    imports: str = _IMPORTS


@dataclass
class Nest:
    """Loops run through as one, the scalars between them, and what an iteration does."""

    loops: list[Loop]
    between: list[Any]
    body: list[Any]

    @property
    def count(self) -> int:
        return prod(loop.stop - loop.start for loop in self.loops)


def is_pure(statement: Any) -> bool:
    """Whether a statement only defines a scalar, so that any thread may repeat it."""
    return hasattr(statement, "result") and not isinstance(statement, Finish)


def nests(loop: Loop, *, atomic: bool = False) -> list[Nest]:
    """A loop with the loops perfectly inside of it; one nest for each segment of a split loop.

    A loop that combines into buffers is run by one thread unless that is ``atomic``.
    """
    inner = [s for s in loop.body if isinstance(s, Loop)]
    together = (
        inner
        and all(isinstance(s, Loop) or is_pure(s) for s in loop.body)
        and all(s.var is inner[0].var for s in inner)
        and (atomic or not any(s.role == "reduce" and _combines_into(s.body) for s in inner))
    )
    if not together:
        return [Nest([loop], [], loop.body)]
    found: list[Nest] = []
    between: list[Any] = []
    for s in loop.body:
        if not isinstance(s, Loop):
            between.append(s)
            continue
        for nest in nests(s, atomic=atomic):
            found.append(Nest([loop, *nest.loops], [*between, *nest.between], nest.body))
    return found


def _combines_into(body: list[Any]) -> bool:
    return any(isinstance(s, _COMBINING) for s in walk(body))


def shared_by_block(nest: Nest, machine: Machine) -> bool:
    """Whether the loops inside of an iteration are worth the threads of a block."""
    inner = [s for s in nest.body if isinstance(s, Loop)]
    if not inner or max(s.stop - s.start for s in inner) < machine.row:
        return False
    for s in walk(nest.body):
        buffer = getattr(s, "buffer", None)
        if isinstance(s, (*_COMBINING, Fill)) or (buffer is not None and buffer.kind == "local"):
            return False  # what is one thread's own cannot be shared
    return nest.count < machine.many or any(_reads_in_order(s) for s in inner)


def _reads_in_order(loop: Loop) -> bool:
    innermost = nests(loop)[0].loops[-1].var
    return any(isinstance(s, Load) and (innermost, 1) in s.index.terms for s in walk(loop.body))


# -- the parts of a kernel ------------------------------------------------------


@dataclass
class Parts:
    """What comes before the loops of a kernel, the loops, and what comes after."""

    scalars: list[Any]
    fills: list[Fill]
    begins: list[Begin]
    loops: list[Loop]
    after: list[Any]
    atomic: bool


def parts(kernel: Kernel) -> Parts | None:
    """The parts, or None if one thread has to run the kernel as it stands."""
    positions = [i for i, s in enumerate(kernel.body) if isinstance(s, Loop)]
    if not positions:
        return None
    head, after = kernel.body[: positions[-1] + 1], kernel.body[positions[-1] + 1 :]
    loops = [s for s in head if isinstance(s, Loop)]
    fills = [s for s in head if isinstance(s, Fill)]
    begins = [s for s in head if isinstance(s, Begin)]
    scalars = [s for s in head if is_pure(s)]
    into = [s for loop in loops if loop.role == "reduce" for s in walk(loop.body)
            if isinstance(s, _COMBINING)]  # fmt: skip
    unordered = len(loops) + len(fills) + len(begins) + len(scalars) == len(head)
    if not unordered or any(s.var is not loops[0].var for s in loops):
        return None
    if any(getattr(s, "combine", "add") != "add" or s.buffer.dtype not in _ATOMIC for s in into):
        return None
    return Parts(scalars, fills, begins, loops, after, bool(into))


# -- what statements use --------------------------------------------------------


def live(definitions: list[Any], users: list[Any]) -> list[Any]:
    """Those of the definitions that the users need, directly or not, in order."""
    needed = {s.number for statement in walk(users) for s in used_scalars(statement)}
    kept = []
    for definition in reversed(definitions):
        if definition.result.number in needed:
            kept.append(definition)
            needed |= {s.number for s in used_scalars(definition)}
    return kept[::-1]


def used_scalars(statement: Any) -> Iterator[Scalar]:
    """The scalars that a statement reads (not those inside of a loop)."""
    if isinstance(statement, Loop):
        return
    for field in fields(statement):
        if field.name != "result":
            yield from _scalars_in(getattr(statement, field.name))


def _scalars_in(thing: Any) -> Iterator[Scalar]:
    if isinstance(thing, Scalar):
        yield thing
    elif isinstance(thing, Place):
        yield thing.scalar
    elif isinstance(thing, tuple):
        for each in thing:
            yield from _scalars_in(each)
    elif isinstance(thing, Affine):
        for atom, _ in thing.terms:
            if not isinstance(atom, Var):
                yield from _scalars_in(getattr(atom, "operand", atom))


def used_buffers(statements: list[Any]) -> list[Buffer]:
    """The buffers of some statements, in order of use."""
    found: dict[Buffer, None] = {}
    for s in walk(statements):
        buffer = getattr(s, "buffer", None)
        if buffer is not None:
            found[buffer] = None
    return list(found)
