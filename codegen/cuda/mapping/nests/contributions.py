"""Sums over the iterations of a loop become arrays of what each iteration adds.

    for i in 0..5000:  # in turn           for i in 0..5000:
      …                                      …
      for j in 0..3:                ->       for j in 0..3:
        s = c[j]                               p[5000*j + i] = t
        u = s + t                          for j in 0..3:
        c[j] = u                             sum = 0.0
                                             for i in 0..5000: sum += p[5000*j + i]
                                             c[j] = c[j] + sum

Legal where an iteration touches the buffer nowhere else, and adds once to each of its elements.
The order of the additions changes, as in other sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from autojit.codegen.cuda.device_program.numbers import accumulator, computed, loaded, scalar
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.nodes import Accumulate, Begin, Compute, Finish, Load, Loop, Store
from autojit.codegen.loop_ir.traversal import buffers_named, memory, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var


class Contribution(NamedTuple):
    """The addition to an element: what is loaded, what is added in turn, and what is stored."""

    load: Load
    adds: Sequence[Compute]
    store: Store

    @property
    def first(self) -> Scalar:
        """The first operand that is added."""
        x, y = self.adds[0].args
        return y if x.number == self.load.result.number else x


def contributions(body: list[Any]) -> dict[Buffer, Contribution]:
    """The buffers to each of whose elements the statements add once, and do nothing else."""
    named = Counter(memory(b) for s in walk(body) for b in buffers_named(s))
    uses = Counter(x.number for s in walk(body) for x in EFFECTS[type(s)].uses(s))
    found: dict[Buffer, Contribution] = {}
    for here, index, size in _places(body):
        loads = {memory(s.buffer): s for s in here if _is_plain(s, index, size)}
        users = {x.number: s for s in here if isinstance(s, Compute) for x in s.args}
        for s in here:
            load = loads.get(memory(s.buffer)) if isinstance(s, Store) else None
            if load is None or s.index != index or named[memory(s.buffer)] != 2:
                continue
            adds = _chain(load, s, users, uses)
            if adds:
                found[memory(s.buffer)] = Contribution(load, adds, s)
    return found


def _chain(
    load: Load, store: Store, users: Mapping[int, Compute], uses: Mapping[int, int]
) -> list[Compute]:
    """The additions of numbers from a load to a store, each used by the next one alone; none if
    there is something else between."""
    found: list[Compute] = []
    x = load.result
    while x.number != store.value.number:
        add = users.get(x.number)
        if add is None or add.name != "add" or add.result.dtype[0] not in "fiu":
            return []
        if uses[x.number] != 1:
            return []
        found.append(add)
        x = add.result
    return found if uses[x.number] == 1 else []


def _places(body: list[Any]) -> list[tuple[list[Any], Affine, int]]:
    """The statements themselves, and the bodies of loops over elements, each with the index of its
    elements and their number."""
    found: list[tuple[list[Any], Affine, int]] = [(body, Affine(0), 1)]
    for s in body:
        if isinstance(s, Loop) and s.role == "map" and not (s.is_partial or s.start):
            found.append((s.body, affine.of(s.var), s.stop))
    return found


def _is_plain(s: Any, index: Affine, size: int) -> bool:
    """Whether a statement loads the element of an array of this size."""
    return isinstance(s, Load) and s.guard is None and s.index == index and s.buffer.size == size


def left_by_iterations(
    loop: Loop, found: Mapping[Buffer, Contribution], parts: Mapping[Buffer, Buffer]
) -> list[Any]:
    """The body of the loop, storing what it adds in ``parts``."""
    gone = {id(s) for c in found.values() for s in (c.load, c.adds[0])}
    stores = {id(c.store): (parts[b], c) for b, c in found.items()}
    starts = {id(c.adds[1]): c for c in found.values() if len(c.adds) > 1}

    def changed(body: list[Any]) -> list[Any]:
        made: list[Any] = []
        for s in body:
            if id(s) in stores:
                part, c = stores[id(s)]
                index = s.index * loop.stop + affine.of(loop.var)
                made.append(Store(part, index, c.first if len(c.adds) == 1 else s.value))
            elif id(s) in starts:
                made.append(_without(s, starts[id(s)]))
            elif id(s) not in gone:
                made.append(replace(s, body=changed(s.body)) if isinstance(s, Loop) else s)
        return made

    return changed(loop.body)


def _without(s: Compute, c: Contribution) -> Compute:
    """The second addition, without what was loaded in its first operand."""
    args = [c.first if x.number == c.adds[0].result.number else x for x in s.args]
    return replace(s, args=type(s.args)(args))


def added(buffer: Buffer, part: Buffer, rows: int) -> list[Any]:
    """Statements that add what all iterations have left to a buffer."""
    j, i = Var(buffer.size), Var(rows)
    total, a = scalar(buffer.dtype), accumulator(buffer.dtype)
    before = loaded(buffer, affine.of(j))
    each = loaded(part, affine.of(j) * rows + affine.of(i))
    after = computed("add", before.result, total)
    summing = Loop(i, 0, rows, [each, Accumulate(a, each.result)], "reduce")
    body = [
        Begin(a),
        summing,
        Finish(total, a),
        before,
        after,
        Store(buffer, affine.of(j), after.result),
    ]
    return [Loop(j, 0, buffer.size, body, "map")]
