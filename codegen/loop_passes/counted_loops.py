"""Turn loops with a condition that count to a bound into counted loops.

    n[0] = s1                            n[0] = s1
    c[0 : +1] = 0                        c[0 : +1] = 0
    repeat, steps k:                     s9 = s1 - c[0]
      s2 = c[0]                          for k in 0..60, below s9:  # in turn
      s3 = n[0]                            s2 = i64(k)
      s4 = s2 < s3                         s6 = s2 + s5
      while s4:                            x[s6 of 61] = s7
        s2 = c[0]                  ->    c[0] = max(s1, 0)
        s6 = s2 + s5
        x[s6 of 61] = s7
        c[0] = s2 + 1

Python's `for j in range(k, n)` with a traced bound is a loop with a condition. A counted loop ends,
so it needs no pauses for signals, and an index that follows from its counter may be certain to lie
within its range (``Place.line``). LLVM then sees addresses that move by one, and vector code is
possible. A float that each step only adds to becomes a sum whose order is free.

Legal where ``counter_of`` and ``sums_of`` find nothing else in the loop that reads or changes the
counter or the sum. A place gets its form where it lies within its range in all iterations of the
loops around it (``Nest.least``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from autojit.codegen.analysis.integer_facts import Facts, Level, is_cell
from autojit.codegen.analysis.loop_level import EVERYTHING, kernel_pass
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.nodes import (
    AccumulateInto,
    Gather,
    Load,
    Loop,
    RunTasks,
    ScatterInto,
    Store,
)
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.sequences import Branch, Repeat
from autojit.codegen.loop_ir.traversal import bodies_of, walk
from autojit.codegen.loop_ir.values import Place
from autojit.ir.core.affine import Affine

from .counts.additions import with_additions_apart
from .counts.counters import Counter, counter_of
from .counts.loops import counted
from .counts.order import ordered, without_single_loops
from .counts.sums import with_sums


@kernel_pass("Turns loops that count to a bound into counted loops.", keeps=EVERYTHING)
def loops_counted(kernel: Kernel) -> Kernel:
    """The kernel with counted loops, and with the forms of the places that they compute."""
    if any(map(_is_followed, walk(kernel.body))):
        numbers = count(kernel.values)
        kernel.body = _Pass(kernel, numbers).body(kernel.body, Facts())
        kernel.values = next(numbers)
    return kernel


def _is_followed(s: Any) -> bool:
    """Whether a statement may become a counted loop, or has computed places in a loop."""
    is_loop = isinstance(s, Loop) and s.role == "sequence"
    return isinstance(s, Repeat) or (
        is_loop and any(isinstance(x, (Gather, ScatterInto)) for x in walk(s.body))
    )


class _Pass:
    def __init__(self, kernel: Kernel, numbers: Iterator[int]) -> None:
        self.numbers = numbers
        #: The counts of steps that other statements read.
        self.needed = {EFFECTS[type(s)].needs_count(s) for s in walk(kernel.body)}

    def body(self, statements: list[Any], facts: Facts) -> list[Any]:
        made: list[Any] = []
        for s in statements:
            counter = None
            if isinstance(s, Repeat) and s.trips not in self.needed:
                counter = counter_of(s, facts)
            if counter is not None:
                made += self._counted(counter, facts)
            else:
                made.append(self._statement(s, facts))
        return made

    def _counted(self, counter: Counter, facts: Facts) -> list[Any]:
        ahead, loop, after, end = counted(counter, self.numbers)
        for s in ahead:
            facts.see(s)
        loop.body = with_sums(without_single_loops(loop.body), self.numbers)
        loop = self._loop(loop, facts, Level(loop.var, loop.start, loop.stop, end))
        for s in after:
            facts.see(s)
        last = Affine(loop.stop) if loop.upper is None else end
        loops = [ordered(each, last) for each in with_additions_apart(loop)]
        return [*ahead, *loops, *after]

    def _statement(self, s: Any, facts: Facts) -> Any:
        if isinstance(s, Loop):
            return self._loop(s, facts, Level(s.var, s.start, s.stop))
        if isinstance(s, RunTasks):
            s.tasks.body = self.body(s.tasks.body, Facts())
        elif bodies_of(s):
            return self._bodies(s, facts)
        elif isinstance(s, (Gather, ScatterInto)):
            s = _of_cell(replace(s, places=tuple(_placed(p, facts) for p in s.places)))
        facts.see(s)
        return s

    def _loop(self, loop: Loop, facts: Facts, level: Level) -> Loop:
        """A loop whose body is followed with the facts that hold in each iteration."""
        once = loop.stop - loop.start == 1 and not loop.is_partial and loop.share is None
        if not once:
            facts.forget(loop.body)
        outside, facts.nest = facts.nest, facts.nest.inside(level)
        loop = replace(loop, body=self.body(loop.body, facts))
        facts.nest = outside
        if not once:
            facts.forget(loop.body)
        facts.forget_variable(loop.var, loop.start if once else None)
        return loop

    def _bodies(self, s: Any, facts: Facts) -> Any:
        """A branch, or a loop of unknown length: each body begins without what the others did."""
        if not isinstance(s, Branch):
            facts.forget([s])
        before = dict(facts.cells)
        names = ("condition", "body") if isinstance(s, Repeat) else ("body",)
        made = []
        for body in bodies_of(s):
            facts.cells = dict(before)
            made.append(self.body(body, facts))
        facts.cells = before
        if isinstance(s, Branch):
            s = replace(s, bodies=made)
        else:
            s = replace(s, **dict(zip(names, made, strict=True)))
        facts.forget([s])
        return s


def _of_cell(s: Gather | ScatterInto) -> Any:
    """An access to the only element of a cell, without its place."""
    if not is_cell(s.buffer) or s.index != Affine(0) or any(p.line != Affine(0) for p in s.places):
        return s
    if isinstance(s, Gather):
        return s if s.guard is not None else Load(s.result, s.buffer, s.index, None)
    if s.combine == "set":
        return Store(s.buffer, s.index, s.value, s.source)
    return AccumulateInto(s.buffer, s.index, s.combine, s.value, s.source)


def _placed(place: Place, facts: Facts) -> Place:
    """A computed index with its form, if it is certainly within its range."""
    fact = facts.of(place.scalar)
    if fact is None or fact.form is None or place.line is not None:
        return place
    least = facts.nest.least
    inside = least(fact.form) >= 0 and least(fact.form * -1 + (place.extent - 1)) >= 0
    return replace(place, line=fact.form) if inside else place
