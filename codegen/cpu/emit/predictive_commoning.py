"""Neighbours in registers: what one iteration has at ``j + 1``, the next one needs at ``j``.

    for j:  a = f(x[j - 1]); b = f(x[j])     ->     a = f(x[-1])
            y[j] = b - a                            for j:  b = f(x[j]); y[j] = b - a; a = b

LLVM knows the second form (a fixed-order recurrence) and makes a permutation of two registers of
it.  What is computed is found by its structure: two values are neighbours if one is the other with
every index that moves with the loop moved by one step.  That is predictive commoning (K. O'Brien,
"Predictive commoning: a method of optimizing loops containing references to consecutive array
elements", 1990), on expressions.

Of reads alone there is something to gain from three neighbours on: vectors that lie across two
cache lines take twice the time to read, and of three at least two do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

from autojit.codegen.analysis.dependences import written
from autojit.codegen.cpu.llvm.demands import can_fail
from autojit.codegen.loop_ir.cost import footprint
from autojit.codegen.loop_ir.nodes import Compute, Constant, IndexValue, Load, Loop
from autojit.codegen.loop_ir.traversal import bodies_of, buffers_of, memory, used
from autojit.ir.core.affine import Var
from autojit.ir.core.machine import L2, current

#: A run of reads has at least this many, and the loop's arrays take at most this part of the
#: second-level cache.  Measured on a step of the heat equation on 128 x 128 points: 3.0 instead of
#: 4.1 us.  Where arrays are not in the cache, the loop waits for memory and the permutations come
#: on top (gradient of Rosenbrock's function of 1e6 unknowns: 286 instead of 256 us).
SHORTEST = 3
CACHED = 1
#: Permutations take the place of arithmetic in the processor.  Measured on Runge-Kutta steps of a
#: chain of equations, 7 of reads beside 22 operations: 84 us, and 67 us without.
MOST = 4
#: A permutation for something computed saves at least so many statements.
WORTH = 3
#: Bodies of more statements are left as they are.
LARGEST = 400


_PURE = (Compute, Constant, IndexValue, Load)


class Neighbours(NamedTuple):
    """What an innermost loop hands from each iteration to the next, and what is left of its body.

    ``carried`` are pairs of statements: the first has the result that the second had an iteration
    ago, and is not in the body.
    """

    carried: list[tuple[Any, Any]]
    body: list[Any]
    #: Whether something computed is handed on, and not only what is read.
    computed: bool

    def before(self, statement: Any, loop: Loop) -> list[Any]:
        """What has to run for a statement's first result."""
        return _cone(statement, _definitions(loop.body), {}, loop.body)


def neighbours(loop: Loop) -> Neighbours:
    """The neighbours of a loop."""
    free = _free_reads(loop)
    if not free or len(loop.body) > LARGEST:
        return Neighbours([], loop.body, False)
    computed = _computed(loop, free)
    alive = _alive(loop, computed)
    reads = _reads(loop, [s for s in free if id(s) in alive], MOST - len(computed))
    carried = {**computed, **reads}
    alive = _alive(loop, carried)
    pairs = [(s, carried[id(s)]) for s in loop.body if id(s) in carried and id(s) in alive]
    # LLVM carries neighbours in registers by itself too, and vectorises the loop only if what the
    # next iteration gets is read before anything that depends on it is stored.
    order = {id(s): 0 for s in free}
    # What the next iteration gets is computed before what depends on the one before.
    known = _definitions(loop.body)
    for later in computed.values():
        for s in _cone(later, known, carried, loop.body):
            order.setdefault(id(s), 1)
    kept = [s for s in loop.body if id(s) in alive and id(s) not in carried]
    kept.sort(key=lambda s: order.get(id(s), 2))
    return Neighbours(pairs, kept, bool(computed))


# -- what is read --------------------------------------------------------------------


def _free_reads(loop: Loop) -> list[Load]:
    """Reads that could be anywhere in the body of an innermost loop."""
    if any(bodies_of(s) for s in loop.body):
        return []
    changed = written(loop.body)
    return [
        s
        for s in loop.body
        if isinstance(s, Load) and s.guard is None and memory(s.buffer) not in changed
    ]


def _reads(loop: Loop, free: Iterable[Load], most: int) -> dict[int, Any]:
    """Reads that find their element in a register, with those that read it before."""
    if footprint(buffers_of(loop.body)) > current().cache(L2, CACHED):
        return {}
    groups: dict[Any, dict[int, Load]] = defaultdict(dict)
    for s in free:
        if s.index.stride(loop.var) == 1:
            groups[s.buffer, s.index.terms][s.index.constant] = s
    runs: list[list[Load]] = []
    for group in groups.values():
        places = sorted(group)
        runs.append([group[places[0]]])
        for a, b in pairwise(places):
            if b != a + 1:
                runs.append([])
            runs[-1].append(group[b])
    found = {id(a): b for run in runs if len(run) >= SHORTEST for a, b in pairwise(run)}
    return found if len(found) <= most else {}


