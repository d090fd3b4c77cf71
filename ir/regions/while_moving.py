"""The parts of a ``while`` that depend on marked operands, and the loop that also carries
tangents.

Legal where the condition reads no tangent: then the loop with tangents makes the same steps as the
loop without them. A value that depends on a marked carry in a later step is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.autodiff.final.integers import Integers
from autojit.ir.autodiff.linearize import forward
from autojit.ir.autodiff.partition import depends
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops.bodies import chosen, groups, grown, or_zero


class Moving:
    """Which constants, carries and streams (by sweep) are marked."""

    def __init__(self, constants: list[bool]) -> None:
        self.constants = constants
        self.carries: list[list[bool]] = []
        self.streams: list[list[bool]] = []

    def inputs(self, k: int) -> list[bool]:
        """Return the marks of the inputs of a sweep's body."""
        before = [m for s in self.streams[:k] for m in s]
        return [*self.constants, *before, *self.carries[k]]


def moving_of(
    params: dict[str, Any], marked: Sequence[bool], *, inexact: bool = False,
    everything: bool = False,
) -> Moving:  # fmt: skip
    """Return the parts that depend on the marked operands (all carries with ``everything``)."""
    constants, *starts, _ = groups(marked, params["constants"], *params["carries"])
    found = Moving(constants)
    for body, start in zip(params["sweeps"], starts, strict=True):
        before = [m for s in found.streams for m in s]

        def step(marks: list[bool], body: Program = body, before: list[bool] = before) -> Any:
            return depends(body, [*constants, *before, *marks], inexact=inexact)[: len(marks)]

        mine = [True] * len(start) if everything else grown(start, step)
        found.carries.append(mine)
        out = depends(body, [*constants, *before, *mine], inexact=inexact)
        found.streams.append(out[len(mine) :])
    return found


def forward_params(
    params: dict[str, Any], moving: Moving, split: bool, around: Integers | None = None
) -> dict[str, Any]:
    """Return parameters with bodies that carry values, then tangents, and likewise in streams.

    ``around`` has the known facts about integers among the inputs of the first body.
    """
    n = params["constants"]
    dn = sum(moving.constants)
    sweeps, counts = [], []
    stream_types: list[list[Type]] = []
    for k, (body, m) in enumerate(zip(params["sweeps"], params["carries"], strict=True)):
        marks = moving.inputs(k)
        wrt = [i for i, moves in enumerate(marks) if moves]
        made, active = forward(body, wrt, split=split, around=None if k else around)
        outs = len(body.outputs)
        builder = Builder()
        with building(builder):
            c = [Value(t) for t in body.in_types[:n]]
            dc = [Value(v.type) for v in chosen(c, moving.constants)]
            s, ds = [], []
            order: list[Value] = [*c, *dc]
            for types, ms in zip(stream_types, moving.streams, strict=False):
                values = [Value(t) for t in types]
                d_values = [Value(v.type) for v in chosen(values, ms)]
                s += values
                ds += d_values
                order += [*values, *d_values]
            ks = [Value(t) for t in body.in_types[len(body.inputs) - m :]]
            dk = [Value(v.type) for v in chosen(ks, moving.carries[k])]
            order += [*ks, *dk]
            results = builder.inline(made, [*c, *s, *ks, *dc, *ds, *dk])
            tangents = dict(zip(active, results[outs:], strict=True))
            marked = [*moving.carries[k], *moving.streams[k]]
            d_outs = [
                or_zero(tangents.get(j), v.type) if marked[j] else None
                for j, v in enumerate(results[:outs])
            ]
            outputs = [
                *results[:m], *(t for t in d_outs[:m] if t is not None),
                *results[m:outs], *(t for t in d_outs[m:] if t is not None),
            ]  # fmt: skip
        sweeps.append(builder.finish(order, outputs, name=body.name))
        counts.append(m + len(dk))
        stream_types.append(list(body.out_types[m:]))
    return {
        **params,
        "sweeps": tuple(sweeps),
        "carries": tuple(counts),
        "constants": n + dn,
        "condition": widened(params["condition"], n, moving),
    }


def widened(condition: Program, n: int, moving: Moving) -> Program:
    """Return the condition as a program that also takes the tangents."""
    c, k = groups(condition.inputs, n)
    extra_c = [Value(v.type) for v in chosen(c, moving.constants)]
    extra_k = [Value(v.type) for v in chosen(k, moving.carries[0])]
    return Program([*c, *extra_c, *k, *extra_k], condition.ops, condition.outputs,
                   name=condition.name)  # fmt: skip
