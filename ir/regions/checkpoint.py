"""Calls whose values reverse mode recomputes instead of storing.

Legal where a body computes the same values again from the same operands, as every program does.
Nothing changes in the results of derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.linearize import forward, linearize
from autojit.ir.autodiff.partition import depends
from autojit.ir.autodiff.residuals import choose_residuals
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.batching import Batched
from autojit.ir.core.declaration import MaybeValue, require
from autojit.ir.core.program import Op, Program, Value, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.bodies import (
    BodyOp,
    check_types,
    chosen,
    flags,
    others,
    read_inputs,
    run_as_op,
    spread,
)
from autojit.ir.ops.contract import Dot
from autojit.ir.rewriting.dce import with_outputs


def _is_product(op: Op) -> bool:
    return isinstance(op.kind, Dot)


#: The operations that may be recomputed; the results of others are stored, or smaller values
#: computed from them.
POLICIES: dict[str, Callable[[Op], bool]] = {
    "nothing": lambda op: True,
    "everything": lambda op: False,
    "dots": lambda op: not _is_product(op),
    "dots_with_no_batch_dims": lambda op: not _is_product(op) or bool(op.params["batch"][0]),
}


class Checkpoint(BodyOp):
    """``checkpoint(operands…, body=p, keep=k, policy=s)``: the body applied to the operands.

    Its derivative is linear in the tangents. It recomputes the values that it needs from the
    operands and from the values that the policy stores. ``keep`` marks such an op: it stays a call,
    so that its values are not merged with equal earlier ones; the others are inlined.
    """

    parameters = ("body", "keep", "policy")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        body = params["body"]
        require(params["policy"] in POLICIES, f"there is no policy {params['policy']!r}")
        check_types("the inputs of a checkpoint's body", types, body.in_types)
        results: tuple[Type, ...] = body.out_types
        return results

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return run_as_op(params["body"], arrays)

    def expand(self, op: Op) -> Program | None:
        return None if op.params["keep"] else op.params["body"]

    def narrow(self, op: Op, used: Sequence[bool]) -> Op | None:
        smaller = with_outputs(op.params["body"], chosen(op.params["body"].outputs, used))
        reads = read_inputs(smaller)
        if all(used) and all(reads):
            return None
        body = Program(
            chosen(smaller.inputs, reads), smaller.ops, smaller.outputs, name=smaller.name
        )
        results = tuple(chosen(op.results, used))
        operands = tuple(chosen(op.operands, reads))
        return Op(self, operands, {**op.params, "body": body}, results, op.source)

    def reaches(self, op: Op, marked: Sequence[bool], *, inexact: bool = False) -> list[bool]:
        return depends(op.params["body"], marked, inexact=inexact)

    # -- derivatives ------------------------------------------------------------

    def differentiate(
        self,
        operands: Sequence[Value],
        params: dict[str, Any],
        tangents: Sequence[MaybeValue],
        *,
        split: bool,
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        wrt = [i for i, t in enumerate(tangents) if t is not None]
        given = [t for t in tangents if t is not None]
        build = self._split if split else self._forward
        results, moved, active = build(operands, params, wrt, given)
        marked = [j in active for j in range(len(results))]
        return results, spread(moved, marked)

    def _forward(
        self, operands: Sequence[Value], params: dict[str, Any], wrt: list[int],
        given: list[Value],
    ) -> tuple[Sequence[Value], Sequence[Value], Sequence[int]]:  # fmt: skip
        made, active = forward(params["body"], wrt)
        outs = len(params["body"].outputs)
        results = current_builder().emit(self, [*operands, *given], {**params, "body": made})
        return results[:outs], results[outs:], active

    def _split(
        self, operands: Sequence[Value], params: dict[str, Any], wrt: list[int],
        given: list[Value],
    ) -> tuple[Sequence[Value], Sequence[Value], Sequence[int]]:  # fmt: skip
        """Write the call with the stored values, and a call linear in the tangents that recomputes
        the rest."""
        body, builder = params["body"], current_builder()
        again = POLICIES[params["policy"]]
        parts = choose_residuals(linearize(body, wrt), [True] * len(operands), again)
        primal, outs = parts.primal, len(body.outputs)
        position = {v: i for i, v in enumerate(primal.inputs)}
        residuals = primal.outputs[outs:]
        stored = [v not in position for v in residuals]
        shown = primal.with_body(primal.ops, [*primal.outputs[:outs], *chosen(residuals, stored)])
        results = builder.emit(self, operands, {**params, "body": shown})
        kept = iter(results[outs:])
        values = [operands[position[v]] if v in position else next(kept) for v in residuals]
        linear = {**params, "body": parts.linear, "keep": True}
        moved = builder.emit(self, [*values, *given], linear) if parts.active else ()
        return results[:outs], moved, parts.active

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        body, there = op.params["body"], flags(cotangents)
        fixed = others(body.inputs, linear)
        inputs = [*fixed, *chosen(body.inputs, linear)]
        shown = Program(inputs, body.ops, chosen(body.outputs, there), name=body.name)
        backward = transpose(shown, len(fixed))
        seeds = [ct for ct in cotangents if ct is not None]
        made = current_builder().emit(
            self, [*others(op.operands, linear), *seeds], {**op.params, "body": backward}
        )
        return spread(made, linear)

    # -- batching ---------------------------------------------------------------

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        marks = [o.batched for o in operands]
        out = self.reaches(op, marks)
        made = batch(op.params["body"], size, marks, out)
        values = [o.value for o in operands]
        results = current_builder().emit(self, values, {**op.params, "body": made})
        return [Batched(r, m) for r, m in zip(results, out, strict=True)]


checkpoint = Checkpoint("checkpoint")
