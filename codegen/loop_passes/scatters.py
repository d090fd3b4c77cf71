"""Split loops that scatter (loop fission): arithmetic as vector code, then the scattered additions.

    for i in 0..n:                      for b in 0..n // 128:
      z = a[group[i]] + …                 for i in block b: z = …; p = exp(z); kept[i] = p
      p = exp(z)                   ->     for i in block b: sums[group[i]] += kept[i]
      sums[group[i]] += p

LLVM does not vectorize the first loop, since two iterations may add to the same element, and the
functions in it stay scalar too.  The gradient of a regression with a parameter for each group is
such a loop.

Legal where the loop's iterations are independent or only add up, it runs over its whole range
(``may_fission``), and neither half accesses memory that the other one writes (``may_split``): each
keeps its own order.  The same numbers are added in the same order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.analysis.dependences import may_split, written
from autojit.codegen.analysis.loop_level import FLAT, NO_TASKS, OWN_MEMORY, kernel_pass
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
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.traversal import bodies_of, buffers_of, memory, substituted, used
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .strip_mine import BLOCK

#: Loops, and remainders of blocks, with fewer iterations are left alone.
LEAST = 16
#: The length of a block is a multiple of this, so that it holds whole vectors.
GRAIN = 8
#: The statements that such a loop may consist of.
_PLAIN = (
    Accumulate, AccumulateInto, Compute, Constant, Gather, IndexValue, InRange, Load, ScatterInto,
    Store,
)  # fmt: skip
_VALUES = (Compute, Constant, Gather, IndexValue, InRange, Load)


@kernel_pass(
    "Splits loops that scatter, so that their arithmetic becomes vector code.",
    needs=[NO_TASKS, OWN_MEMORY],
    keeps=FLAT,
)
def scatters_fissioned(kernel: Kernel) -> Kernel:
    """The kernel with loops that scatter split in two."""
    if _rewrite(kernel.body):
        return replace(kernel, buffers=buffers_of(kernel.body))
    return kernel


def _rewrite(body: list[Any]) -> bool:
    """Split the loops among statements, at any depth; whether there were any."""
    made: list[Any] = []
    found = False
    for s in body:
        if isinstance(s, Loop) and _pays(s) and may_fission(s):
            made += _fissioned(s)
            found = True
        else:
            inner = [_rewrite(b) for b in bodies_of(s)]
            found |= any(inner)
            made.append(s)
    body[:] = made
    return found


def _pays(loop: Loop) -> bool:
    """Whether a loop scatters, and calls functions that could be vector code."""
    if loop.stop - loop.start < LEAST or not any(isinstance(s, ScatterInto) for s in loop.body):
        return False
    from autojit.codegen import vector_math  # 7 ms, for programs that get here

    return any(
        isinstance(s, Compute) and s.name in vector_math.NAMES and s.args[0].dtype[0] == "f"
        for s in loop.body
    )


def may_fission(loop: Loop) -> bool:
    """Whether the scattered additions may run after the other statements of many iterations.

    Both keep their own order, so neither may access memory that the other one writes.
    """
    if loop.role == "sequence" or loop.unroll or loop.share is not None or loop.is_partial:
        return False
    if not all(isinstance(s, _PLAIN) for s in loop.body):
        return False
    additions = [s for s in loop.body if isinstance(s, ScatterInto)]
    return may_split(loop, [s for s in loop.body if not isinstance(s, ScatterInto)], additions)


def _fissioned(loop: Loop) -> list[Any]:
    """The loop over blocks, and the remainder."""
    extent = loop.stop - loop.start
    size = extent
    if extent > 2 * BLOCK:
        size = min(range(BLOCK // 2, 2 * BLOCK, GRAIN), key=lambda n: (extent % n, abs(n - BLOCK)))
    blocks, rest = divmod(extent, size)
    made: list[Any] = [_strip_mined(loop, loop.start, blocks, size)]
    start = loop.start + blocks * size
    if rest >= LEAST:
        made.append(_strip_mined(loop, start, 1, rest))
    elif rest:
        made.append(replace(loop, start=start))
    return made


def _strip_mined(loop: Loop, start: int, blocks: int, size: int) -> Loop:
    """A loop over blocks, even over a single one: the values of a block are private to an
    iteration, so that tasks take whole blocks."""
    block = Var(blocks)
    body = _Block(loop, size).loops(affine.of(block) * size + start)
    return Loop(block, 0, blocks, body, loop.role)


class _Block:
    """The two loops over the iterations of a block, and the values between them."""

    def __init__(self, loop: Loop, size: int) -> None:
        self.loop, self.size = loop, size
        self.second = [s for s in loop.body if isinstance(s, ScatterInto)]
        self.first = [s for s in loop.body if not isinstance(s, ScatterInto)]
        changed = written(loop.body)
        made = {s.result.number: s for s in self.first if isinstance(s, _VALUES)}
        needed = {a.number: a for s in self.second for a in used(s) if a.number in made}
        #: Statements that the second loop repeats, and the buffers of all other values.
        self.again = [made[n] for n in needed if _is_repeated(made[n], changed)]
        repeated = {s.result.number for s in self.again}
        self.kept: dict[int, tuple[Scalar, Buffer]] = {
            n: (a, Buffer(f"kept{n}", a.dtype, size, "local"))
            for n, a in needed.items()
            if n not in repeated
        }

    def loops(self, first: Affine) -> list[Loop]:
        """The arithmetic, then the additions, of the block that begins at an iteration."""
        return [self._arithmetic(first), self._additions(first)]

    def _arithmetic(self, first: Affine) -> Loop:
        inner, body = Var(self.size), []
        here = affine.of(inner)
        for s in self.first:
            body.append(substituted(s, self.loop.var, first + here))
            if isinstance(s, _VALUES) and s.result.number in self.kept:
                scalar, buffer = self.kept[s.result.number]
                body.append(Store(buffer, here, scalar))
        sums = any(isinstance(s, (Accumulate, AccumulateInto)) for s in body)
        return Loop(inner, 0, self.size, body, self.loop.role if sums else "map")

    def _additions(self, first: Affine) -> Loop:
        inner = Var(self.size)
        here = affine.of(inner)
        body = [Load(scalar, buffer, here, None) for scalar, buffer in self.kept.values()]
        body += [substituted(s, self.loop.var, first + here) for s in [*self.again, *self.second]]
        return Loop(inner, 0, self.size, body, self.loop.role)


def _is_repeated(statement: Any, changed: set[Buffer]) -> bool:
    """Whether a statement without operands can be repeated with the same result."""
    if isinstance(statement, Load):
        return statement.guard is None and memory(statement.buffer) not in changed
    return isinstance(statement, (Constant, IndexValue))
