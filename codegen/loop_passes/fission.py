"""Split loops with long bodies (loop fission), so that compile time grows linearly.

    for i in 0..n:                    for b in 0..n // 64:
      <a thousand statements>    ->     for i in block b: <the first five hundred>
                                        for i in block b: <the others>

A trace of thousands of operations on arrays of one shape becomes one loop.  Several passes of LLVM
and register allocation take superlinear time in the length of a body.  Loops of some hundred
statements, each outlined into a function, do not, and compile in parallel.  Values that cross from
one part to a later one go through memory.  The loop is strip-mined first, so that this memory holds
one block of iterations and stays in the cache.

Legal where the only dependences between iterations are reductions, and no iteration stores to
memory that other iterations access.
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
from autojit.codegen.loop_ir.traversal import bodies_of, buffers_of, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.codegen.loop_passes.rows.crossing import Crossing, is_repeatable
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.machine import L2, current

#: The size of a body from which it is split, the size of a part, and the count of an elementary
#: function; other statements count 1.  Shorter bodies compile in a second or two, and run up to a
#: third faster when they are not split.
LONG, SIZE, OF_FUNCTION = 5_000, 600, 15
#: The part of the second-level cache that the values between parts may take for a block, and the
#: bounds of a block's iterations.
HANDED = 1 / 4
LEAST, MOST = 16, 256
#: The statements that a body may consist of.
_PLAIN = (
    Accumulate, AccumulateInto, Compute, Constant, Gather, IndexValue, InRange, Load, Store,
)  # fmt: skip


@kernel_pass(
    "Splits loops with long bodies, so that they compile in less time.",
    needs=[NO_TASKS, OWN_MEMORY],
    keeps=FLAT,
)
def fissioned(kernel: Kernel) -> Kernel:
    """The kernel with long loops split; unchanged if it has none."""
    if sum(map(_size, walk(kernel.body))) < LONG:
        return kernel
    body = _fissioned(kernel.body, kernel.name)
    return Kernel(kernel.name, body, buffers_of(body), kernel.values, kernel.origins)


def _size(statement: Any) -> int:
    return OF_FUNCTION if is_function(statement) else 1


def _fissioned(body: list[Any], name: str) -> list[Any]:
    made: list[Any] = []
    for s in body:
        if isinstance(s, Loop) and _may_fission(s):
            made += _Fission(s, f"{name}_{len(made)}").loops()
        elif isinstance(s, Loop):
            made.append(replace(s, body=_fissioned(s.body, f"{name}_{len(made)}")))
        else:
            made.append(s)
    return made


def _may_fission(loop: Loop) -> bool:
    """Whether a loop is innermost and long, and its iterations depend on each other only through
    sums."""
    if loop.role == "sequence" or loop.share is not None or loop.is_partial:
        return False
    if any(bodies_of(s) for s in loop.body) or not all(isinstance(s, _PLAIN) for s in loop.body):
        return False
    anew = any(is_at_one_place(a, loop.var) for s in loop.body for a in effects_of(s).writes(s))
    if anew or surely_meet(loop, adding=False):
        return False
    if any(buffer.kind in ("local", "tape") for buffer in buffers_of(loop.body)):
        return False
    return sum(map(_size, loop.body)) >= LONG


class _Fission:
    """A loop's body in parts, and the values that cross between them."""

    def __init__(self, loop: Loop, name: str) -> None:
        self.loop = loop
        self.crossing = Crossing(_parts(loop.body), _is_repeated)
        kept = self.crossing.kept
        self.rows = _rows(loop.stop - loop.start, len(kept))
        for dtype in dict.fromkeys(a.dtype for a in kept.values()):  # a buffer for each
            group = [n for n, scalar in kept.items() if scalar.dtype == dtype]
            buffer = Buffer(f"{name}_{dtype}", dtype, len(group) * self.rows, "temp")
            self.crossing.places.update({n: (buffer, k * self.rows) for k, n in enumerate(group)})

    def loops(self) -> list[Any]:
        """The loop over blocks, and the loops over the remainder."""
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
        for k in range(len(self.crossing.parts)):
            inner = Var(rows)
            here = affine.of(inner)
            body = self.crossing.statements(k, here, self.loop.var, first + here)
            made.append(Loop(inner, 0, rows, body, self.loop.role, outlined=True))
        return made


def _parts(body: list[Any]) -> list[list[Any]]:
    """Parts of about equal size.  All accumulations are in the last one, since functions cannot
    share accumulators."""
    sums = [s for s in body if isinstance(s, Accumulate)]
    rest = [s for s in body if not isinstance(s, Accumulate)]
    count = max(1, sum(map(_size, rest)) // SIZE)
    limit = -(-sum(map(_size, rest)) // count)
    parts: list[list[Any]] = [[]]
    length = 0
    for s in rest:
        if length >= limit:
            parts.append([])
            length = 0
        parts[-1].append(s)
        length += _size(s)
    return [*parts, sums] if sums else parts


def _is_repeated(statement: Any) -> bool:
    """Whether a statement is rematerialized in each part that uses its result."""
    return is_repeatable(statement) or isinstance(statement, InRange)


def _rows(extent: int, handed: int) -> int:
    """The iterations of a block; preferably a divisor of the extent, because a remainder needs its
    own code."""
    most = min(MOST, max(LEAST, current().cache(L2, HANDED) // (8 * max(handed, 1))))
    if extent <= most:
        return extent
    sizes = range(min(most, max(LEAST, most // 2)), most + 1)
    return min(sizes, key=lambda n: (extent % n != 0, n % 8 != 0, -n))
