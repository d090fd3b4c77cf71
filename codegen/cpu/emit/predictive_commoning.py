"""Predictive commoning: reuse values that the previous iteration computed or loaded.

    for j:  a = f(x[j - 1]); b = f(x[j])     ->     a = f(x[-1])
            y[j] = b - a                            for j:  b = f(x[j]); y[j] = b - a; a = b

LLVM recognizes the second form as a fixed-order recurrence, and makes a permutation of two vector
registers of it.  Expressions are compared by structure: two values can be commoned if one is the
other with every index that depends on the loop's variable shifted by one iteration.  The method is
K. O'Brien's ("Predictive commoning: a method of optimizing loops containing references to
consecutive array elements", 1990), applied to expressions.

Loads alone are worth commoning from three consecutive elements on: an unaligned vector that crosses
two cache lines takes twice as long to load, and at least two of three do.

Legal in innermost loops for reads of memory that the loop does not write (``_free_reads``), and for
values computed from such reads alone. Nothing changes in the results.
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

#: A run of loads has at least this many, and the loop's arrays take at most this part of the
#: second-level cache. Measured on a step of the heat equation on 128 x 128 points: 3.0 instead of
#: 4.1 us. If arrays are not in the cache, the loop waits for memory and permutations only add to
#: the time (gradient of Rosenbrock's function of 1e6 unknowns: 286 instead of 256 us).
SHORTEST = 3
CACHED = 1
#: Permutations compete with arithmetic for execution ports. Measured on Runge-Kutta steps of a
#: chain of equations: 84 us with 7 permutations of reads beside 22 operations, 67 us without.
MOST = 4
#: The fewest statements that a permutation of a computed value must save.
WORTH = 3
#: Bodies of more statements are left as they are.
LARGEST = 400


_PURE = (Compute, Constant, IndexValue, Load)


class Commoning(NamedTuple):
    """The values that an innermost loop carries to the next iteration, and the remaining body.

    ``carried`` contains pairs of statements. The result of the first is that of the second one
    iteration earlier, so the first is not in the body.
    """

    carried: list[tuple[Any, Any]]
    body: list[Any]
    #: Whether computed values are carried, and not only loads.
    computed: bool

    def before(self, statement: Any, loop: Loop) -> list[Any]:
        """Return the statements that compute a statement's result before the first iteration."""
        return _cone(statement, _definitions(loop.body), {}, loop.body)


def commoning(loop: Loop) -> Commoning:
    """Return the values of a loop that can be carried, and the body without them."""
    free = _free_reads(loop)
    if not free or len(loop.body) > LARGEST:
        return Commoning([], loop.body, False)
    computed = _computed(loop, free)
    alive = _alive(loop, computed)
    reads = _reads(loop, [s for s in free if id(s) in alive], MOST - len(computed))
    carried = {**computed, **reads}
    alive = _alive(loop, carried)
    pairs = [(s, carried[id(s)]) for s in loop.body if id(s) in carried and id(s) in alive]
    # LLVM also forms such recurrences itself.  It vectorizes the loop only if a value for the next
    # iteration is loaded before anything that depends on it is stored.
    order = {id(s): 0 for s in free}
    # Values for the next iteration are computed before statements that use the previous ones.
    known = _definitions(loop.body)
    for later in computed.values():
        for s in _cone(later, known, carried, loop.body):
            order.setdefault(id(s), 1)
    kept = [s for s in loop.body if id(s) in alive and id(s) not in carried]
    kept.sort(key=lambda s: order.get(id(s), 2))
    return Commoning(pairs, kept, bool(computed))


# -- loads ----------------------------------------------------------------------------


def _free_reads(loop: Loop) -> list[Load]:
    """Return the loads that may move anywhere in an innermost loop, as nothing writes their
    memory."""
    if any(bodies_of(s) for s in loop.body):
        return []
    changed = written(loop.body)
    return [
        s
        for s in loop.body
        if isinstance(s, Load) and s.guard is None and memory(s.buffer) not in changed
    ]


def _reads(loop: Loop, free: Iterable[Load], most: int) -> dict[int, Any]:
    """Return loads whose element the previous iteration loaded, with the load that did."""
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


# -- computed values ------------------------------------------------------------------

#: The structure of an expression, and its iteration relative to the current one (None if it is
#: invariant).
Form = tuple[Any, int | None]


def _computed(loop: Loop, free: list[Load]) -> dict[int, Any]:
    """Return values that the previous iteration computed, with the statement that did."""
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
    """Return the forms of statements that depend only on movable loads and on invariants."""
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
            # Structures are numbered, so that comparing large expressions is cheap.
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
    """Return the pairs that save at least ``WORTH`` statements."""
    while True:
        alive = _alive(loop, pairs)
        reached = {a: b for a, b in pairs.items() if a in alive}
        for a in reached:
            # Compare with not carrying this value, rather than carrying parts of it instead.
            others = {x: b for x, b in reached.items() if x != a}
            if len(_alive(loop, others)) - len(alive) < WORTH - 1:
                pairs = {x: b for x, b in pairs.items() if x != a}
                break
        else:
            return reached


def _alive(loop: Loop, carried: dict[int, Any]) -> set[int]:
    """Return the statements that are live if some values are carried, with the carried ones."""
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
    """Return a statement and the statements of the body that it depends on, in order."""
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
