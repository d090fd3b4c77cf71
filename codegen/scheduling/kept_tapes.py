"""Tapes that the first run of a loop keeps for its reverse.

    y = while c, x {f}                          y = while c, x {f, and pushes r}
    …                                    ->     …
    _, g = while c, x, t {f, and pushes r}      g = <the steps of the loop above backwards> t
                         {backwards: h of r}

The reverse of a loop of unknown length runs the loop again, because a program of values cannot
refer to an unknown number of values from the first run. In memory they can be kept. If two loops
take the same steps, the first one also pushes the values that the later one would push, and the
later one begins with its second sweep; if it has only one sweep, it does nothing.

Legal where both loops end by the same test of the same carries, and each carry of the later loop
equals one of the first at every step (``_same_carries``): it starts as the same value, and its
next value is the same function of equal carries.
The values that the later loop's first sweep reads must be computable before the first loop: they
are then computed before it, and must not depend on its results.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

from autojit.ir.core.program import Builder, Op, Program, Value, building, param_key, readers_of
from autojit.ir.ops.bodies import groups
from autojit.ir.pass_manager.records import phase
from autojit.ir.regions.while_ import While
from autojit.ir.rewriting import cse, dce


@dataclass(frozen=True)
class Kept:
    """``ops`` with first loops that push. ``source`` maps a later loop to the first one, and
    ``same`` maps used results of the later one's first sweep to results of the first."""

    ops: list[Op]
    source: dict[Op, Op]
    same: dict[Value, Value]

    def reverse_of(self, first: Op) -> Op:
        """A loop that reads the values that a first one pushes; if there is none, the first
        itself."""
        for op, source in self.source.items():
            if source is first and len(op.params["sweeps"]) > 1:
                return op
        return first


@phase("keep tapes")
def kept_tapes(ops: Sequence[Op], outputs: Sequence[Value]) -> Kept:
    """Find loops of a program that can use the tapes of another one."""
    loops = [op for op in ops if isinstance(op.kind, While)]
    if len(loops) < 2:
        return Kept(list(ops), {}, {})
    read = readers_of(ops, outputs)
    firsts: list[Op] = []
    source: dict[Op, Op] = {}
    same: dict[Value, Value] = {}
    replaced: dict[Op, Op] = {}
    order = list(ops)
    for op in loops:
        if not any(read[v] for v in op.results):
            continue  # it will not run, and tapes for it would stay
        pushes = len(op.params["sweeps"]) > 1
        for first in firsts:
            carries = None if pushes and first in replaced else _same_carries(first, op)
            if carries is None:
                continue
            if pushes:
                ahead = _with_constants_ahead(order, first, op)
                if ahead is None:
                    continue
                replaced[first] = _with_pushes(first, op, carries)
                order = [replaced[first] if o is first else o for o in ahead]
            source[op] = first
            pairs = [(op.results[k], first.results[j]) for k, j in enumerate(carries)]
            same.update(pair for pair in pairs if read[pair[0]])
            break
        else:
            if not pushes:
                firsts.append(op)
    return Kept(
        order,
        {op: replaced.get(first, first) for op, first in source.items()},
        same,
    )


class Numbering:
    """Value numbers: values with equal numbers are the same function of the same inputs."""

    def __init__(self) -> None:
        self.of: dict[Hashable, int] = {}

    def number(self, key: Hashable) -> int:
        return self.of.setdefault(key, len(self.of))

    def outputs(self, body: Program, inputs: Iterable[int], count: int) -> list[int]:
        """The numbers of the first outputs of a body."""
        known = self.values(body, inputs)
        return [known[v] for v in body.outputs[:count]]

    def values(self, body: Program, inputs: Iterable[int]) -> dict[Value, int]:
        """The numbers of all values of a body."""
        known = dict(zip(body.inputs, inputs, strict=True))
        for op in body.ops:
            operands = [known[v] for v in op.operands]
            if op.kind.commutative:
                operands.sort()
            params = tuple((k, param_key(v)) for k, v in sorted(op.params.items()))
            for k, result in enumerate(op.results):
                known[result] = self.number((op.kind.name, params, tuple(operands), k))
        return known


def _same_carries(first: Op, later: Op) -> list[int] | None:
    """For each carry of the later loop's first sweep, the first loop's carry that is equal at all
    steps; None if there is none, or if the loops end differently.

    Carries that start equal are assumed equal until their next values differ.
    """
    loops = (first, later)
    constants: list[list[Value]] = []
    starts: list[list[Value]] = []
    for op in loops:
        n, m = op.params["constants"], op.params["carries"][0]
        c, s, _ = groups(op.operands, n, m)
        constants.append(c)
        starts.append(s)
    classes: list[list[Hashable]] = [list(s) for s in starts]
    while True:
        table = Numbering()
        at = [[table.number(("carry", c)) for c in mine] for mine in classes]
        outside = [[table.number(("outside", v)) for v in mine] for mine in constants]
        following, tests = [], []
        for op, mine, outer in zip(loops, at, outside, strict=True):
            body = op.params["sweeps"][0]
            following.append(table.outputs(body, [*outer, *mine], len(mine)))
            tests += table.outputs(op.params["condition"], [*outer, *mine], 1)
        finer: list[list[Hashable]] = [
            list(zip(mine, then, strict=True)) for mine, then in zip(at, following, strict=True)
        ]
        if len({*finer[0], *finer[1]}) == len({*at[0], *at[1]}):
            break
        classes = finer
    if tests[0] != tests[1] or not set(at[1]) <= set(at[0]):
        return None
    return [at[0].index(c) for c in at[1]]


def _with_constants_ahead(ops: list[Op], first: Op, later: Op) -> list[Op] | None:
    """The ops, with those needed by a later loop's constants moved before the first loop; None if
    they need the first loop itself."""
    start = ops.index(first)
    needed = set(later.operands[: later.params["constants"]])
    moved: dict[Op, None] = {}
    for op in reversed(ops[start:]):
        if not needed.isdisjoint(op.results):
            if op is first:
                return None
            needed.update(op.operands)
            moved[op] = None
    rest = [op for op in ops[start:] if op not in moved]
    return [*ops[:start], *reversed(moved), *rest] if moved else ops


def _with_pushes(first: Op, later: Op, same: list[int]) -> Op:
    """The first loop, which also pushes the values of the later one's first sweep."""
    n, m = first.params["constants"], first.params["carries"][0]
    own, other = first.operands[:n], later.operands[: later.params["constants"]]
    constants = list(dict.fromkeys((*own, *other)))
    starts = first.operands[n:]
    inputs = {v: Value(v.type) for v in constants}
    carries = [Value(v.type) for v in starts]
    pushing = later.params["sweeps"][0]
    builder = Builder()
    with building(builder):
        following = builder.inline(
            first.params["sweeps"][0], [*(inputs[v] for v in own), *carries]
        )[:m]
        pushed = builder.inline(
            pushing, [*(inputs[v] for v in other), *(carries[j] for j in same)]
        )[len(same) :]
    body = builder.finish([*inputs.values(), *carries], [*following, *pushed], name=pushing.name)
    testing = Builder()
    with building(testing):
        test = testing.inline(first.params["condition"], [*(inputs[v] for v in own), *carries])
    condition = testing.finish([*inputs.values(), *carries], test, name="condition")
    params = {
        **first.params,
        "constants": len(constants),
        "sweeps": (dce.run(cse.run(body)),),
        "condition": condition,
    }
    return Op(first.kind, (*constants, *starts), params, first.results, first.source)
