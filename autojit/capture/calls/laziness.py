"""Branches that only run if Python would run them.

`lazily` is the one place where such a branch is emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.errors import ShapeError, with_place
from autojit.ir.core.program import Op, Value, current_builder
from autojit.ir.ops.arithmetic import convert, select
from autojit.ir.ops.move import broadcast_to
from autojit.ir.regions.switch import switch
from autojit.protocols.lifting import as_value, to_dtype, tracer
from autojit.staging import pytrees
from autojit.staging.bodies import Body, merged, trace_body
from autojit.tracing.created_arrays import bare
from autojit.tracing.source import user_source
from autojit.tracing.values import inline

from .choice import Kind, joined
from .refusals import mismatch
from .scalars import is_traced

#: Elements that a branch may read and compute in vain: a mispredicted jump costs as much.
IN_VAIN = 32

Thunk = Callable[[], Any]


def lazily(test: Any, then: Thunk, orelse: Thunk) -> Any:
    """``then() if test else orelse()`` for a bool, traced or not.

    Each branch is called at most once.  Both are computed where nobody can tell: where they cannot
    fail, are cheap and have no derivative.
    """
    if not is_traced(test):
        return then() if test else orelse()
    bodies = [_body(orelse), _body(then)]
    kinds = _joined_results(bodies)
    bodies = [_converted(body, kinds) for body in bodies]
    held = as_value(bare(test))
    results: Sequence[Value]
    if all(map(_is_free, bodies)):
        results = _both(held, bodies)
    else:
        programs, captured = merged(bodies)
        index = convert(held, dtype=np.dtype(np.int64))
        results = current_builder().emit(switch, [index, *captured], {"branches": tuple(programs)})
    leaves = [tracer(v, weak) for v, (_, weak) in zip(results, kinds, strict=True)]
    return pytrees.unflatten(bodies[0].structure, leaves)


def _body(thunk: Thunk) -> Body:
    return trace_body(thunk, [], lambda g, _: g(), "a branch that is not always evaluated")


def _joined_results(bodies: Sequence[Body]) -> list[Kind]:
    first, second = bodies
    if first.structure != second.structure:
        mismatch(
            "The branches of a traced condition have results of different structure: "
            f"{second.structure} and {first.structure}."
        )
    kinds = []
    for a, b, *weak in zip(
        first.program.out_types, second.program.out_types, first.weak, second.weak, strict=True
    ):
        if a.shape != b.shape:
            raise ShapeError(
                with_place(
                    "The branches of a traced condition have results of different types: "
                    f"{b} and {a}. Broadcast one of them.",
                    user_source(),
                )
            )
        kinds.append(joined([(a.dtype, weak[0]), (b.dtype, weak[1])]))
    return kinds


def _converted(body: Body, kinds: Sequence[Kind]) -> Body:
    """The same with results of other dtypes."""
    if [t.dtype for t in body.program.out_types] == [dtype for dtype, _ in kinds]:
        return body

    def run() -> Any:
        results = inline(body.program, ())
        pairs = zip(results, kinds, strict=True)
        return [tracer(to_dtype(as_value(r), dtype), weak) for r, (dtype, weak) in pairs]

    return _body(run)._replace(structure=body.structure)


def _is_free(body: Body) -> bool:
    """Whether it cannot be told if the branch has run."""
    ops = body.program.ops
    return (
        not any(t.dtype.kind in "fc" for t in body.program.out_types if ops)
        and sum(v.type.size for op in ops for v in (*op.operands, *op.results)) <= IN_VAIN
        and not any(_may_be_seen(op) for op in ops)
    )


def _may_be_seen(op: Op) -> bool:
    return bool(op.programs) or op.kind.may_fail(op)


def _both(held: Value, bodies: Sequence[Body]) -> list[Value]:
    no, yes = ([as_value(t) for t in inline(body.program, ())] for body in bodies)
    return [
        select(broadcast_to(held, a.shape) if a.shape else held, a, b)
        for a, b in zip(yes, no, strict=True)
    ]
