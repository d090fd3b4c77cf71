"""Segments: a scan as a scan over shorter scans, of which reverse mode keeps the first carries.

Griewank and Walther, "Evaluating Derivatives" (2008), chapter 12, call this checkpointing of
two levels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ops.bodies import INDEX, groups
from ..ops.checkpoint import checkpoint
from ..ops.declaration import full
from ..ops.move import concatenate, reshape, slice_
from ..ops.scan import scan
from ..program import Builder, Program, Value, building, current_builder
from ..types import Type


def scan_in_segments(
    operands: Sequence[Value], params: dict[str, Any], size: int
) -> Sequence[Value]:
    """Emit a scan cut into segments of so many steps, each under a checkpoint.

    Where the length is no multiple of the size, the last rows are a shorter segment.
    """
    if size == 1:
        return current_builder().emit(scan, operands, {**params, "body": _repeated(params["body"])})
    length, reverse, m = params["length"], params["reverse"], params["carries"]
    whole, rest = divmod(length, size)
    constants, carries, xs = groups(operands, params["constants"], m)
    end = whole * size
    tail: list[Value] = []

    def run_tail(carries: list[Value]) -> list[Value]:
        body = _segment(params, rest)
        first = full(end, INDEX)
        values = [*constants, first, *carries, *(_rows(x, end, length) for x in xs)]
        made = current_builder().emit(checkpoint, values, _stored_nothing(body))
        tail[:] = made[m:]
        return list(made[:m])

    if rest and reverse:
        carries = run_tail(carries)
    shaped = [_cut(_rows(x, 0, end), whole, size) for x in xs]
    made = current_builder().emit(
        scan,
        [*constants, *carries, *shaped],
        {**params, "body": _outer(params, size), "length": whole},
    )
    carries, ys = groups(made, m)
    ys = [reshape(y, shape=(end, *y.shape[2:])) for y in ys]
    if rest and not reverse:
        carries = run_tail(carries)
    if rest:
        ys = [concatenate(y, t, axis=0) for y, t in zip(ys, tail, strict=True)]
    return [*carries, *ys]


def _stored_nothing(body: Program) -> dict[str, Any]:
    return {"body": body, "keep": False, "policy": "nothing"}


def _rows(x: Value, start: int, stop: int) -> Value:
    if (start, stop) == (0, x.shape[0]):
        return x
    rest = x.shape[1:]
    return slice_(
        x, start=(start, *[0] * len(rest)), stop=(stop, *rest), stride=(1,) * len(x.shape)
    )


def _cut(x: Value, whole: int, size: int) -> Value:
    return reshape(x, shape=(whole, size, *x.shape[1:]))


def _outer(params: dict[str, Any], size: int) -> Program:
    """The body of the scan over segments."""
    segment, n = _segment(params, size), params["constants"]
    builder = Builder()
    inputs = [Value(t) for t in segment.in_types]
    with building(builder):
        start = inputs[n] * size
        values = [*inputs[:n], start, *inputs[n + 1 :]]
        outputs = builder.emit(checkpoint, values, _stored_nothing(segment))
    return builder.finish(inputs, outputs, name=segment.name)


def _repeated(body: Program) -> Program:
    """The body as a call that reverse mode repeats."""
    builder = Builder()
    inputs = [Value(t) for t in body.in_types]
    outputs = builder.emit(checkpoint, inputs, _stored_nothing(body))
    return builder.finish(inputs, outputs, name=body.name)


def _segment(params: dict[str, Any], size: int) -> Program:
    """``(constants…, number of the first row, carries…, rows…) -> (carries…, rows…)``."""
    body, n, m = params["body"], params["constants"], params["carries"]
    constants, (index,), carries, slices = groups(body.inputs, n, 1, m)
    row = Value(index.type)
    start = Value(index.type)
    builder = Builder()
    with building(builder):
        at = start + row
        inputs = [*constants, start, row, *carries, *slices]
        made = builder.inline(body, [*constants, at, *carries, *slices])
    inner = builder.finish(inputs, made, name=body.name)
    builder = Builder()
    with building(builder):
        types: list[Type] = [v.type for v in [*constants, start, *carries]]
        rows = [v.type.with_shape((size, *v.shape)) for v in slices]
        outer = [Value(t) for t in [*types, *rows]]
        results = builder.emit(
            scan, outer, {**params, "body": inner, "constants": n + 1, "length": size}
        )
    return builder.finish(outer, results, name=f"{body.name}_segment")
