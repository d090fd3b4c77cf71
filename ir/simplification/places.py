"""Rules for elements that are read at computed places.

Legal where the part is whole along the axes that are indexed: then the same indices are out of
bounds; and past an element that is written where the two are different ones for sure.  Nothing
changes in the results.
"""

from __future__ import annotations

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.arithmetic import add
from autojit.ir.ops.index import gather
from autojit.ir.ops.move import slice_
from autojit.ir.ops.update import scatter
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable

rules = RuleTable()


@rules(gather)
def gather_slice(op: Op, at: Rewriter) -> Value | None:
    """gather(x[:, 1:], i, axes=(0,)) → gather(x, i, axes=(0,))[1:], which reads no other rows"""
    part, *indices = op.operands
    inner, axes = at.definition(part, slice_), op.params["axes"]
    if inner is None:
        return None
    (x,) = inner.operands
    ranges = list(zip(*(inner.params[n] for n in ("start", "stop", "stride")), strict=True))
    if any(ranges[a] != (0, x.shape[a], 1) for a in axes):
        return None
    picked = [(0, n, 1) for n in indices[0].shape]
    rest = [r for a, r in enumerate(ranges) if a not in axes]
    start, stop, stride = zip(*picked, *rest, strict=True)
    return slice_(gather(x, *indices, axes=axes), start=start, stop=stop, stride=stride)


@rules(gather)
def gather_past_scatter(op: Op, at: Rewriter) -> Value | None:
    """gather(scatter(x, v, i + 1), i) → gather(x, i): the element is another one"""
    array, *indices = op.operands
    written = at.definition(array, scatter)
    if written is None or written.params["axes"] != op.params["axes"]:
        return None
    x, _, *places = written.operands
    if any(i.shape for i in (*indices, *places)):
        return None
    if not any(_differ(i, j, at) for i, j in zip(indices, places, strict=True)):
        return None
    return gather(x, *indices, axes=op.params["axes"])


def _differ(i: Value, j: Value, at: Rewriter) -> bool:
    """Whether two integers are different numbers: both known, or one the other and a number."""
    (a, m), (b, n) = _parts(i, at), _parts(j, at)
    return a is b and m != n


def _parts(i: Value, at: Rewriter) -> tuple[Value | None, int]:
    """An integer as a value and a number that is added to it."""
    number = at.scalar(i)
    if number is not None:
        return None, int(number)
    total = 0
    while (op := at.definition(i, add)) is not None:
        known = [(v, at.scalar(v)) for v in op.operands]
        numbers = [n for _, n in known if n is not None]
        if len(numbers) != 1:
            break
        total += int(numbers[0])
        (i,) = (v for v, n in known if n is None)
    return i, total
