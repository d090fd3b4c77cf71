"""Neighbours in memory: what one iteration reads at ``j + 1``, the next one has at ``j``.

    for j:  a = x[j - 1]; b = x[j]; c = x[j + 1]     ->     a, b = x[-1], x[0]
                                                            for j:  c = x[j + 1]; …; a, b = b, c

Vectors that lie across two cache lines take twice the time to read, and of three neighbours at
least two do.  LLVM knows the second form (a fixed-order recurrence) and makes it one read and two
permutations of registers.  Measured where the arrays are in the cache: a step of the heat equation
on 128 x 128 points takes 3.0 instead of 4.1 us.  Where they are not, the loop waits for memory and
the permutations come on top (gradient of Rosenbrock's function of 1e6 unknowns: 286 instead of
256 us), and with two neighbours there is nothing to gain.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import Any

from ..affine import Affine, Quotient, Var
from ..arena import itemsize
from ..loops import Load, Loop
from ..walk import bodies_of, buffers_named, buffers_of, memory

#: A run has at least this many reads, and the loop's arrays at most this many bytes.
SHORTEST = 3
CACHED = 1 << 20
#: Permutations take the place of arithmetic in the processor.  Measured on Runge-Kutta steps of a
#: chain of equations, 7 of them beside 22 operations: 84 us, and 67 us without.
MOST = 4


def neighbours(loop: Loop) -> list[list[Load]]:
    """Reads of a loop's body, in runs in which each reads one element beyond the one before."""
    touched = buffers_of(loop.body)
    if sum(b.size * itemsize(b.dtype) for b in touched) > CACHED:
        return []
    groups: dict[Any, dict[int, Load]] = defaultdict(dict)
    for s in _free_reads(loop):
        if _coefficient(s.index, loop.var) == 1:
            groups[s.buffer, s.index.terms][s.index.constant] = s
    runs: list[list[Load]] = []
    for group in groups.values():
        places = sorted(group)
        runs.append([group[places[0]]])
        for a, b in pairwise(places):
            if b != a + 1:
                runs.append([])
            runs[-1].append(group[b])
    long = [run for run in runs if len(run) >= SHORTEST]
    return long if sum(len(run) - 1 for run in long) <= MOST else []


def reads_first(loop: Loop) -> list[Any]:
    """The statements of a loop's body, with reads of what it does not write before all else.

    LLVM carries neighbours in registers by itself too, and vectorises the loop only if what the
    next iteration gets is read before anything that depends on it is stored.
    """
    first = {id(s) for s in _free_reads(loop)}
    order = sorted(loop.body, key=lambda s: id(s) not in first)
    return order if first else loop.body


def _free_reads(loop: Loop) -> list[Load]:
    """Reads that could be anywhere in the body of an innermost loop."""
    if any(bodies_of(s) for s in loop.body):
        return []
    written = {memory(b) for s in loop.body if not isinstance(s, Load) for b in buffers_named(s)}
    return [
        s
        for s in loop.body
        if isinstance(s, Load) and s.guard is None and memory(s.buffer) not in written
    ]


def _coefficient(index: Affine, var: Var) -> int:
    """By how much an index grows with each step; 0 where that is not the same at all steps."""
    found = 0
    for atom, coefficient in index.terms:
        if atom is var:
            found = coefficient
        elif isinstance(atom, Quotient) and var in atom.operand.variables():
            return 0
    return found
