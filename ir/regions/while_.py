"""Loops with a condition: ``while`` runs a body as long as a condition holds.

The number of steps is known only after it has run. To make its derivatives loops of the same kind,
the op is more than one loop: a first sweep with the condition, and further sweeps of as many steps,
forwards or backwards, that read at each step what earlier sweeps pushed at that step (their
streams).  A plain loop is one sweep.  Its reverse is two: the loop again, which pushes what the
backward sweep needs, and the backward sweep.  The reverse of that has four, and so on.

Legal where its derivatives make as many steps as the loop itself. In a batch, an element whose
condition no longer holds keeps its carries, and no op of a body fails for it. The op counts as one
that may fail, because it may never end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.autodiff.final.integers import Integers, Steps
from autojit.ir.autodiff.partition import depends
from autojit.ir.core.batching import Batched
from autojit.ir.core.declaration import MaybeValue, require
from autojit.ir.core.program import Op, Value, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.bodies import (
    BOOL,
    BodyOp,
    check_types,
    chosen,
    flags,
    groups,
    or_zero,
    read_inputs,
    run,
    spread,
)
from autojit.ir.rewriting.bodies import rebuilt

from .while_batch import batched
from .while_finals import with_finals
from .while_moving import forward_params, moving_of
from .while_narrow import narrowed
from .while_transpose import transposed


class While(BodyOp):
    """``while(constants…, carries of sweep 0…, carries of sweep 1…, …)``.

    Parameters: ``condition(constants…, carries…) -> bool`` of the first sweep; ``sweeps``, a body
    for each, ``body(constants…, streams of earlier sweeps…, carries…) -> (carries…, streams…)``;
    ``carries``, their number in each sweep; ``backward``, which sweeps run from the last step to
    the first; ``constants``, their number. The results are the last carries.
    """

    parameters = ("backward", "carries", "condition", "constants", "sweeps")

    def initial(self, params: dict[str, Any]) -> range:
        n = params["constants"]
        return range(n, n + sum(params["carries"]))

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        sweeps, counts = params["sweeps"], params["carries"]
        require(
            len(sweeps) == len(counts) == len(params["backward"]) > 0 and not params["backward"][0],
            "while takes one body per count of carries, and the first of them must run forward",
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
        return True  # it may not end

    # -- queries of passes --------------------------------------------------------

    def shared(self, op: Op) -> range:
        return range(op.params["constants"])

    def reads(self, op: Op, k: int) -> bool:
        return any(read_inputs(b)[k] for b in (op.params["condition"], *op.params["sweeps"]))

    def leaves_out(self, op: Op, operand: int) -> bool:
        return operand in self.shared(op)  # there may be no step

    def without(self, op: Op, replaced: dict[int, Any]) -> Op:
        operands = tuple(v for k, v in enumerate(op.operands) if k not in replaced)
        params = {
            **op.params,
            "condition": rebuilt(op.params["condition"], replaced),
            "sweeps": tuple(rebuilt(b, replaced) for b in op.params["sweeps"]),
            "constants": op.params["constants"] - len(replaced),
        }
        return Op(self, operands, params, op.results, op.source)

    def narrow(self, op: Op, used: Sequence[bool]) -> Op | None:
        return narrowed(self, op, used)

    def reaches(self, op: Op, marked: Sequence[bool], *, inexact: bool = False) -> list[bool]:
        moving = moving_of(op.params, marked, inexact=inexact)
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
        """Compute values and tangents in one loop.

        If the result will be transposed, the loop first runs alone, and the derivative's loop runs
        it again, because the amount to store is not known in advance.
        """
        moving = moving_of(params, flags(tangents), inexact=True)
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
        if split and len(carries) == 1:
            outer = Integers.here()
            values = list(current_builder().emit(self, operands, params))
            step = Steps(Op(self, tuple(operands), params, tuple(values)), outer).now
            both = forward_params(params, moving, split, step)
            made = with_finals(self, everything, both, values, outer)
            return values, spread(made, moving.carries[0])
        made = current_builder().emit(self, everything, forward_params(params, moving, split))
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
        return transposed(self, op, cotangents, linear)

    # -- batching ---------------------------------------------------------------

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        return batched(self, op, operands, size)


while_ = While("while")
