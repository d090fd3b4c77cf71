"""Origins of loop programs: the ops, and so the user's lines, that their steps compute.

Lowering gives each step an origin, and a pass that combines steps combines their origins
(:func:`origins_of`). An origin finds its ops on demand, so it costs nothing if unused. A statement
has the line of the op that it was written for (``places_of``): stored with the scalar or
accumulator that it computes, or in the statement itself if it changes memory. Statements added by
passes have none. Origins and lines do not affect a program's text, comparisons or cache keys.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.values import Source


class Origin:
    """The ops whose results a step stores, each with the ops that are computed on the way.

    ``definers`` has the op of each value of the scheduled program; ``stored`` has the values in
    memory, where the search ends.
    """

    __slots__ = ("_definers", "_stored", "roots")

    def __init__(
        self, roots: Iterable[Op], definers: Mapping[Value, Op], stored: Container[Value]
    ) -> None:
        self.roots = tuple(roots)
        self._definers = definers
        self._stored = stored

    def ops(self) -> list[Op]:
        """The ops in the order of computation; the ops of bodies follow the op that has the
        body."""
        return [each for op in self._found() for each in _with_bodies(op)]

    def reads(self) -> list[tuple[Op, Value]]:
        """The values read from memory (inputs and stored values), with the ops that read them."""
        return [
            (op, v)
            for op in self._found()
            for v in op.operands
            if v in self._stored or v not in self._definers
        ]

    def _found(self) -> dict[Op, None]:
        found: dict[Op, None] = {}
        for root in self.roots:
            self._add(root, found)
        return found

    def _add(self, root: Op, found: dict[Op, None]) -> None:
        """Add an op and the ops it depends on, without recursion, because chains are long."""
        pending = [(root, False)]
        while pending:
            op, is_ready = pending.pop()
            if op in found:
                continue
            if is_ready:
                found[op] = None
                continue
            pending.append((op, True))
            makers = (self._definers.get(v) for v in reversed(op.operands) if v not in self._stored)
            pending += [(made, False) for made in makers if made is not None]


def _with_bodies(op: Op) -> Iterator[Op]:
    yield op
    for program in op.programs:
        yield from _ops_of(program)


def _ops_of(program: Program) -> Iterator[Op]:
    for op in program.ops:
        yield from _with_bodies(op)


Origins = tuple[Origin, ...]


def origins_of(steps: Iterable[Any]) -> Origins:
    """The origins of a step that combines several."""
    return tuple(dict.fromkeys(origin for step in steps for origin in step.origins))


def ops_of(step: Any) -> list[Op]:
    """The ops that a step computes, each once, in order."""
    return list(dict.fromkeys(op for origin in step.origins for op in origin.ops()))


def sources_of(step: Any) -> list[Source]:
    """The places in the user's code that a step computes, each once, in order of the ops."""
    return list(dict.fromkeys(op.source for op in ops_of(step) if op.source is not None))
