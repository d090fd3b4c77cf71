"""Loops with a condition: ``while`` runs a body as long as a condition holds.

How often that is is known when it has run.  So that its derivatives are loops of the same
kind, the op is more than one loop: a first sweep with the condition, and further sweeps of
as many steps, forwards or backwards, that read at each step what earlier sweeps pushed at
that step (their streams).  A plain loop is one sweep.  Its reverse is two: the loop again,
which pushes what the backward sweep needs, and the backward sweep.  The reverse of that
has four, and so on.

Legal where its derivatives make as many steps as it makes.  In a batch an element whose condition
does not hold any more keeps its carries, and no op of a body fails for it.  The op counts as one
that may fail, since it may have no end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.core.batching import Batched
from autojit.ir.core.declaration import MaybeValue, require
from autojit.ir.core.program import Builder, Op, Program, Value, building, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.bodies import (
    BOOL,
    BodyOp,
    check_types,
    chosen,
    flags,
    groups,
    grown,
    or_zero,
    read_inputs,
    run,
    spread,
)


class While(BodyOp):
    """``while(constants…, carries of sweep 0…, carries of sweep 1…, …)``.

    Parameters: ``condition(constants…, carries…) -> bool`` of the first sweep; ``sweeps``, a
    body for each, ``body(constants…, streams of earlier sweeps…, carries…) ->
    (carries…, streams…)``; ``carries``, how many each has; ``backward``, which run from the
    last step to the first; ``constants``, how many there are.  Results are the last carries.
    """

    parameters = ("backward", "carries", "condition", "constants", "sweeps")

    def initial(self, params: dict[str, Any]) -> range:
        n = params["constants"]
        return range(n, n + sum(params["carries"]))

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        sweeps, counts = params["sweeps"], params["carries"]
        require(
            len(sweeps) == len(counts) == len(params["backward"]) > 0 and not params["backward"][0],
            "while takes as many bodies as counts of carries, the first of them forward",
        )
        constants, *carries, rest = groups(types, params["constants"], *counts)
        require(not rest, f"while takes {len(types) - len(rest)} operands, got {len(types)}")
        condition = params["condition"]
        check_types("the inputs of a loop's condition", [*constants, *carries[0]],
                    condition.in_types)  # fmt: skip
        check_types("the result of a loop's condition", [BOOL], condition.out_types)
        streams: list[Type] = []
        for body, mine in zip(sweeps, carries, strict=True):
            check_types("the inputs of a loop's body", [*constants, *streams, *mine], body.in_types)
            check_types("the carries of a loop's body", mine, body.out_types[: len(mine)])
            streams.extend(body.out_types[len(mine) :])
        return tuple(t for mine in carries for t in mine)

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        constants, first, *carries, _ = groups(arrays, params["constants"], *params["carries"])
        sweeps, condition = params["sweeps"], params["condition"]
        steps: list[list[Any]] = []  # the streams at each step
        while run(condition, [*constants, *first])[0]:
            made = run(sweeps[0], [*constants, *first])
            steps.append(made[len(first) :])
            first = made[: len(first)]
        results = list(first)
        later = zip(sweeps[1:], carries, params["backward"][1:], strict=True)
        for body, mine, backward in later:
            for step in reversed(steps) if backward else steps:
                made = run(body, [*constants, *step, *mine])
                step.extend(made[len(mine) :])
                mine = made[: len(mine)]
            results.extend(mine)
        return results[0] if len(results) == 1 else results

    def may_fail(self, op: Op) -> bool:
        return True  # it may have no end

    # -- what passes ask ----------------------------------------------------------

    def shared(self, op: Op) -> range:
        return range(op.params["constants"])

    def reads(self, op: Op, k: int) -> bool:
        return any(read_inputs(b)[k] for b in (op.params["condition"], *op.params["sweeps"]))

    def without(self, op: Op, replaced: dict[int, Any]) -> Op:
        from autojit.ir.rewriting.bodies import rebuilt

        operands = tuple(v for k, v in enumerate(op.operands) if k not in replaced)
        params = {
            **op.params,
            "condition": rebuilt(op.params["condition"], replaced),
            "sweeps": tuple(rebuilt(b, replaced) for b in op.params["sweeps"]),
            "constants": op.params["constants"] - len(replaced),
        }
        return Op(self, operands, params, op.results, op.source)

    def narrow(self, op: Op, used: Sequence[bool]) -> Op | None:
        from .while_narrow import narrowed

        return narrowed(self, op, used)

    def reaches(self, op: Op, marked: Sequence[bool], *, inexact: bool = False) -> list[bool]:
        from autojit.ir.autodiff.partition import depends

        moving = _moving(op.params, marked, inexact=inexact)
        read = [*moving.constants, *moving.carries[0]]
        if not inexact and depends(op.params["condition"], read)[0]:
            return [True] * len(op.results)
        return [m for mine in moving.carries for m in mine]

    # -- derivatives ------------------------------------------------------------

    def differentiate(
        self,
        operands: Sequence[Value],
        params: dict[str, Any],
        tangents: Sequence[MaybeValue],
        *,
        split: bool,
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        """Values and tangents in one loop.

        Where the result is to be transposed, the loop runs by itself first; the other one
        runs it again, since how much it would have to store is not known before.
        """
        moving = _moving(params, flags(tangents), inexact=True)
        constants, *carries, _ = groups(operands, params["constants"], *params["carries"])
        d_constants, *d_carries, _ = groups(tangents, params["constants"], *params["carries"])
        given = [
            [or_zero(t, v.type) if m else None for t, v, m in zip(ts, vs, ms, strict=True)]
            for ts, vs, ms in zip(d_carries, carries, moving.carries, strict=True)
        ]
        active = [chosen(ts, ms) for ts, ms in zip(given, moving.carries, strict=True)]
        dc = [t for t in d_constants if t is not None]
        everything: list[Value] = [*constants, *dc]
        for values, ts in zip(carries, active, strict=True):
            everything += [*values, *(t for t in ts if t is not None)]
        made = current_builder().emit(self, everything, _forward_params(params, moving, split))
        sizes = [n for values, ts in zip(carries, active, strict=True)
                 for n in (len(values), len(ts))]  # fmt: skip
        parts = groups(made, *sizes)
        values = [v for part in parts[:-1:2] for v in part]
        out_tangents = [
            t for part, ms in zip(parts[1::2], moving.carries, strict=True)
            for t in spread(part, ms)
        ]  # fmt: skip
        if split:
            values = list(current_builder().emit(self, operands, params))
        return values, out_tangents

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        from .while_transpose import transposed

        return transposed(self, op, cotangents, linear)

    # -- batching ---------------------------------------------------------------

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        from .while_batch import batched

        return batched(self, op, operands, size)


class _Moving:
    """Which constants, carries and streams (by sweep) are marked."""

    def __init__(self, constants: list[bool]) -> None:
        self.constants = constants
        self.carries: list[list[bool]] = []
        self.streams: list[list[bool]] = []

    def inputs(self, k: int) -> list[bool]:
        """The marks of the inputs of a sweep's body."""
        before = [m for s in self.streams[:k] for m in s]
        return [*self.constants, *before, *self.carries[k]]


