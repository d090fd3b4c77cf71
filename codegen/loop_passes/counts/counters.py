"""Find the counter of a loop with a condition, and the number of its steps.

Legal where the condition is one comparison of the counter with a number that no step changes, where
each step adds 1 to the counter (or -1) as the last thing that touches it, and where the ranges of
the counter and of its bound are known, so that their difference does not wrap around.  Loops with
checks or callbacks end at the first error, so they keep their condition.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from autojit.codegen.analysis.integer_facts import Fact, Facts, is_cell
from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.effects import accesses, changed_buffers, indices_of
from autojit.codegen.loop_ir.errors import is_check
from autojit.codegen.loop_ir.nodes import Compute, Constant, IndexValue, Load, RunTasks, Store
from autojit.codegen.loop_ir.sequences import MANY, Repeat
from autojit.codegen.loop_ir.traversal import defined, memory, used, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core.affine import Affine

_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
#: What a condition may compute.
_PLAIN = ("add", "sub", "mul", "maximum", "minimum", "neg")


class Counter(NamedTuple):
    """A loop that counts in ``cell``, by ``step``, while ``cell < bound`` (or what ``name`` says).

    ``first`` and ``last`` are the facts about the counter before the loop and about the bound;
    ``steps`` is the number of steps, which may be negative if there are none.
    """

    loop: Repeat
    cell: Buffer
    step: int
    name: str
    bound: Scalar
    first: Fact
    last: Fact
    steps: Fact

    @property
    def more(self) -> int:
        """How many steps there are beyond the difference of the counter and its bound."""
        return 1 if self.name in ("le", "ge") else 0


def counter_of(loop: Repeat, facts: Facts) -> Counter | None:
    """The counter of a loop; None unless it is certain to count to a bound."""
    inside = [*walk(loop.condition), *walk(loop.body)]
    if loop.tapes or any(map(_ends_it, inside)):
        return None
    if any(loop.step in index.variables() for s in inside for index in indices_of(s)):
        return None
    compared = _compared(loop)
    if compared is None:
        return None
    name, cell, bound = compared
    step = _step(loop, cell, facts)
    if step is None or (step > 0) != (name in ("lt", "le")):
        return None
    return _with_steps(loop, cell, step, name, bound, facts)


def _ends_it(s: Any) -> bool:
    """Whether a statement may end the loop with an error that later steps must not hide."""
    return isinstance(s, (RunTasks, Callback)) or (isinstance(s, Compute) and is_check(s.name))


def _compared(loop: Repeat) -> tuple[str, Buffer, Scalar] | None:
    """The comparison of a counter with a bound, and the two."""
    changed = {memory(b) for s in walk(loop.body) for b in changed_buffers(s)}
    made = {s.result.number: s for s in loop.condition if defined(s) is not None}
    test = made.get(loop.test.number)
    if not isinstance(test, Compute) or test.name not in _MIRRORED:
        return None
    if any(s is not test and not _is_plain(s) for s in loop.condition):
        return None
    left, right = test.args
    for name, x, other in ((test.name, left, right), (_MIRRORED[test.name], right, left)):
        load = made.get(x.number)
        if isinstance(load, Load) and memory(load.buffer) in changed and x.dtype == "i64":
            cell = memory(load.buffer)
            others = [s for s in loop.condition if isinstance(s, Load) and s is not load]
            fixed = changed.isdisjoint(memory(s.buffer) for s in others)
            if fixed and not _depends(loop.condition, other, x):
                return name, cell, other
    return None


def _depends(condition: list[Any], value: Scalar, on: Scalar) -> bool:
    """Whether a condition computes a number from another one."""
    found = {on.number}
    for s in condition:
        if any(x.number in found for x in used(s)):
            found.add(s.result.number)
    return value.number in found


def _is_plain(s: Any) -> bool:
    """Whether a statement of a condition reads cells or computes an integer."""
    if isinstance(s, Load):
        return is_cell(s.buffer) and s.guard is None
    if isinstance(s, Compute):
        return s.name in _PLAIN and s.result.dtype == "i64"
    return isinstance(s, (Constant, IndexValue))


def _step(loop: Repeat, cell: Buffer, facts: Facts) -> int | None:
    """What each step adds to the counter, if nothing else changes it: 1 or -1."""
    touching = [s for s in walk(loop.body) if any(memory(a.buffer) is cell for a in accesses(s))]
    changing = [s for s in touching if any(memory(b) is cell for b in changed_buffers(s))]
    if len(changing) != 1 or not is_cell(cell):
        return None
    (store,) = changing
    if not isinstance(store, Store) or touching[-1] is not store:
        return None
    if not any(s is store for s in loop.body) or not all(
        isinstance(s, Load) and s.guard is None for s in touching[:-1]
    ):
        return None
    return _added(loop, store.value, cell)


def _added(loop: Repeat, value: Scalar, cell: Buffer) -> int | None:
    made = {s.result.number: s for s in loop.body if defined(s) is not None}
    sum_ = made.get(value.number)
    if not isinstance(sum_, Compute) or sum_.name not in ("add", "sub"):
        return None
    left, right = (made.get(x.number) for x in sum_.args)
    if sum_.name == "add" and isinstance(left, Constant):
        left, right = right, left
    if not isinstance(left, Load) or memory(left.buffer) is not cell:
        return None
    if not isinstance(right, Constant) or right.value not in (1, -1):
        return None
    return int(right.value) if sum_.name == "add" else -int(right.value)


def _with_steps(
    loop: Repeat, cell: Buffer, step: int, name: str, bound: Scalar, facts: Facts
) -> Counter | None:
    first = facts.cells.get(cell)
    ahead = Facts(facts.nest)
    ahead.cells, ahead.scalars = dict(facts.cells), dict(facts.scalars)
    for s in loop.condition:
        ahead.see(s)
    last = ahead.of(bound)
    if first is None or last is None:
        return None
    more = 1 if name in ("le", "ge") else 0
    low, high, form = last.low - first.high, last.high - first.low, None
    if step < 0:
        low, high = first.low - last.high, first.high - last.low
    if first.form is not None and last.form is not None:
        form = (last.form - first.form) * step + more
        low, high = facts.nest.least(form) - more, -facts.nest.least(form * -1) - more
    if not 1 <= high + more <= MANY:
        return None
    return Counter(loop, cell, step, name, bound, first, last, Fact(low + more, high + more, form))


def form_in(counter: Counter, index: Affine) -> Affine | None:
    """The counter as a form, from the index of the counted loop."""
    form = counter.first.form
    return None if form is None else form + index * counter.step
