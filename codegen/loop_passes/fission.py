"""Loops with long bodies in pieces, so that what compiles them takes time in proportion.

    for i in 0..n:                    for b in 0..n // 64:
      <a thousand statements>    ->     for i in block b: <the first five hundred>
                                        for i in block b: <the others>

A trace of thousands of operations on arrays of one shape becomes one loop.  Several passes of LLVM,
and the allocation of registers, take more than proportionally long for such a body; as loops of
some hundred statements, each a function of its own, they do not, and can be compiled side by
side.  What one piece computes and a later one uses goes through memory: that of a block, which
stays in the cache.

Legal where iterations hand on nothing but sums and keep nothing in memory that others use too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.analysis.dependences import is_at_one_place, surely_meet
from autojit.codegen.analysis.loop_level import FLAT, NO_TASKS, OWN_MEMORY, kernel_pass
from autojit.codegen.loop_ir.cost import is_function
from autojit.codegen.loop_ir.effects import effects_of
from autojit.codegen.loop_ir.nodes import (
    Accumulate,
    AccumulateInto,
    Compute,
    Constant,
    Gather,
    IndexValue,
    InRange,
    Load,
    Loop,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import bodies_of, buffers_of, used, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.machine import L2, current

from .strip_mine import at

#: The size of a body that is divided, and of a piece: statements, of which functions count for what
#: they are.  Shorter bodies take a second or two, and run up to a third faster as they are.
LONG, SIZE, OF_FUNCTION = 5_000, 600, 15
#: The part of the second-level cache that what the pieces hand on for a block takes, and the
#: iterations of one.
HANDED = 1 / 4
LEAST, MOST = 16, 256
#: What a body may consist of.
_PLAIN = (
    Accumulate, AccumulateInto, Compute, Constant, Gather, IndexValue, InRange, Load, Store,
)  # fmt: skip


@kernel_pass(
    "Divides loops with long bodies, so that they compile in less time.",
    needs=[NO_TASKS, OWN_MEMORY],
    keeps=FLAT,
)
def in_pieces(kernel: Kernel) -> Kernel:
    """The kernel with such loops in pieces, or as it is."""
    if sum(map(_size, walk(kernel.body))) < LONG:
        return kernel
    body = _in_pieces(kernel.body, kernel.name)
    return Kernel(kernel.name, body, buffers_of(body), kernel.values)


def _size(statement: Any) -> int:
    return OF_FUNCTION if is_function(statement) else 1


def _in_pieces(body: list[Any], name: str) -> list[Any]:
    made: list[Any] = []
    for s in body:
        if isinstance(s, Loop) and _can_be_divided(s):
            made += _Divided(s, f"{name}_{len(made)}").loops()
        elif isinstance(s, Loop):
            made.append(replace(s, body=_in_pieces(s.body, f"{name}_{len(made)}")))
        else:
            made.append(s)
    return made


def _can_be_divided(loop: Loop) -> bool:
    """Whether an innermost loop is long, and its iterations hand on nothing but sums."""
    if loop.role == "sequence" or loop.share is not None or loop.only is not None:
        return False
    if any(bodies_of(s) for s in loop.body) or not all(isinstance(s, _PLAIN) for s in loop.body):
        return False
    anew = any(is_at_one_place(a, loop.var) for s in loop.body for a in effects_of(s).writes(s))
    if anew or surely_meet(loop, adding=False):
        return False
    if any(buffer.kind in ("local", "tape") for buffer in buffers_of(loop.body)):
        return False
    return sum(map(_size, loop.body)) >= LONG


class _Divided:
    """A loop's body in pieces, and what they hand on."""

    def __init__(self, loop: Loop, name: str) -> None:
        self.loop = loop
        self.pieces = _pieces(loop.body)
        made = {
            s.result.number: (k, s)
            for k, piece in enumerate(self.pieces)
            for s in piece
            if isinstance(getattr(s, "result", None), Scalar)
        }
        self.again = {number: s for number, (_, s) in made.items() if _is_repeated(s)}
        #: By piece: the scalars of earlier ones.
        self.needed = [
            {
                a.number: a
                for s in piece
                for a in used(s)
                if a.number in made and made[a.number][0] < k
            }
            for k, piece in enumerate(self.pieces)
        ]
        handed = {
            number: scalar
            for needed in self.needed
            for number, scalar in needed.items()
            if number not in self.again
        }
        self.rows = _rows(loop.stop - loop.start, len(handed))
        #: Where each is kept: a buffer for each dtype, and the first of its places there.
        self.places: dict[int, tuple[Buffer, int]] = {}
        for dtype in dict.fromkeys(a.dtype for a in handed.values()):
            group = [n for n, scalar in handed.items() if scalar.dtype == dtype]
            buffer = Buffer(f"{name}_{dtype}", dtype, len(group) * self.rows, "temp")
            self.places.update({n: (buffer, k * self.rows) for k, n in enumerate(group)})

    def loops(self) -> list[Any]:
        """The loop over blocks, and one for what is left."""
        loop = self.loop
        blocks, rest = divmod(loop.stop - loop.start, self.rows)
        block = Var(blocks)
        first = affine.of(block) * self.rows + loop.start
        made: list[Any] = [Loop(block, 0, blocks, self._block(first, self.rows), loop.role)]
        if rest:
            made += self._block(Affine(loop.start + blocks * self.rows), rest)
        return made

    def _block(self, first: Affine, rows: int) -> list[Any]:
        made = []
        for piece, needed in zip(self.pieces, self.needed, strict=True):
            inner = Var(rows)
            here = affine.of(inner)
            body: list[Any] = []
            for number, scalar in needed.items():
                if number in self.again:
                    body.append(at(self.again[number], self.loop.var, first + here))
                else:
                    buffer, place = self.places[number]
                    body.append(Load(scalar, buffer, here + place, None))
            for s in piece:
                body.append(at(s, self.loop.var, first + here))
                result = getattr(s, "result", None)
                if result is not None and result.number in self.places:
                    buffer, place = self.places[result.number]
                    body.append(Store(buffer, here + place, result))
            made.append(Loop(inner, 0, rows, body, self.loop.role, apart=True))
        return made


def _pieces(body: list[Any]) -> list[list[Any]]:
    """Pieces of about one size; accumulators, which no function can share, are in the last one."""
    sums = [s for s in body if isinstance(s, Accumulate)]
    rest = [s for s in body if not isinstance(s, Accumulate)]
    count = max(1, sum(map(_size, rest)) // SIZE)
    limit = -(-sum(map(_size, rest)) // count)
    pieces: list[list[Any]] = [[]]
    length = 0
    for s in rest:
        if length >= limit:
            pieces.append([])
            length = 0
        pieces[-1].append(s)
        length += _size(s)
    return [*pieces, sums] if sums else pieces


def _is_repeated(statement: Any) -> bool:
    """Whether a statement is written again where its result is used."""
    if isinstance(statement, Load):
        return statement.guard is None and statement.buffer.kind == "input"
    return isinstance(statement, (Constant, IndexValue, InRange))


def _rows(extent: int, handed: int) -> int:
    """The iterations of a block: best so many that none is left over, whose code would be extra."""
    most = min(MOST, max(LEAST, current().cache(L2, HANDED) // (8 * max(handed, 1))))
    if extent <= most:
        return extent
    sizes = range(min(most, max(LEAST, most // 2)), most + 1)
    return min(sizes, key=lambda n: (extent % n != 0, n % 8 != 0, -n))
