"""Segments: a scan becomes a scan over shorter scans; reverse mode keeps the first carries of each.

Griewank and Walther, "Evaluating Derivatives" (2008), chapter 12, call this two-level
checkpointing.

Legal where a segment has at least one step and at most as many as the loop, which is checked. The
steps and their order stay the same: nothing changes in the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from autojit.ir.core.declaration import full, require
from autojit.ir.core.program import Builder, Program, Value, building, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.bodies import INDEX, groups
from autojit.ir.ops.move import concatenate, reshape, slice_axis

from .checkpoint import checkpoint
from .scan import scan

#: A program for a number of steps: ``(constants…, number of the first row, carries…, rows…, given…)
#: -> (carries…, rows…, extras…)``.
Segment = Callable[[int], Program]


class EachSegment(NamedTuple):
    """A value of every segment: stacked for the full segments, and separate for the rest."""

    whole: Value
    rest: Value | None


def in_segments(
    operands: Sequence[Value],
    params: dict[str, Any],
    size: int,
    segment: Segment,
    given: Sequence[EachSegment] = (),
    extras: int = 0,
) -> tuple[list[Value], list[EachSegment]]:
    """Emit a scan as a scan over segments of ``size`` steps. Return its results, and the extras.

    If the length is not a multiple of the size, the last rows form a shorter segment.
    """
    length, n, m = (params[k] for k in ("length", "constants", "carries"))
    require(1 <= size <= length, f"segments of {size} steps of a loop of {length}")
    constants, carries, xs = groups(operands, n, m)
    whole, rest = divmod(length, size)
    end = whole * size
    tail: list[Value] = []

    def run_tail(carries: list[Value]) -> list[Value]:
        rows = [_rows(x, end, length) for x in xs]
        more = [each.rest for each in given if each.rest is not None]
        values = [*constants, full(end, INDEX), *carries, *rows, *more]
        tail[:] = current_builder().inline(segment(rest), values)
        return tail[:m]

    if rest and params["reverse"]:
        carries = run_tail(carries)
    shaped = [reshape(_rows(x, 0, end), shape=(whole, size, *x.shape[1:])) for x in xs]
    results = current_builder().emit(
        scan,
        [*constants, *carries, *shaped, *(each.whole for each in given)],
        {**params, "body": _outer(segment(size), n, size), "length": whole},
    )
    carries = list(results[:m])
    last = len(results) - extras
    ys = [reshape(y, shape=(end, *y.shape[2:])) for y in results[m:last]]
    if rest and not params["reverse"]:
        carries = run_tail(carries)
    if rest:
        ys = [concatenate(y, t, axis=0) for y, t in zip(ys, tail[m:last], strict=True)]
    ends = tail[last:] if rest else [None] * extras
    return [*carries, *ys], list(map(EachSegment, results[last:], ends))


def _rows(x: Value, start: int, stop: int) -> Value:
    return x if (start, stop) == (0, x.shape[0]) else slice_axis(x, 0, start, stop)


def _outer(segment: Program, constants: int, size: int) -> Program:
    """Return the body of the scan over segments."""
    builder = Builder()
    inputs = [Value(t) for t in segment.in_types]
    with building(builder):
        start = inputs[constants] * size
        values = [*inputs[:constants], start, *inputs[constants + 1 :]]
        outputs = builder.inline(segment, values)
    return builder.finish(inputs, outputs, name=segment.name)


def scan_in_segments(
    operands: Sequence[Value], params: dict[str, Any], size: int
) -> Sequence[Value]:
    """Emit a scan divided into segments of ``size`` steps, each under a checkpoint."""
    if size == 1:
        return current_builder().emit(scan, operands, {**params, "body": _repeated(params["body"])})
    results, _ = in_segments(
        operands, params, size, lambda steps: _repeated(steps_of(params, steps))
    )
    return results


def _repeated(body: Program) -> Program:
    """Return the body as a call that reverse mode repeats."""
    builder = Builder()
    inputs = [Value(t) for t in body.in_types]
    params = {"body": body, "keep": False, "policy": "nothing"}
    with building(builder):
        outputs = builder.emit(checkpoint, inputs, params)
    return builder.finish(inputs, outputs, name=body.name)


def steps_of(params: dict[str, Any], size: int) -> Program:
    """Return the segment: the scan itself over ``size`` steps."""
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
