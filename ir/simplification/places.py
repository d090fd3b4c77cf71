"""Rules for elements that are read at computed places.

Legal where the part is whole along the indexed axes, so that the same indices are out of bounds; a
read skips a written element only if the two are certainly different; and a row that is written back
goes to the place in the array that it was read from. Nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Op, Value
from autojit.ir.ops.arithmetic import add
from autojit.ir.ops.index import gather
from autojit.ir.ops.move import slice_
from autojit.ir.ops.update import scatter, update
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


@rules(gather)
def gather_gather(op: Op, at: Rewriter) -> Value | None:
    """gather(gather(x, i, axes=(0,)), j, axes=(0,)) → gather(x, i, j, axes=(0, 1)): an element,
    and not the row"""
    row, *places = op.operands
    inner = at.definition(row, gather)
    if inner is None or any(i.shape for i in (*inner.operands[1:], *places)):
        return None
    x, *before = inner.operands
    axes, indices = _along_axes(inner, op, before, places)
    return gather(x, *indices, axes=axes)


@rules(scatter)
def scatter_scatter(op: Op, at: Rewriter) -> Value | None:
    """scatter(x, scatter(gather(x, i), v, j), i) → scatter(x, v, i, j): an element is written, and
    not the row"""
    x, row, *places = op.operands
    inner = at.definition(row, scatter)
    read = at.definition(inner.operands[0], gather) if inner else None
    if inner is None or read is None or any(i.shape for i in (*places, *inner.operands[2:])):
        return None
    same = read.params["axes"] == op.params["axes"]
    if not same or any(a is not b for a, b in zip(read.operands, (x, *places), strict=True)):
        return None
    axes, indices = _along_axes(op, inner, places, inner.operands[2:])
    return scatter(x, inner.operands[1], *indices, axes=axes)


def _along_axes(
    outer: Op, inner: Op, rows: Sequence[Value], in_row: Sequence[Value]
) -> tuple[tuple[int, ...], tuple[Value, ...]]:
    """Return the axes of an array that are indexed by the places of rows and places in a row, and
    these places, in the order of the axes."""
    axes: tuple[int, ...] = outer.params["axes"]
    rest = [a for a in range(outer.operands[0].type.ndim) if a not in axes]
    inner_axes = [rest[b] for b in inner.params["axes"]]
    pairs = [*zip(axes, rows, strict=True), *zip(inner_axes, in_row, strict=True)]
    pairs.sort(key=lambda pair: pair[0])
    along, indices = zip(*pairs, strict=True)
    return along, indices


@rules(update)
def update_scatter(op: Op, at: Rewriter) -> Value | None:
    """update(x, scatter(x[:, 1:], v, i), start=(0, 1)) → scatter(x, update(gather(x, i), v), i),
    which touches no other rows"""
    x, part = op.operands
    written = at.definition(part, scatter)
    read = at.definition(written.operands[0], slice_) if written else None
    if written is None or read is None or read.operands[0] is not x:
        return None
    axes, (_, row, *places) = written.params["axes"], written.operands
    start, stride = op.params["start"], op.params["stride"]
    if (read.params["start"], read.params["stride"]) != (start, stride):
        return None
    if any(part.shape[a] != x.shape[a] for a in axes) or row.type.size > part.type.size:
        return None
    rest = [a for a in range(x.type.ndim) if a not in axes]
    ndim = places[0].type.ndim
    whole = update(
        gather(x, *places, axes=axes),
        row,
        start=(*(0,) * ndim, *[start[a] for a in rest]),
        stride=(*(1,) * ndim, *[stride[a] for a in rest]),
    )
    return scatter(x, whole, *places, axes=axes)


def _differ(i: Value, j: Value, at: Rewriter) -> bool:
    """Whether two integers differ: both are known, or they differ by a known number."""
    (a, m), (b, n) = _parts(i, at), _parts(j, at)
    return a is b and m != n


def _parts(i: Value, at: Rewriter) -> tuple[Value | None, int]:
    """Split an integer into a value and a number that is added to it."""
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
