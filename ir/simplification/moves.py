"""Rules for moves and reductions.

All are exact with two exceptions: a sum of copies becomes a product with their number, which rounds
once where the sum rounds often; and where zeros were to be added, -0.0 keeps its sign.

Legal where each element of the result is the same element, or the sum of the same ones: at least
one copy, and numbers that are added, not bools. Numbers that are added to one place may be added in
another order.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.program import Op, Value
from autojit.ir.core.shapes import even_steps
from autojit.ir.core.types import is_half
from autojit.ir.ops.arithmetic import add, mul
from autojit.ir.ops.index import scatter_add
from autojit.ir.ops.linear import iota
from autojit.ir.ops.move import broadcast, concatenate, flip, pad, reshape, slice_, transpose
from autojit.ir.ops.reduce import all_, any_, max_, min_, prod_, sum_
from autojit.ir.ops.update import add_at, is_sparse, update
from autojit.ir.rewriting.rewrite import Rewriter, RuleTable

rules = RuleTable()


@rules(broadcast, reshape)
def same_shape(op: Op, at: Rewriter) -> Value | None:
    """broadcast or reshape of x to its own shape → x"""
    (x,) = op.operands
    return x if x.shape == op.result.shape else None


@rules(reshape)
def reshape_reshape(op: Op, at: Rewriter) -> Value | None:
    """reshape(reshape(x)) → reshape(x)"""
    inner = at.definition(op.operands[0], reshape)
    return reshape(inner.operands[0], **op.params) if inner else None


@rules(broadcast)
def broadcast_broadcast(op: Op, at: Rewriter) -> Value | None:
    """broadcast(broadcast(x)) → broadcast(x)"""
    inner = at.definition(op.operands[0], broadcast)
    if inner is None:
        return None
    dims = tuple(op.params["dims"][d] for d in inner.params["dims"])
    return broadcast(inner.operands[0], shape=op.params["shape"], dims=dims)


@rules(transpose)
def transpose_nothing(op: Op, at: Rewriter) -> Value | None:
    """transpose(x, axes=(0, 1, …)) → x"""
    axes = op.params["axes"]
    return op.operands[0] if axes == tuple(range(len(axes))) else None


@rules(transpose)
def transpose_transpose(op: Op, at: Rewriter) -> Value | None:
    """transpose(transpose(x)) → transpose(x)"""
    inner = at.definition(op.operands[0], transpose)
    if inner is None:
        return None
    axes = tuple(inner.params["axes"][a] for a in op.params["axes"])
    return transpose(inner.operands[0], axes=axes)


@rules(slice_)
def slice_everything(op: Op, at: Rewriter) -> Value | None:
    """x[:] → x"""
    (x,) = op.operands
    return x if x.shape == op.result.shape else None


@rules(slice_)
def slice_slice(op: Op, at: Rewriter) -> Value | None:
    """x[a:b:s][c:d:t] → x[a + c s:…:s t]"""
    inner = at.definition(op.operands[0], slice_)
    if inner is None:
        return None
    names = ("start", "stride")
    first = zip(*(inner.params[n] for n in names), strict=True)
    second = zip(*(op.params[n] for n in names), strict=True)
    ranges = []
    for (a, s), (c, t), extent in zip(first, second, op.result.shape, strict=True):
        start = a + c * s if extent else 0  # an empty range may start beyond the end
        ranges.append((start, start + (extent - 1) * s * t + 1 if extent else 0, s * t))
    start, stop, stride = zip(*ranges, strict=True)
    return slice_(inner.operands[0], start=start, stop=stop, stride=stride)


@rules(flip)
def flip_short_axes(op: Op, at: Rewriter) -> Value | None:
    """flip(x, axes=()) → x; axes of extent 1 are left out"""
    (x,), axes = op.operands, op.params["axes"]
    long = tuple(a for a in axes if x.shape[a] > 1)
    if long == axes and axes:
        return None
    return flip(x, axes=long) if long else x


@rules(flip)
def flip_flip(op: Op, at: Rewriter) -> Value | None:
    """flip(flip(x, axes=a), axes=b) → flip(x, axes in one of both)"""
    inner = at.definition(op.operands[0], flip)
    if inner is None:
        return None
    once = set(inner.params["axes"]) ^ set(op.params["axes"])
    return flip(inner.operands[0], axes=tuple(sorted(once)))


@rules(pad)
def pad_nothing(op: Op, at: Rewriter) -> Value | None:
    """pad(x) by zero everywhere → x"""
    (x,) = op.operands
    return x if x.shape == op.result.shape else None


@rules(pad)
def pad_far_apart(op: Op, at: Rewriter) -> Value | None:
    """pad(x) with wide gaps → update(0, x): zeros and then x, instead of a choice per element"""
    (x,) = op.operands
    if not any(op.params["interior"]) or not is_sparse(x.type, op.result.type):
        return None
    stride = tuple(gap + 1 for gap in op.params["interior"])
    return update(full(0, op.result.type), x, start=op.params["low"], stride=stride)


@rules(concatenate)
def concatenate_one(op: Op, at: Rewriter) -> Value | None:
    """concatenate(x) → x"""
    return op.operands[0] if len(op.operands) == 1 else None


@rules(concatenate)
def concatenate_neighbours(op: Op, at: Rewriter) -> Value | None:
    """concatenate(x[:3], x[3:5], y) → concatenate(x[:5], y)"""
    axis = op.params["axis"]
    merged: list[Any] = []
    for v in op.operands:
        part = at.definition(v, slice_)
        if merged and part is not None and _follows(merged[-1], part, axis):
            merged[-1] = (part.operands[0], merged[-1][1], part.params["stop"])
        elif part is not None and set(part.params["stride"]) == {1}:
            merged.append((part.operands[0], part.params["start"], part.params["stop"]))
        else:
            merged.append((v, None, None))
    if len(merged) == len(op.operands):
        return None
    parts = [
        x if start is None else slice_(x, start=start, stop=stop, stride=(1,) * len(start))
        for x, start, stop in merged
    ]
    return concatenate(*parts, axis=axis)


@rules(concatenate)
def concatenate_elements(op: Op, at: Rewriter) -> Value | None:
    """concatenate(reshape(x[0:1, 0:1]), reshape(x[0:1, 1:2])) → reshape(x[0:1, 0:2])"""
    if op.result.type.ndim != 1 or any(v.shape != (1,) for v in op.operands):
        return None
    parts: list[Op] = []
    for v in op.operands:
        shaped = at.definition(v, reshape)
        part = None if shaped is None else at.definition(shaped.operands[0], slice_)
        if part is None or (parts and part.operands[0] is not parts[0].operands[0]):
            return None
        parts.append(part)
    starts = [p.params["start"] for p in parts]
    by = even_steps(starts)
    if by is None or sorted(by) != [*[0] * (len(by) - 1), 1]:
        return None
    stop = tuple(a + 1 for a in starts[-1])
    whole = slice_(parts[0].operands[0], start=starts[0], stop=stop, stride=(1,) * len(stop))
    return reshape(whole, shape=op.result.shape)


def _follows(before: Any, part: Op, axis: int) -> bool:
    """Whether a slice begins where another of the same array ends, with the same other ranges."""
    x, start, stop = before
    if start is None or x is not part.operands[0] or set(part.params["stride"]) != {1}:
        return False
    return all(
        a == (stop[i] if i == axis else start[i]) and (i == axis or b == stop[i])
        for i, (a, b) in enumerate(zip(part.params["start"], part.params["stop"], strict=True))
    )


@rules(sum_, prod_, max_, min_, any_, all_)
def reduce_nothing(op: Op, at: Rewriter) -> Value | None:
    """sum(x, axes=()) → x"""
    return op.operands[0] if not op.params["axes"] else None


@rules(sum_, max_, min_, any_, all_)
def reduce_broadcast(op: Op, at: Rewriter) -> Value | None:
    """sum(broadcast(x)) → broadcast(sum(x) * copies); max(broadcast(x)) → broadcast(max(x))"""
    inner = at.definition(op.operands[0], broadcast)
    if inner is None:
        return None
    (x,), dims, shape = inner.operands, inner.params["dims"], inner.params["shape"]
    axes = op.params["axes"]
    copies = prod(shape[a] for a in axes if a not in dims)
    # 0 copies of infinity are 0, a complex product with a real mixes its parts, and a sum of half
    # floats is rounded once, whatever the number of terms.
    unlike = x.dtype.kind == "c" or is_half(x.dtype)
    if copies == 0 or (op.kind is sum_ and copies > 1 and unlike):
        return None
    own_axes = tuple(i for i, d in enumerate(dims) if d in axes)
    (value,) = at.emit(op.kind, (x,), {"axes": own_axes})
    if op.kind is sum_ and copies > 1:
        count = np.asarray(copies).astype(value.dtype)  # wraps as the sum of integers does
        value = mul(value, full(count, value.type))
    left = [a for a in range(len(shape)) if a not in axes]
    kept = tuple(left.index(d) for d in dims if d not in axes)
    return broadcast(value, shape=op.result.shape, dims=kept)


@rules(add)
def add_far_apart(op: Op, at: Rewriter) -> Value | None:
    """x + update(0, u) → x with u added in a sparse window, also of x reshaped"""
    for x, other in (op.operands, op.operands[::-1]):
        shaped = at.definition(other, reshape)
        made = at.definition(shaped.operands[0] if shaped else other, update)
        if made is None or at.scalar(made.operands[0]) != 0:
            continue
        if at.definition(x, update) is None and is_sparse(made.operands[1].type, op.result.type):
            base = reshape(x, shape=made.result.shape) if shaped else x
            result = _added_in_window(base, made, known=at.scalar(x) is not None)
            if result is not None:
                return reshape(result, shape=op.result.shape) if shaped else result
    return None


def _added_in_window(base: Value, made: Op, *, known: bool) -> Value | None:
    """Add the updates of a window to its old elements; None if no loop can do it in place."""
    u = made.operands[1]
    if known:
        window = made.kind.pull_back_updates(base, made)  # type: ignore[attr-defined]
        return update(base, add(window, u), **made.params)
    partial = [a for a, (m, n) in enumerate(zip(u.shape, base.shape, strict=True)) if m != n]
    if len(partial) != 1 or u.dtype.kind == "b":  # bools are not added at places
        return None
    (axis,) = partial
    start, stride = (made.params[name][axis] for name in ("start", "stride"))
    count = iota(axis=0, dtype=np.dtype(np.int64), shape=(u.shape[axis],))
    rest = [a for a in range(u.type.ndim) if a != axis]
    moved = transpose(u, axes=(axis, *rest))
    return add_at(base, moved, count * stride + start, axes=(axis,))


@rules(add)
def add_scattered(op: Op, at: Rewriter) -> Value | None:
    """x + scatter_add(u, i) → add_at(x, u, i), which a loop can do in place"""
    a, b = op.operands
    for x, other in ((a, b), (b, a)):
        scattered = at.definition(other, scatter_add)
        if scattered and at.definition(x, scatter_add) is None and at.scalar(x) is None:
            updates, *indices = scattered.operands
            return add_at(x, updates, *indices, axes=scattered.params["axes"])
    return None
