"""Sequential loops over many elements are run with one thread per element.

    for i in 0..9:        # in turn       share l from thread, below 100, by 256:
      for j in 0..100:              ->      for i in 0..9:        # in turn
        c[j] = f(c[j], x[100*i + j])          c[l] = f(c[l], x[100*i + l])

`vmap` of a `scan` has this form.  Each thread handles one element of the inner loops, and no thread
waits for another.

Legal where each written element has one owner.  For every written buffer, all indices must be
``c*j + inner + outer`` with ``0 <= inner < c`` and ``outer`` a multiple of ``c*count``, so that
only thread ``n // c % count`` touches the element with index ``n``.  Every thread computes the
statements outside of the loops over elements, from buffers that are not written.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from autojit.codegen.cuda.mapping.nests.structure import is_pure
from autojit.codegen.loop_ir.effects import EFFECTS, Access, accesses, changes
from autojit.codegen.loop_ir.nodes import Fill, Loop
from autojit.codegen.loop_ir.sequences import Swap
from autojit.codegen.loop_ir.traversal import memory, substituted, walk
from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Bounds, Var

from .cooperation import alone


def by_lanes(body: list[Any]) -> tuple[Var, list[Any]] | None:
    """The variable for the element of a thread, and the statements of the thread.

    None if this is not legal, or if there are no such loops.
    """
    counts = {s.stop - s.start for loop in _sequences(body) for s in loop.body if _is_map(s)}
    for count in sorted(counts, reverse=True):
        lane = Var(count)
        rewriting = _Rewriting(lane)
        made = rewriting.body(alone(body))
        if made is not None and rewriting.is_legal():
            return lane, made
    return None


def _sequences(body: list[Any]) -> list[Loop]:
    return [s for s in walk(body) if isinstance(s, Loop) and s.role == "sequence"]


def _is_map(s: Any) -> bool:
    return isinstance(s, Loop) and s.role == "map"


class _Rewriting:
    """Replaces loops over all elements by the thread's own element."""

    def __init__(self, lane: Var) -> None:
        self.lane = lane
        #: The accesses for one element, with the ranges of variables and whether they write; and
        #: the accesses outside of loops over elements.
        self.touched: list[tuple[Access, Bounds, bool]] = []
        self.everywhere: list[tuple[Access, bool]] = []
        self.swapped: list[tuple[Buffer, Buffer]] = []

    def body(self, statements: list[Any]) -> list[Any] | None:
        made: list[Any] = []
        for s in statements:
            found = self._statement(s)
            if found is None:
                return None
            made += found
        return made

    def _statement(self, s: Any) -> list[Any] | None:
        if _is_map(s) and (s.stop - s.start) % self.lane.extent == 0:
            return self._element(s)
        if isinstance(s, Loop) and s.role in ("sequence", "map"):
            inner = self.body(s.body)
            return None if inner is None else [replace(s, body=inner)]
        if isinstance(s, Swap):
            self.swapped.append((memory(s.first), memory(s.second)))
            return [s]
        if isinstance(s, Fill):
            return self._filled(s)
        simple = is_pure(s) or (type(s) in EFFECTS and not EFFECTS[type(s)].bodies(s))
        if not simple or EFFECTS[type(s)].adds_to(s) or EFFECTS[type(s)].begins(s):
            return None
        self._note_everywhere(s)
        return [s]

    def _note_everywhere(self, s: Any) -> None:
        changed = [a.buffer for a in changes(s)]
        self.everywhere += [(a, a.buffer in changed) for a in accesses(s)]

    def _element(self, s: Loop) -> list[Any] | None:
        """The thread's iteration of a loop, or its part of a loop with more iterations."""
        count, extent = self.lane.extent, s.stop - s.start
        if s.start:
            return None
        here, each = affine.of(self.lane), extent // count
        body = s.body
        if each > 1:
            part = Var(each)
            inner = [substituted(x, s.var, here * each + affine.of(part)) for x in body]
            body = [Loop(part, 0, each, inner, "map")]
        else:
            body = [substituted(x, s.var, here) for x in body]
        self._note(body, {self.lane: (0, count - 1)})
        return body

    def _filled(self, s: Fill) -> list[Any] | None:
        if memory(s.buffer).kind == "local" or s.start.terms or s.count % self.lane.extent:
            self._note_everywhere(s)
            return [s]
        each = s.count // self.lane.extent
        made = Fill(s.buffer, s.start + affine.of(self.lane) * each, each, s.value)
        self._note([made], {self.lane: (0, self.lane.extent - 1)})
        return [made]

    def _note(self, body: list[Any], bounds: Bounds) -> None:
        for s in body:
            changed = [id(a.buffer) for a in changes(s)]
            self.touched += [(a, bounds, id(a.buffer) in changed) for a in accesses(s)]
            inside = {**bounds, **EFFECTS[type(s)].variables(s)}
            for inner in EFFECTS[type(s)].bodies(s):
                self._note(inner, inside)

    # -- owners -----------------------------------------------------------------------------

    def is_legal(self) -> bool:
        """Whether each written element has one owner."""
        written = {memory(a.buffer) for a, _, changed in self.touched if changed}
        written |= {b for pair in self.swapped for b in pair}
        if any(self._is_shared(access, changed, written) for access, changed in self.everywhere):
            return False
        widths: dict[Buffer, set[int | None]] = {}
        for access, bounds, _ in self.touched:
            if memory(access.buffer) in written:
                found = widths.setdefault(memory(access.buffer), set())
                found.add(self._width(access, bounds))
        for first, second in self.swapped:
            both = widths.get(first, set()) | widths.get(second, set())
            widths[first] = widths[second] = both
        return all(len(found) <= 1 and None not in found for found in widths.values())

    def _is_shared(self, access: Access, changed: bool, written: set[Buffer]) -> bool:
        """Whether an access by every thread touches a written buffer, or itself writes one that is
        not local."""
        root = memory(access.buffer)
        return root in written or (changed and root.kind != "local")

    def _width(self, access: Access, bounds: Bounds) -> int | None:
        """The number of neighbouring scalars of a buffer that a thread owns; None if the access may
        leave them."""
        index, count = access.index, self.lane.extent
        if access.is_rest or index.stride(self.lane) is None:
            return None
        width = index.coefficient(self.lane)
        if width <= 0:
            return None
        whole = width * count
        inner = Affine(index.constant % whole)
        for atom, c in index.without(self.lane).terms:
            if c % whole:
                inner = inner + Affine(0, ((atom, c),))
        low, high = inner.range(bounds)
        return width if low + access.low >= 0 and high + access.high < width else None