def _moving(
    params: dict[str, Any], marked: Sequence[bool], *, inexact: bool = False,
    everything: bool = False,
) -> _Moving:  # fmt: skip
    """What depends on the marked operands (all carries with ``everything``)."""
    from autojit.ir.autodiff.partition import depends

    constants, *starts, _ = groups(marked, params["constants"], *params["carries"])
    found = _Moving(constants)
    for body, start in zip(params["sweeps"], starts, strict=True):
        before = [m for s in found.streams for m in s]

        def step(marks: list[bool], body: Program = body, before: list[bool] = before) -> Any:
            return depends(body, [*constants, *before, *marks], inexact=inexact)[: len(marks)]

        mine = [True] * len(start) if everything else grown(start, step)
        found.carries.append(mine)
        out = depends(body, [*constants, *before, *mine], inexact=inexact)
        found.streams.append(out[len(mine) :])
    return found


def _forward_params(params: dict[str, Any], moving: _Moving, split: bool) -> dict[str, Any]:
    """Bodies that carry values, then tangents; streams of a sweep likewise."""
    from autojit.ir.autodiff.linearize import forward

    n = params["constants"]
    dn = sum(moving.constants)
    sweeps, counts = [], []
    stream_types: list[list[Type]] = []
    for k, (body, m) in enumerate(zip(params["sweeps"], params["carries"], strict=True)):
        marks = moving.inputs(k)
        made, active = forward(body, [i for i, moves in enumerate(marks) if moves], split=split)
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


def widened(condition: Program, n: int, moving: _Moving) -> Program:
    """The condition as a program that also takes the tangents."""
    c, k = groups(condition.inputs, n)
    extra_c = [Value(v.type) for v in chosen(c, moving.constants)]
    extra_k = [Value(v.type) for v in chosen(k, moving.carries[0])]
    return Program([*c, *extra_c, *k, *extra_k], condition.ops, condition.outputs,
                   name=condition.name)  # fmt: skip


while_ = While("while")
