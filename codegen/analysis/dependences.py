"""Dependences of statements, from the effects that they declare.

    for i in 0..100:                for the loop over i:
      s = y[i]                        flow, distance 1: y[i + 1], read by the next iteration
      y[i + 1] = s

A dependence is a pair of touches of the same memory, at least one of which changes it.  Passes ask
questions that follow from dependences: may iterations run in any order (:func:`is_any_order`), may
two lists of statements swap (:func:`may_swap`), may a loop be split (:func:`may_split`).

There are two kinds of answers. A *may* answer is conservative: an index with a quotient, a computed
index, or memory that moves may be anywhere, so there may be a dependence. A *surely* answer
(:func:`surely_meet`) finds contradictions to a loop's role: lowering knows more loops with
independent iterations than affine forms can prove.

``exposed`` finds the reads of statements that their own writes do not cover.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from autojit.codegen.loop_ir.effects import BODIES, EFFECTS, TOUCHING, Access, changed_buffers
from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.traversal import memory, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.affine import Affine, Bounds, Var

from .overlap import Interval, Place, distances

# -- touches of memory ------------------------------------------------------------------


class Touch(NamedTuple):
    """Memory that a statement touches, in loops with these variables within the analysed code."""

    statement: Any
    memory: Buffer
    #: None for memory that may be touched anywhere.
    access: Access | None
    reads: bool
    changes: bool
    inner: Bounds

    @property
    def combine(self) -> str:
        """The operation that combines old and new values, if their order does not matter."""
        combine = "" if self.access is None else self.access.combine
        return "" if combine == "set" else combine


def touches(body: Iterable[Any]) -> list[Touch]:
    """Return all touches of statements, in their order."""
    found: list[Touch] = []
    _collect(body, {}, found)
    return found


def _collect(body: Iterable[Any], inner: Bounds, found: list[Touch]) -> None:
    for s in body:
        kind = type(s)
        if kind in TOUCHING:
            found += _of_statement(s, inner)
        if kind in BODIES:
            inside = {**inner, **EFFECTS[kind].variables(s)}
            for statements in BODIES[kind](s):
                _collect(statements, inside, found)


def _of_statement(s: Any, inner: Bounds) -> Iterator[Touch]:
    e = EFFECTS[type(s)]
    kinds = (e.reads, True, False), (e.updates, True, True), (e.writes, False, True)
    for accesses, reads, changes in kinds:
        for a in accesses(s):
            known = None if a.is_rest else a
            yield Touch(s, memory(a.buffer), known, reads, changes, inner)
    for buffer in (*(a.buffer for a in e.scratch(s)), *e.moves(s)):
        yield Touch(s, memory(buffer), None, True, True, inner)


def touches_by_memory(body: Iterable[Any]) -> dict[Buffer, list[Touch]]:
    """Return the touches of statements by memory; one buffer represents all it swaps with."""
    found = touches(body)
    same = _changing_places(found)
    by_memory: dict[Buffer, list[Touch]] = defaultdict(list)
    for t in found:
        by_memory[same.get(t.memory, t.memory)].append(t)
    return by_memory


def _changing_places(found: Iterable[Touch]) -> dict[Buffer, Buffer]:
    """Map each buffer that a statement moves to the one that represents those moved with it."""
    same: dict[Buffer, Buffer] = {}
    for t in found:
        first, *others = map(memory, EFFECTS[type(t.statement)].moves(t.statement) or [t.memory])
        for other in others:
            one, another = same.get(first, first), same.get(other, other)
            members = {first, other, *(b for b, of in same.items() if of in (one, another))}
            same.update(dict.fromkeys(members, one))
    return same


def written(body: Iterable[Any]) -> set[Buffer]:
    """Return the memory that statements change or move, at any depth."""
    return {memory(b) for s in walk(list(body)) for b in changed_buffers(s)}


def moving(body: Iterable[Any]) -> set[Buffer]:
    """Return the memory whose place changes: tapes, and buffers that are swapped."""
    return {memory(b) for s in walk(list(body)) for b in EFFECTS[type(s)].moves(s)}


def reads_own_writes(body: Iterable[Any]) -> bool:
    """Whether statements read memory that they change, at any element. If not, they may run again
    and compute the same."""
    body = list(body)
    changed = written(body)
    return any(t.reads and t.memory in changed for t in touches(body))


def is_at_one_place(access: Access, var: Var) -> bool:
    """Whether all iterations of a loop may touch the same elements, if the index is the same.

    If not, the role of the loop tells whether elements differ.
    """
    return not access.is_exact or var not in access.index.variables()


# -- pairs of touches -------------------------------------------------------------------

#: Differences of loop variables, as ranges.
Differences = Mapping[Var, Interval]


def may_overlap(one: Touch, other: Touch, bounds: Bounds, differences: Differences) -> bool:
    """Whether two touches may be of one element, if variables differ by the given amounts.

    Variables of loops inside of either touch are independent; all others are the same.
    """
    return _distances(one, other, bounds, differences, None) is not None


def _distances(
    one: Touch, other: Touch, bounds: Bounds, differences: Differences, var: Var | None
) -> Interval | None:
    """Return by how many iterations the other touch of the same element may be later."""
    a, b = one.access, other.access
    if a is None or b is None or a.buffer.dtype != b.buffer.dtype:
        return (0, 0) if var is None else differences[var]
    if a.size <= 0 or b.size <= 0:
        return None
    first = Place(a.index, a.low, a.high, one.inner)
    second = Place(b.index, b.low, b.high, other.inner)
    return distances(first, second, differences, var, bounds)


def distance(loop: Loop, one: Touch, other: Touch, bounds: Bounds | None = None) -> Interval | None:
    """Return by how many iterations another touch of the same element may be later; None if never.

    Both touches are inside of the loop, in memory that is or will be the same.
    """
    reach = loop.stop - loop.start - 1
    around = {**(bounds or {}), loop.var: (loop.start, loop.stop - 1)}
    return _distances(one, other, around, {loop.var: (-reach, reach)}, loop.var)


def _is_conflict(one: Touch, other: Touch) -> bool:
    """Whether the order of two touches of one element matters."""
    if not (one.changes or other.changes):
        return False
    return not one.combine or one.combine != other.combine


def _conflicts(first: Iterable[Any], second: Iterable[Any]) -> Iterator[tuple[Touch, Touch]]:
    """Yield pairs of touches from two lists of statements, in one memory, whose order matters."""
    first, second = list(first), list(second)
    of = _changing_places([*touches(first), *touches(second)])
    others: dict[Buffer, list[Touch]] = defaultdict(list)
    for t in touches(second):
        others[of.get(t.memory, t.memory)].append(t)
    for one in touches(first):
        for other in others.get(of.get(one.memory, one.memory), ()):
            if _is_conflict(one, other):
                yield one, other


# -- dependences of iterations ----------------------------------------------------------


class Dependence(NamedTuple):
    """The sink must follow the source, ``least`` to ``most`` iterations later.

    ``kind`` is "flow" (the sink reads what the source has changed), "anti" (it changes what the
    source has read), "output" (both write), or "reduction" (both combine in the same way, in any
    order). A distance of 0 is within an iteration.
    """

    kind: str
    source: Touch
    sink: Touch
    least: int
    most: int

    @property
    def distance(self) -> int | None:
        """The distance, if there is only one."""
        return self.least if self.least == self.most else None


def dependences(loop: Loop, bounds: Bounds | None = None) -> Iterator[Dependence]:
    """Yield all dependences of iterations of a loop that cannot be excluded.

    ``bounds`` are the ranges of surrounding loops, if they are known to be smaller than the full
    ranges.

    >>> from autojit.codegen.loop_ir.nodes import Load, Scalar, Store
    >>> from autojit.ir.core import affine
    >>> i, y = Var(8), Buffer("y", "f64", 9, "temp")
    >>> s = Scalar(0, "f64", 1, None)
    >>> shifts = Loop(i, 0, 8, [Load(s, y, affine.of(i), None), Store(y, affine.of(i) + 1, s)], "")
    >>> [(d.kind, d.distance) for d in dependences(shifts)]
    [('flow', 1)]
    """
    for found in touches_by_memory(loop.body).values():
        changed = [k for k, t in enumerate(found) if t.changes]
        for k, one in enumerate(found):
            for j in range(k, len(found)) if one.changes else (j for j in changed if j > k):
                other = found[j]
                apart = distance(loop, one, other, bounds)
                if apart is not None:
                    yield from _directed(one, other, *apart)


def _directed(one: Touch, other: Touch, least: int, most: int) -> Iterator[Dependence]:
    """Yield the dependences of a pair of touches, in the order of the statements."""
    if most > 0 or (most == 0 and one is not other):
        yield Dependence(_kind(one, other), one, other, max(least, int(one is other)), most)
    if least < 0 and one is not other:
        yield Dependence(_kind(other, one), other, one, max(1, -most), -least)


def _kind(source: Touch, sink: Touch) -> str:
    if not source.changes:
        return "anti"
    if sink.reads:
        return "flow" if _is_conflict(source, sink) else "reduction"
    return "output"


def is_any_order(loop: Loop, bounds: Bounds | None = None, *, adding: bool = False) -> bool:
    """Whether memory accesses allow iterations of a loop to run in any order.

    With ``adding`` they may combine numbers into common elements.
    """
    return all(d.most == 0 or (adding and d.kind == "reduction") for d in dependences(loop, bounds))


def overwrites_in_order(body: Iterable[Any]) -> bool:
    """Whether statements set elements at computed places, so that the last iteration wins."""
    return any(t.access and t.access.combine == "set" for t in touches(body))


def surely_meet(loop: Loop, *, adding: bool = True) -> Buffer | None:
    """Return a buffer in which one iteration surely writes an element that another one reads or
    writes, at indices that move with the loop.

    Iterations that add to a common element count only with ``adding``. Indices with quotients,
    computed places and guarded reads are not decided.

    >>> from autojit.codegen.loop_ir.nodes import Load, Scalar, Store
    >>> from autojit.ir.core import affine
    >>> i, y = Var(8), Buffer("y", "f64", 9, "temp")
    >>> s = Scalar(0, "f64", 1, None)
    >>> here, after = affine.of(i), affine.of(i) + 1
    >>> surely_meet(Loop(i, 0, 8, [Load(s, y, here, None), Store(y, here, s)], "map"))
    >>> surely_meet(Loop(i, 0, 8, [Load(s, y, here, None), Store(y, after, s)], "map"))
    y
    """
    extent = loop.stop - loop.start
    #: By buffer and the rest of the index: the constants, and the kinds of access.
    places: dict[Any, dict[int, int]] = defaultdict(dict)
    for access, kind in _elements(loop.body):
        step = _step(access.index, loop.var)
        if step:
            index = access.index
            of_place = places[memory(access.buffer), index.terms, index.constant % step]
            of_place[index.constant] = of_place.get(index.constant, 0) | kind
    for (buffer, terms, _), found in places.items():
        if len(found) > 1:
            reach = extent * _step(Affine(0, terms), loop.var)
            if any(
                b - a < reach and _is_certain(found[a] | found[b], adding)
                for a, b in pairwise(sorted(found))
            ):
                return buffer
    return None


_READ, _ADDED, _STORED = 1, 2, 4


def _elements(body: list[Any]) -> Iterator[tuple[Access, int]]:
    """Yield the single elements that statements surely touch, and the kind of access."""
    for s in walk(body):
        e = EFFECTS[type(s)]
        for kind, found in (_READ, e.reads), (_ADDED, e.updates), (_STORED, e.writes):
            for access in found(s):
                if access.is_exact and access.guard is None and access.low == access.high == 0:
                    yield access, kind


def _is_certain(kinds: int, adding: bool) -> bool:
    return bool(kinds & _STORED) or (kinds == _READ | _ADDED) or (adding and kinds == _ADDED)


def _step(index: Affine, var: Var) -> int:
    """Return how far an index moves per iteration; 0 if it does not move or is not decided."""
    return abs(index.coefficient(var)) if index.is_linear else 0


# -- transformations --------------------------------------------------------------------


def may_swap(first: Iterable[Any], second: Iterable[Any], bounds: Bounds | None = None) -> bool:
    """Whether two consecutive lists of statements may swap, or run concurrently."""
    return not any(
        may_overlap(one, other, bounds or {}, {}) for one, other in _conflicts(first, second)
    )


def may_split(
    loop: Loop, first: Collection[Any], second: Collection[Any], bounds: Bounds | None = None
) -> bool:
    """Whether all iterations of the second part of a body may follow all those of the first.

    The parts are statements of the body, in its order. The caller must handle the scalars that one
    part computes and the other uses.
    """
    reach = loop.stop - loop.start - 1
    around = {**(bounds or {}), loop.var: (loop.start, loop.stop - 1)}
    later = {loop.var: (1, reach)}
    places = {id(s): k for k, s in enumerate(loop.body)}
    last = max((places[id(s)] for s in first), default=-1)
    ahead = [s for s in second if places[id(s)] < last]
    return may_swap(ahead, first, around) and not any(
        may_overlap(one, other, around, later) for one, other in _conflicts(second, first)
    )
