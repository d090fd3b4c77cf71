"""Arrays that a block hands out which may share memory with arrays from outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.core.program import Value
from autojit.staging.trace_function import LeafType
from autojit.tracing.aliasing import Uncertain
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import bare
from autojit.tracing.tracer import Argument, Tracer


def results_of(
    results: Sequence[Value], types: Sequence[LeafType], ways: Sequence[Sequence[Any]]
) -> list[Tracer]:
    """The results of a block's op as the user sees them; ``ways`` are what they are at the end of
    each way through it.

    In Python a result may be one of the arrays from outside, or a view of one, and two results may
    be one array.  Which is known only when the code runs, so each is used freely until one of the
    arrays is changed in place; the others are refused then.
    """
    trace = current_trace()
    assert trace is not None
    made: list[Tracer] = []
    owners: dict[int, Tracer] = {}
    for number, (value, kind) in enumerate(zip(results, types, strict=True)):
        found = Tracer(value, trace, kind.weak)
        if kind.type.shape:
            roots = {id(r): r for way in ways for r in _roots(way[number])}
            outside = [_outside(r, trace) for r in roots.values()]
            known = [x for x in outside if x is not None]
            same = [owners[k] for k in roots if k in owners]
            _relate(found, [*known, *same])
            for k in roots:
                owners.setdefault(k, found)
        made.append(found)
    return made


def _roots(leaf: Any) -> list[Tracer]:
    leaf = bare(leaf)
    if not isinstance(leaf, Tracer) or leaf.is_scalar:
        return []
    while leaf.base is not None:
        leaf = leaf.base
    return [leaf]


def _outside(root: Tracer, trace: Any) -> Tracer | None:
    """Whose stand-in an array is, or the array itself if it is from outside; None if the block
    has made it."""
    if root.owner.open:
        return root
    for x, made in root.owner.stand_ins.values():
        if made is root:
            return x if isinstance(x, Tracer) else None
    return None


def _relate(found: Tracer, others: Sequence[Tracer]) -> None:
    distinct = list({id(x): x for x in others if not isinstance(x, Argument)}.values())
    if not distinct and not others:
        return
    base = distinct[0] if distinct else others[0]
    found.base, found.seen = base, base.value
    found.how = Uncertain(tuple((x, x.value) for x in distinct[1:]))
