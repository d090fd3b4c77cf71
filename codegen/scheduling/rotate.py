"""Computes values shared by a loop's condition and body once.

    while c(f(x)):                            t = f(x); p = c(t)
        x = g(x, f(x))            ->          while p:
                                                  x = g(x, t); t = f(x); p = c(t)

This helps iterations that end when a residual is small, because the step is computed from the
residual too.  The loop is rotated (A. Appel, "Modern Compiler Implementation", 1998, 18.1): the
condition of the next step is computed at the end of the body, in the same sweep as the new carries,
and shared values become carries. This is done only for expensive values; cheap ones are recomputed.

Legal for a ``while`` whose condition and body read the same constants and carries: shared values
are found by value numbering, and an op that may fail runs for the same carries as before, once
instead of twice.  Nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.autodiff.residuals import repeatable
from autojit.ir.core.declaration import Declaration
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.bodies import groups
from autojit.ir.ops.elementary import cos, sin
from autojit.ir.pass_manager.records import phase
from autojit.ir.regions.while_ import While
from autojit.ir.rewriting import cse, dce

from .kept_tapes import Kept, Numbering

#: Pairs of ops where computing one gives most of the other.
_PAIRS: dict[Declaration, Declaration] = {sin: cos, cos: sin}


@phase("rotate loops")
def rotated(kept: Kept) -> Kept:
    """The ops with their loops rotated, if that saves work."""
    ops: list[Op] = []
    replaced: dict[Op, Op] = {}
    for op in kept.ops:
        if isinstance(op.kind, While) and op not in kept.source:
            before, made = _rotated(op)
            replaced[op] = made
            ops += before
        ops.append(replaced.get(op, op))
    source = {later: replaced.get(first, first) for later, first in kept.source.items()}
    return Kept(ops, source, kept.same)


def _rotated(op: Op) -> tuple[list[Op], Op]:
    """The ops before the loop, and the loop."""
    n, m = op.params["constants"], op.params["carries"][0]
    condition, (body, *later) = op.params["condition"], op.params["sweeps"]
    shared = _shared(condition, body)
    if not shared:
        return [], op
    constants, starts, others = groups(op.operands, n, m)
    outer = Builder()
    with building(outer), outer.at(op.source):
        first = _following(outer, condition, body, shared, [*constants, *starts])
    inputs = [Value(v.type) for v in (*constants, *starts, *first)]
    given, carries, tail = groups(inputs, n, m)
    inner = Builder()
    with building(inner):
        made = _applied(inner, body, dict(zip(body.inputs, [*given, *carries], strict=True)),
                        dict(zip(shared, tail, strict=False)))  # fmt: skip
        following = _following(inner, condition, body, shared, [*given, *made[:m]])
    outputs = [*made[:m], *following, *made[m:]]
    turned = dce.run(cse.run(inner.finish(inputs, outputs, name=body.name)))
    params = {
        **op.params,
        "condition": Program(inputs, [], [tail[-1]], name=condition.name),
        "sweeps": (turned, *later),
        "carries": (m + len(first), *op.params["carries"][1:]),
    }
    results = (*op.results[:m], *(Value(v.type) for v in first), *op.results[m:])
    operands = (*constants, *starts, *first, *others)
    return outer.ops, Op(op.kind, operands, params, results, op.source)


def _shared(condition: Program, body: Program) -> list[Value]:
    """Expensive values of the body that have been computed for the condition."""
    table = Numbering()
    inputs = [table.number(("input", k)) for k in range(len(body.inputs))]
    tested = set(table.values(condition, inputs).values())
    numbers = table.values(body, inputs)
    found = [
        v
        for op in body.ops
        if op.operands and not repeatable(op)
        for v in op.results
        if numbers[v] in tested
    ]
    known = set(found)
    makers = [op for op in body.ops if not known.isdisjoint(op.results)]
    partners = {(_PAIRS.get(op.kind), op.operands) for op in makers}
    found += [
        op.results[0]
        for op in body.ops
        if (op.kind, op.operands) in partners and op.results[0] not in known
    ]
    return found


def _applied(
    builder: Builder, body: Program, known: dict[Value, Value], given: dict[Value, Value]
) -> list[Value]:
    """The body's outputs, with some of its values given."""
    known.update(given)
    for op in body.ops:
        if not given.keys() >= set(op.results):
            results = builder.repeat(op, [known[v] for v in op.operands])
            known.update(zip(op.results, results, strict=True))
    return [known[v] for v in body.outputs]


def _following(
    builder: Builder,
    condition: Program,
    body: Program,
    shared: Sequence[Value],
    arguments: Sequence[Value],
) -> list[Value]:
    """The shared values and then the condition, as a program of constants and carries."""
    values = dce.run(Program(body.inputs, body.ops, shared, name="shared"))
    both = Builder()
    inputs = [Value(v.type) for v in arguments]
    with building(both):
        outputs = [*both.inline(values, inputs), *both.inline(condition, inputs)]
    return builder.inline(cse.run(both.finish(inputs, outputs)), arguments)
