"""Residuals: the values that the primal program of a loop's body stores for the linear one.

Every value that the linear program needs can be stored, or recomputed from other stored values. The
choice with the fewest bytes is a minimum cut between the inputs of the primal program and the needs
of the linear one. Each value costs its size, and no cut may require repeating an operation that is
too expensive.

Legal where the inputs marked free are the same values when the linear program runs. Recomputed
values come from the same ops and operands, so the results do not change, and no new error occurs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from autojit.ir.core.machine import current
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.index import Gather
from autojit.ir.pass_manager.records import phase
from autojit.ir.simplification.simplified import simplified

from .linearize import Linearized
from .min_cut import source_side
from .partition import parted

#: Elementwise operations that cost less than this many function calls may be repeated.
DEAR = 1

_SOURCE, _SINK = "source", "sink"


def repeatable(op: Op) -> bool:
    """Whether computing an op again beats storing its result."""
    if isinstance(op.kind, Elementwise):
        return op.kind.cost < DEAR * current().costs.function
    return hasattr(op.kind, "sources") or isinstance(op.kind, Gather) or not op.operands


@phase("choose residuals")
def choose_residuals(
    parts: Linearized,
    free: Sequence[bool],
    may_repeat: Callable[[Op], bool] = repeatable,
    later: int = 0,
    kept: bool = False,
    changed: Collection[int] = (),
) -> Linearized:
    """The same split with residuals that take the fewest bytes.

    ``free`` marks the inputs that the linear program can have at no cost.  The last ``later`` of
    them do not exist yet when the primal program runs: no output depends on one, except the input
    itself. ``kept`` says that the outputs are kept anyway, so that the linear program prefers them
    to free inputs; and ``changed`` has the numbers of free inputs of which outputs are later
    versions: to keep such an input costs its bytes, since a loop around would have to store it.
    """
    primal = simplified(parts.primal)
    n = len(primal.outputs) - parts.residuals
    needed = list(dict.fromkeys(primal.outputs[n:]))
    if not needed:
        return parts
    missing = set(primal.inputs[len(primal.inputs) - later :])
    costs = {
        v: v.type.nbytes if k in changed else int(kept)
        for k, (v, f) in enumerate(zip(primal.inputs, free, strict=True)) if f
    }  # fmt: skip
    if kept:
        costs = {**dict.fromkeys(primal.outputs[:n], 0), **costs}
    cut = _minimum_cut(primal, needed, costs, may_repeat, missing)
    builder = Builder()
    stored = {v: Value(v.type) for v in cut}
    tangents = [Value(v.type) for v in parts.linear.inputs[parts.residuals :]]
    with building(builder):
        env = dict(stored)
        for op in _between(primal, cut, needed):
            results = builder.repeat(op, [env[v] for v in op.operands])
            env.update(zip(op.results, results, strict=True))
        residuals = [env[v] for v in primal.outputs[n:]]
        outputs = builder.inline(parts.linear, [*residuals, *tangents])
    linear = builder.finish([*stored.values(), *tangents], outputs, name=parts.linear.name)
    primal = primal.with_body(primal.ops, [*primal.outputs[:n], *cut])
    return Linearized(simplified(primal), simplified(linear), parts.wrt, parts.active)


def _minimum_cut(
    primal: Program, needed: list[Value], costs: Mapping[Value, int],
    may_repeat: Callable[[Op], bool], missing: set[Value],
) -> list[Value]:  # fmt: skip
    apart = parted(primal.ops, missing)[2] - missing if missing else missing
    definer = {v: op for op in primal.ops for v in op.results}
    edges: list[tuple[Any, Any, int | None]] = [((v, 1), _SINK, None) for v in needed]
    pending, seen = list(needed), set(needed)
    while pending:
        v = pending.pop()
        cost = costs.get(v, max(2, v.type.nbytes))
        edges.append(((v, 0), (v, 1), None if v in apart else cost))
        op = definer.get(v)
        if op is None or not may_repeat(op):
            edges.append((_SOURCE, (v, 0), None))
            continue
        for operand in op.operands:
            edges.append(((operand, 1), (v, 0), None))
            if operand not in seen:
                seen.add(operand)
                pending.append(operand)
    reached = source_side(edges, _SOURCE, _SINK)
    ordered = [*primal.inputs, *(v for op in primal.ops for v in op.results)]
    return [v for v in ordered if v in seen and (v, 0) in reached and (v, 1) not in reached]


def _between(primal: Program, cut: list[Value], needed: list[Value]) -> list[Op]:
    """The ops that compute the needed values from the values of the cut."""
    wanted = set(needed) - set(cut)
    ops = []
    for op in reversed(primal.ops):
        if not wanted.isdisjoint(op.results):
            ops.append(op)
            wanted.update(v for v in op.operands if v not in cut)
    return ops[::-1]
