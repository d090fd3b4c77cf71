"""The number of threads that share an iteration, and of blocks that share a reduction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from autojit.codegen.cuda.mapping.nests.structure import (
    COMBINING,
    Nest,
    combines_into,
    is_pure,
    nests,
)
from autojit.codegen.loop_ir.effects import EFFECTS, accesses
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Fill, Finish, Load, Loop, Store
from autojit.codegen.loop_ir.sequences import Branch
from autojit.codegen.loop_ir.traversal import walk
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

from .machine import Machine

#: The longest row for a single warp, whose threads then have 32 elements each.
LONGEST_OF_WARP = 1024
#: The fewest elements per thread of a split reduction; with fewer, starting threads dominates.
LEAST_OF_THREAD = 8


@dataclass(frozen=True)
class Team:
    """``width`` threads of a block, ``stride`` apart; ``lane`` is the thread's place among them."""

    width: int
    lane: Affine
    stride: int = 1


def team_of(thread: Var, width: int) -> Team:
    """The team of ``width`` neighbours that contains a thread."""
    return Team(width, affine.divide(affine.of(thread), width, {})[1])


def longest(body: list[Any]) -> int:
    """The iterations of the longest loop in a body; perfectly nested loops count as one."""
    return max((n.count for s in body if isinstance(s, Loop) for n in nests(s)), default=0)


def _innermost_vars(body: list[Any]) -> set[Var]:
    return {n.loops[-1].var for s in body if isinstance(s, Loop) for n in nests(s)}


def reads_along(nest: Nest) -> int:
    """The number of loads that are contiguous along inner loops, minus the number that are
    contiguous along the nest's own last loop.

    Loads that depend on both come first: they read the most memory.  Others read the same few
    elements in many iterations, from the cache, and decide only where the first are even.  In
    ``x.T @ v`` those of ``x`` are contiguous along the columns, and those of ``v`` along the sum.

    Neighbouring complex numbers are two scalars apart.
    """
    inner, own = _innermost_vars(nest.body), nest.loops[-1].var
    many = few = 0
    for s in walk(nest.body):
        if isinstance(s, Load):
            steps = [s.index.stride(v) for v in inner]
            along = any(step is not None and abs(step) in (1, 2) for step in steps)
            across = abs(s.index.coefficient(own)) in (1, 2)
            if any(step != 0 for step in steps) and s.index.stride(own) != 0:
                many += along - across
            else:
                few += along - across
    return many or few


def can_share(nest: Nest) -> bool:
    """Whether threads can share an iteration: it has no local buffers, updates or sequential
    parts."""
    for s in walk(nest.body):
        if isinstance(s, (*COMBINING, Fill)) or any(a.buffer.kind == "local" for a in accesses(s)):
            return False
    return not any(EFFECTS[type(s)].in_turn(s) and not _chooses(s) for s in walk(nest.body))


def _chooses(s: Any) -> bool:
    """Whether a statement is a branch whose bodies have no loops, so that one thread runs it."""
    if not isinstance(s, Branch):
        return False
    return not any(EFFECTS[type(x)].bodies(x) for body in s.bodies for x in body)


def width_of(nest: Nest, machine: Machine) -> int:
    """The number of threads that share an iteration of a nest.

    It is 1 if neighbouring threads then read neighbours.  Otherwise it is a few threads of a warp,
    a warp, or a block, depending on the length of the inner loops.
    """
    length = longest(nest.body)
    if length < machine.row or not can_share(nest):
        return 1
    votes = reads_along(nest)
    enough = nest.count >= machine.most_threads
    if votes < 0 or (votes == 0 and enough):
        return 1
    of_warp = LONGEST_OF_WARP * machine.warp // 32
    few = nest.count * machine.warp < machine.most_threads
    if length > of_warp or (few and length > machine.warp * LEAST_OF_THREAD):
        return block_for(length, machine)
    return min(machine.warp, _power(-(-length // 4)))


def block_for(length: int, machine: Machine) -> int:
    """The number of threads in a block for a loop of this length."""
    return max(machine.warp, min(machine.threads, _power(length)))


def power_below(n: int) -> int:
    """The largest power of two that is at most n.

    >>> power_below(8), power_below(7)
    (8, 4)
    """
    return 1 << (n.bit_length() - 1)


def _power(n: int) -> int:
    return 1 << max(0, n - 1).bit_length()


# -- reductions that several blocks share --------------------------------------------------


@dataclass
class Reduced:
    """The first reduction of an iteration: the statements before it, its loops, and the rest."""

    before: list[Any]
    begins: list[Begin]
    loops: list[Loop]
    rest: list[Any]

    @property
    def count(self) -> int:
        return sum(n.count for loop in self.loops for n in nests(loop))


def first_reduction(nest: Nest) -> Reduced | None:
    """The parts of an iteration that begins with a reduction into accumulators, or None."""
    before: list[Any] = []
    begins: list[Begin] = []
    loops: list[Loop] = []
    body = nest.body
    for position, s in enumerate(body):
        if isinstance(s, Begin) and not loops:
            begins.append(s)
        elif isinstance(s, Loop) and s.role == "reduce" and begins:
            loops.append(s)
        elif is_pure(s) and not loops:
            before.append(s)
        else:
            rest = body[position:]
            break
    else:
        rest = []
    ends = {s.accumulator.number for s in rest if isinstance(s, Finish)}
    whole = loops and ends >= {b.accumulator.number for b in begins}
    if not whole or combines_into(nest.body) or not can_share(nest):
        return None
    inside = [s for loop in loops for s in walk(loop.body) if not is_pure(s)]
    if not all(isinstance(s, Accumulate | Loop | Store) for s in inside):
        return None
    return Reduced(before, begins, loops, rest)


def split_of_rows(nest: Nest, found: Reduced, machine: Machine) -> int:
    """The number of blocks that share a row; more than 1 only if there are few rows."""
    if reads_along(nest) < 0 or nest.count >= machine.processors:
        return 1
    most = machine.most_blocks // max(1, nest.count)
    return max(1, min(most, found.count // (machine.threads * LEAST_OF_THREAD)))


def split_of_columns(nest: Nest, found: Reduced, machine: Machine) -> int:
    """The number of blocks that share a group of columns as wide as a warp.

    It is 0 if there are enough columns for a thread each, or if rows are contiguous.
    """
    if reads_along(nest) >= 0 or nest.count >= machine.most_threads:
        return 0
    rows = machine.threads // machine.warp
    most = -(-machine.most_threads // (-(-nest.count // machine.warp) * machine.threads))
    useful = found.count // (rows * LEAST_OF_THREAD)
    return min(most, useful)
