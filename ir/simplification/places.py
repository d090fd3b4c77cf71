"""Rules for elements that are read at computed places.

Legal where the part is whole along the axes that are indexed: then the same indices are out of
bounds.  Nothing changes in the results.
"""

from __future__ import annotations

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.index import gather
from autojit.ir.ops.move import slice_
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
