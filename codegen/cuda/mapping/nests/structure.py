"""The structure of a kernel: nests of loops, and the parts around them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

from autojit.codegen.cuda.device_program.nodes import Atomic
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.nodes import (
    AccumulateInto,
    Begin,
    Fill,
    Finish,
    Loop,
    ScatterInto,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import used, walk
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

COMBINING = (AccumulateInto, ScatterInto)
#: The dtypes that ``cuda.atomic.add`` takes.
ATOMIC = ("f32", "f64", "i32", "i64", "u32", "u64")


@dataclass
class Nest:
    """Loops that are run as one, the scalars between them, and the body of an iteration."""

    loops: list[Loop]
    between: list[Any]
    body: list[Any]
    #: The number of the loop program's iterations in one iteration of the last loop.
    at_once: int = 1

    @property
    def count(self) -> int:
        return prod(loop.stop - loop.start for loop in self.loops)


class Whole:
    """Rewrites an index of the loop variables as one of the number of the iteration, if possible.

    In a nest over (4, 5), ``10*i + 2*j + 1`` is ``2*n + 1``.
    """

    def __init__(self, nest: Nest, number: Var) -> None:
        self.number = number
        self.below: dict[Var, int] = {}
        self.start, below = 0, 1
        for loop in reversed(nest.loops):
            if loop.stop - loop.start > 1:
                self.below[loop.var] = below
                self.start += below * loop.start
            below *= loop.stop - loop.start

    def __call__(self, index: Affine) -> Affine:
        last = next(iter(self.below), None)
        factor = index.coefficient(last) if last is not None else 0
        if not factor or any(index.coefficient(v) != factor * c for v, c in self.below.items()):
            return index
        _, others = index.parts(self.below)
        return others + affine.of(self.number) * factor + (self.start * factor + index.constant)


def is_pure(statement: Any) -> bool:
    """Whether a statement only defines a scalar, so that any thread may repeat it."""
    return hasattr(statement, "result") and not isinstance(statement, Finish)


def nests(loop: Loop, *, atomic: bool = False) -> list[Nest]:
    """A loop with its perfectly nested loops; one nest for each segment of a split loop.

    Loops that combine into buffers become part of a nest only if ``atomic``.
    """
    inner = [s for s in loop.body if isinstance(s, Loop)]
    together = (
        inner
        and all(isinstance(s, Loop) or is_pure(s) for s in loop.body)
        and all(s.var is inner[0].var and s.role != "sequence" for s in inner)
        and (atomic or not any(s.role == "reduce" and combines_into(s.body) for s in inner))
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


def combines_into(body: list[Any]) -> bool:
    return any(isinstance(s, COMBINING) for s in walk(body))


# -- the parts of a kernel ------------------------------------------------------


@dataclass
class Parts:
    """The statements before the loops of a kernel, the loops, and the statements after them."""

    scalars: list[Any]
    fills: list[Fill]
    begins: list[Begin]
    loops: list[Loop]
    after: list[Any]
    #: Whether iterations combine into buffers at the same time as others; and whether they set
    #: elements instead of adding to them.
    atomic: bool
    sets: bool = False


def parts(kernel: Kernel) -> Parts | None:
    """The parts of a kernel, or None if one block has to run it unchanged."""
    if any(EFFECTS[type(s)].in_turn(s) for s in kernel.body if type(s) in EFFECTS):
        return None
    positions = [i for i, s in enumerate(kernel.body) if isinstance(s, Loop)]
    if not positions:
        return None
    head, after = kernel.body[: positions[-1] + 1], kernel.body[positions[-1] + 1 :]
    loops = [s for s in head if isinstance(s, Loop)]
    fills = [s for s in head if isinstance(s, Fill)]
    begins = [s for s in head if isinstance(s, Begin)]
    scalars = [s for s in head if is_pure(s)]
    into = [s for loop in loops if loop.role == "reduce" for s in walk(loop.body)
            if isinstance(s, COMBINING)]  # fmt: skip
    unordered = len(loops) + len(fills) + len(begins) + len(scalars) == len(head)
    if not unordered or any(s.var is not loops[0].var for s in loops):
        return None
    ways = {s.combine for s in into}
    if ways == {"set"}:
        return Parts(scalars, fills, begins, loops, after, atomic=True, sets=True)
    if ways - {"add"} or any(s.buffer.dtype not in ATOMIC for s in into):
        return None
    return Parts(scalars, fills, begins, loops, after, bool(into))


# -- scalars that statements use ------------------------------------------------


def live(definitions: list[Any], users: list[Any]) -> list[Any]:
    """The definitions that the users need, directly or not, in order."""
    needed = {s.number for statement in walk(users) for s in used(statement)}
    kept = []
    for definition in reversed(definitions):
        if definition.result.number in needed:
            kept.append(definition)
            needed |= {s.number for s in used(definition)}
    return kept[::-1]


def innermost(body: list[Any]) -> int:
    """The number of iterations of innermost loops that a body runs, at least one."""
    return sum((s.stop - s.start) * innermost(s.body) for s in body if isinstance(s, Loop)) or 1


# -- combining where threads may meet ---------------------------------------------


def made_atomic(body: list[Any]) -> list[Any]:
    """The statements, with atomic updates in the place of combining ones."""
    return [_made(s) for s in body]


def _made(s: Any) -> Any:
    if isinstance(s, Loop):
        return replace(s, body=made_atomic(s.body))
    if isinstance(s, ScatterInto):
        return Atomic(s.buffer, s.index, s.places, s.combine, s.value)
    if isinstance(s, AccumulateInto):
        return Atomic(s.buffer, s.index, (), s.combine, s.value)
    return s
