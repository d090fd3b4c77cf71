"""Loops that add to computed places: their arithmetic as vectors, the additions behind it.

    for i in 0..n:                      for b in 0..n // 128:
      z = a[group[i]] + …                 for i in block b: z = …; p = exp(z); kept[i] = p
      p = exp(z)                   ->     for i in block b: sums[group[i]] += kept[i]
      sums[group[i]] += p

LLVM leaves the first loop scalar, since two iterations may add to one place, and with it the
functions.  So is the gradient of each regression with a parameter for each group.
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
from autojit.codegen.loop_ir.traversal import bodies_of, buffers_of, memory, used
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .strip_mine import BLOCK, at

#: Loops of fewer iterations stay as they are, and so does what blocks leave over.
LEAST = 16
#: Blocks have a multiple of so many iterations, which is one of whole vectors.
GRAIN = 8
#: What such a loop may consist of.
_PLAIN = (
    Accumulate, AccumulateInto, Compute, Constant, Gather, IndexValue, InRange, Load, ScatterInto,
    Store,
)  # fmt: skip
_VALUES = (Compute, Constant, Gather, IndexValue, InRange, Load)


@kernel_pass(
    "Adds to computed places behind the arithmetic, which is vector code then.",
    needs=[NO_TASKS, OWN_MEMORY],
    keeps=FLAT,
)
def scatters_apart(kernel: Kernel) -> Kernel:
    """The kernel with such loops in two."""
    if _rewrite(kernel.body):
        return replace(kernel, buffers=buffers_of(kernel.body))
    return kernel


def _rewrite(body: list[Any]) -> bool:
    """Divide the loops among statements, at any depth, and say whether there are any."""
    made: list[Any] = []
    found = False
    for s in body:
        if isinstance(s, Loop) and _is_worth(s) and may_be_apart(s):
            made += _apart(s)
            found = True
        else:
            inner = [_rewrite(b) for b in bodies_of(s)]
            found |= any(inner)
            made.append(s)
    body[:] = made
    return found


def _is_worth(loop: Loop) -> bool:
    """Whether there are additions to computed places, and functions that would be vector code."""
    if loop.stop - loop.start < LEAST or not any(isinstance(s, ScatterInto) for s in loop.body):
        return False
    from autojit.codegen import vector_math  # 7 ms, for programs that get here

    return any(
        isinstance(s, Compute) and s.name in vector_math.NAMES and s.args[0].dtype[0] == "f"
        for s in loop.body
    )


def may_be_apart(loop: Loop) -> bool:
    """Whether the additions of many iterations may follow all that these iterations do else.

    Both keep their own order.
    """
    if loop.role == "sequence" or loop.unroll or loop.share is not None or loop.only is not None:
        return False
    if not all(isinstance(s, _PLAIN) for s in loop.body):
        return False
    additions = [s for s in loop.body if isinstance(s, ScatterInto)]
    return may_split(loop, [s for s in loop.body if not isinstance(s, ScatterInto)], additions)


def _apart(loop: Loop) -> list[Any]:
    """The loop in blocks, and what they leave over."""
    extent = loop.stop - loop.start
    size = extent
    if extent > 2 * BLOCK:
        size = min(range(BLOCK // 2, 2 * BLOCK, GRAIN), key=lambda n: (extent % n, abs(n - BLOCK)))
    blocks, rest = divmod(extent, size)
    made: list[Any] = [_in_blocks(loop, loop.start, blocks, size)]
    start = loop.start + blocks * size
    if rest >= LEAST:
        made.append(_in_blocks(loop, start, 1, rest))
    elif rest:
        made.append(replace(loop, start=start))
    return made


def _in_blocks(loop: Loop, start: int, blocks: int, size: int) -> Loop:
    """A loop over blocks, even over one: what a block keeps belongs to an iteration of it, so that
    tasks take whole blocks."""
    block = Var(blocks)
    body = _Block(loop, size).loops(affine.of(block) * size + start)
    return Loop(block, 0, blocks, body, loop.role)


class _Block:
    """Two loops over some iterations, and what the first hands to the second."""

    def __init__(self, loop: Loop, size: int) -> None:
        self.loop, self.size = loop, size
        self.second = [s for s in loop.body if isinstance(s, ScatterInto)]
        self.first = [s for s in loop.body if not isinstance(s, ScatterInto)]
        changed = written(loop.body)
        made = {s.result.number: s for s in self.first if isinstance(s, _VALUES)}
        needed = {a.number: a for s in self.second for a in used(s) if a.number in made}
        #: What is written again behind, and where everything else is kept.
        self.again = [made[n] for n in needed if _is_repeated(made[n], changed)]
        repeated = {s.result.number for s in self.again}
        self.kept: dict[int, tuple[Scalar, Buffer]] = {
            n: (a, Buffer(f"kept{n}", a.dtype, size, "local"))
            for n, a in needed.items()
            if n not in repeated
        }

    def loops(self, first: Affine) -> list[Loop]:
        """The arithmetic, then the additions, from some iteration on."""
        return [self._arithmetic(first), self._additions(first)]

    def _arithmetic(self, first: Affine) -> Loop:
        inner, body = Var(self.size), []
        here = affine.of(inner)
        for s in self.first:
            body.append(at(s, self.loop.var, first + here))
            if isinstance(s, _VALUES) and s.result.number in self.kept:
                scalar, buffer = self.kept[s.result.number]
                body.append(Store(buffer, here, scalar))
        sums = any(isinstance(s, (Accumulate, AccumulateInto)) for s in body)
        return Loop(inner, 0, self.size, body, self.loop.role if sums else "map")

    def _additions(self, first: Affine) -> Loop:
        inner = Var(self.size)
        here = affine.of(inner)
        body = [Load(scalar, buffer, here, None) for scalar, buffer in self.kept.values()]
        body += [at(s, self.loop.var, first + here) for s in [*self.again, *self.second]]
        return Loop(inner, 0, self.size, body, self.loop.role)


def _is_repeated(statement: Any, changed: set[Buffer]) -> bool:
    """Whether a statement that needs no others gives the same again, and is not worth keeping."""
    if isinstance(statement, Load):
        return statement.guard is None and memory(statement.buffer) not in changed
    return isinstance(statement, (Constant, IndexValue))