# -- what is computed ----------------------------------------------------------------

#: The structure of an expression, and the step of the loop that it is of; none if it is the same
#: at every step.
Form = tuple[Any, int | None]


def _computed(loop: Loop, free: list[Load]) -> dict[int, Any]:
    """What is computed that an earlier iteration has computed, with what did so."""
    groups: dict[Any, dict[int, Any]] = defaultdict(dict)
    for s, (structure, step) in _forms(loop, free):
        if isinstance(s, Compute) and step is not None:
            groups[structure].setdefault(step, s)
    pairs = {
        id(group[step]): group[step + 1]
        for group in groups.values()
        for step in group
        if step + 1 in group
    }
    return _worthwhile(loop, pairs) if pairs else {}


def _forms(loop: Loop, free: list[Load]) -> list[tuple[Any, Form]]:
    """The statements of a body that only depend on free reads and on what does not change."""
    readable = {id(s) for s in free}
    defined = {s.result.number for s in loop.body if hasattr(s, "result")}
    numbers: dict[Any, int] = {}
    known: dict[int, Form] = {}
    found = []
    for s in loop.body:
        form: Form | None = None
        if isinstance(s, Constant):
            form = ("constant", s.result.dtype, repr(s.value)), None
        elif isinstance(s, IndexValue) or id(s) in readable:
            form = _form_of_index(s, loop.var)
        elif isinstance(s, Compute) and not can_fail(s):
            outside = {x.number: ("outside", x.number) for x in s.args if x.number not in defined}
            parts = [known.get(x.number, (outside.get(x.number), None)) for x in s.args]
            if all(structure is not None for structure, _ in parts):
                steps = [step for _, step in parts if step is not None]
                base = min(steps, default=None)
                inside = [(part, None if n is None or base is None else n - base)
                          for part, n in parts]  # fmt: skip
                form = (s.name, s.result.dtype, *inside), base
        if form is not None:
            # Structures by number, so that those of large expressions are not compared in depth.
            short = numbers.setdefault(form[0], len(numbers)), form[1]
            known[s.result.number] = short
            found.append((s, short))
    return found


def _form_of_index(s: Load | IndexValue, var: Var) -> Form | None:
    index, place = s.index, s.buffer if isinstance(s, Load) else s.result.dtype
    if var not in index.variables():
        return (place, index), None
    factor = index.stride(var)
    if factor is None or factor < 1:
        return None
    step, rest = divmod(index.constant, factor)
    return (place, index.terms, rest), step


def _worthwhile(loop: Loop, pairs: dict[int, Any]) -> dict[int, Any]:
    """Those pairs that save enough."""
    while True:
        alive = _alive(loop, pairs)
        reached = {a: b for a, b in pairs.items() if a in alive}
        for a in reached:
            # Without it, not with parts of it carried in its place.
            others = {x: b for x, b in reached.items() if x != a}
            if len(_alive(loop, others)) - len(alive) < WORTH - 1:
                pairs = {x: b for x, b in pairs.items() if x != a}
                break
        else:
            return reached


def _alive(loop: Loop, carried: dict[int, Any]) -> set[int]:
    """The statements that are still needed, and those that stand for what is carried."""
    known = _definitions(loop.body)
    alive: set[int] = set()
    open_ = [s for s in loop.body if can_fail(s) or not isinstance(s, _PURE)]
    while open_:
        s = open_.pop()
        if id(s) not in alive:
            alive.add(id(s))
            later = carried.get(id(s))
            open_ += [later] if later is not None else _operands(s, known)
    return alive


def _cone(
    statement: Any, known: dict[int, Any], carried: dict[int, Any], body: list[Any]
) -> list[Any]:
    """The statements of a body that one depends on, and itself, in order."""
    inside: set[int] = set()
    open_ = [statement]
    while open_:
        s = open_.pop()
        if id(s) not in inside:
            inside.add(id(s))
            open_ += [x for x in _operands(s, known) if id(x) not in carried]
    return [s for s in body if id(s) in inside]


def _definitions(body: list[Any]) -> dict[int, Any]:
    return {s.result.number: s for s in body if hasattr(s, "result")}


def _operands(s: Any, known: dict[int, Any]) -> list[Any]:
    return [known[x.number] for x in used(s) if x.number in known]
