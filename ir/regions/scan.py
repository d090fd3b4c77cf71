"""Counted loops: ``scan`` runs a body a known number of times.

The body takes the constants, the index, the carries and one slice of every array that is scanned
over; it returns the next carries and one slice of every array that is stacked. The derivative of a
scan is a scan; the cotangent of one runs in the opposite direction.

Legal where ``length`` is a number: a body runs exactly that often, so values that are the same in
all its steps may be computed before it, if there is a step. Its derivatives and batches make the
same steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.hoist import hoist
from autojit.ir.autodiff.partition import depends
from autojit.ir.core.batching import Batched
from autojit.ir.core.declaration import MaybeValue, require
from autojit.ir.core.program import Op, Program, Value, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops import move
from autojit.ir.ops.bodies import (
    INDEX,
    BodyOp,
    batched_as,
    check_types,
    chosen,
    groups,
    grown,
    others,
    read_inputs,
    run,
)
from autojit.ir.rewriting.bodies import rebuilt
from autojit.ir.rewriting.dce import with_outputs

from .scan_derivatives import differentiate, transposed
from .scan_products import after, before


class Scan(BodyOp):
    """``scan(constants…, carries…, xs…, body=p, constants=n, carries=m, length=k, reverse=r)``.

    ``body(constants…, index, carries…, slices of xs…) -> (carries…, slices of ys…)`` with the
    index 0, 1, … k - 1, or in the opposite order with ``reverse``. The results are the last
    carries, then the stacked ys; slice i of xs and ys belongs to index i.

    ``derivative=True`` says that the carries are tangents or cotangents and the body is linear in
    them: passes may change its rounding, unlike that of a user's loop
    (``distribute_recurrences``).
    """

    parameters = ("body", "carries", "constants", "length", "reverse")
    flags = ("derivative",)

    def initial(self, params: dict[str, Any]) -> range:
        n = params["constants"]
        return range(n, n + params["carries"])

    def read_as(self, op: Op, operand: int) -> list[tuple[Program, int]]:
        return [(op.params["body"], operand + (operand >= op.params["constants"]))]

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        body, length = params["body"], params["length"]
        require(length >= 0, f"scan of length {length}")
        n, m = params["constants"], params["carries"]
        constants, carries, xs = groups(types, n, m)
        require(
            len(types) >= n + m and all(t.shape[:1] == (length,) for t in xs),
            f"scan of length {length} takes {n} constants, {m} carries and arrays with that many "
            f"rows; got {', '.join(map(str, types))}",
        )
        slices = [t.with_shape(t.shape[1:]) for t in xs]
        check_types("the inputs of a scan's body", [*constants, INDEX, *carries, *slices],
                    body.in_types)  # fmt: skip
        next_carries, ys = groups(body.out_types, m)
        check_types("the carries that a scan's body returns", carries, next_carries)
        return (*carries, *(t.with_shape((length, *t.shape)) for t in ys))

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        body, length, m = params["body"], params["length"], params["carries"]
        constants, carries, xs = groups(arrays, params["constants"], m)
        types = body.out_types[m:]
        ys = [np.zeros((length, *t.shape), t.dtype) for t in types]
        order = range(length)[::-1] if params["reverse"] else range(length)
        for i in order:
            made = run(body, [*constants, np.int64(i), *carries, *(x[i] for x in xs)])
            carries = made[:m]
            for stacked, slice_ in zip(ys, made[m:], strict=True):
                stacked[i] = slice_
        results = [*carries, *ys]
        return results[0] if len(results) == 1 else results

    # -- queries of passes --------------------------------------------------------

    def shared(self, op: Op) -> range:
        return range(op.params["constants"])

    def reads(self, op: Op, k: int) -> bool:
        return read_inputs(op.params["body"])[k]

    def without(self, op: Op, replaced: dict[int, Any]) -> Op:
        operands = tuple(v for k, v in enumerate(op.operands) if k not in replaced)
        body = rebuilt(op.params["body"], replaced)
        count = op.params["constants"] - len(replaced)
        return Op(self, operands, {**op.params, "body": body, "constants": count}, op.results,
                  op.source)  # fmt: skip

    def simplified(self, op: Op) -> Op | tuple[Value, ...] | None:
        """Make carries that never change constants, and hoist expensive invariants."""
        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        fixed = [body.inputs[n + 1 + k] is body.outputs[k] for k in range(m)]
        if any(fixed):
            return self._with_constants(op, fixed)
        if len(set(body.outputs[m:])) < len(body.outputs) - m:
            return self._stacked_once(op)
        outer, inner = hoist(body, [i < n for i in range(len(body.inputs))], op.params["length"])
        if not outer.outputs:
            return after(self, op) or before(self, op)
        extra = current_builder().inline(outer, op.operands[:n])
        params = {**op.params, "body": inner, "constants": n + len(extra)}
        return Op(self, (*extra, *op.operands), params, op.results, op.source)

    def _stacked_once(self, op: Op) -> tuple[Value, ...]:
        """Stack a value once if a step returns it twice."""
        body, m = op.params["body"], op.params["carries"]
        once = list(dict.fromkeys(body.outputs[m:]))
        params = {**op.params, "body": body.with_body(body.ops, [*body.outputs[:m], *once])}
        made = current_builder().emit(self, op.operands, params)
        stacks = dict(zip(once, made[m:], strict=True))
        return (*made[:m], *(stacks[v] for v in body.outputs[m:]))

    def _with_constants(self, op: Op, fixed: list[bool]) -> tuple[Value, ...]:
        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        constants, carries, xs = groups(op.operands, n, m)
        ins_c, ins_i, ins_k, ins_x = groups(body.inputs, n, 1, m)
        inputs = [*ins_c, *chosen(ins_k, fixed), *ins_i, *others(ins_k, fixed), *ins_x]
        outputs = [*others(body.outputs[:m], fixed), *body.outputs[m:]]
        params = {
            **op.params, "body": Program(inputs, body.ops, outputs, name=body.name),
            "constants": n + sum(fixed), "carries": m - sum(fixed),
        }  # fmt: skip
        operands = [*constants, *chosen(carries, fixed), *others(carries, fixed), *xs]
        made = iter(current_builder().emit(self, operands, params) if outputs else ())
        first = [k if f else next(made) for k, f in zip(carries, fixed, strict=True)]
        return (*first, *made)

    def reaches(self, op: Op, marked: Sequence[bool], *, inexact: bool = False) -> list[bool]:
        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        constants, carries, xs = groups(marked, n, m)

        def found(marks: list[bool]) -> list[bool]:
            return depends(body, [*constants, False, *marks, *xs], inexact=inexact)

        carries = grown(carries, lambda marks: found(marks)[:m])
        return [*carries, *found(carries)[m:]]

    def narrow(self, op: Op, used: Sequence[bool]) -> Op | None:
        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        # A carry is needed if it is read afterwards, or by the computation of a needed value.
        outputs = list(body.outputs)
        needed = [u and j >= m for j, u in enumerate(used)]
        kept = list(used[:m])
        while True:
            wanted = [v for j, v in enumerate(outputs) if (kept[j] if j < m else needed[j])]
            reached = [
                k or r
                for k, r in zip(
                    kept, read_inputs(with_outputs(body, wanted))[n + 1 :], strict=False
                )
            ]
            if reached == kept:
                break
            kept = reached
        smaller = with_outputs(body, wanted)
        reads = read_inputs(smaller)
        xs = reads[n + 1 + m :]
        if all(kept) and all(used[m:]) and all(xs) and all(reads[:n]):
            return None
        inputs = [
            *chosen(smaller.inputs[:n], reads[:n]), smaller.inputs[n],
            *chosen(smaller.inputs[n + 1 : n + 1 + m], kept),
            *chosen(smaller.inputs[n + 1 + m :], xs),
        ]  # fmt: skip
        constants, carries, rows = groups(op.operands, n, m)
        operands = (*chosen(constants, reads[:n]), *chosen(carries, kept), *chosen(rows, xs))
        params = {
            **op.params, "body": Program(inputs, smaller.ops, smaller.outputs, name=body.name),
            "constants": sum(reads[:n]), "carries": sum(kept),
        }  # fmt: skip
        results = chosen(op.results, [*kept, *used[m:]])
        return Op(self, operands, params, tuple(results), op.source)

    # -- derivatives ------------------------------------------------------------

    def differentiate(
        self,
        operands: Sequence[Value],
        params: dict[str, Any],
        tangents: Sequence[MaybeValue],
        *,
        split: bool,
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        return differentiate(self, operands, params, tangents, split=split)

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        return transposed(self, op, cotangents, linear)

    # -- batching ---------------------------------------------------------------

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        constants, carries, xs = groups([o.batched for o in operands], n, m)
        carries = grown(
            carries, lambda marked: depends(body, [*constants, False, *marked, *xs])[:m]
        )
        marked = [*constants, False, *carries, *xs]
        out = depends(body, marked)
        out[:m] = carries
        new_body = batch(body, size, marked, out)
        c, k, x = groups(operands, n, m)
        rows = [_axis_second(o.value) if o.batched else o.value for o in x]
        values = [*batched_as(c, constants, size), *batched_as(k, carries, size), *rows]
        results = current_builder().emit(self, values, {**op.params, "body": new_body})
        return [
            Batched(_axis_second(r) if is_batched and j >= m else r, is_batched)
            for j, (r, is_batched) in enumerate(zip(results, out, strict=True))
        ]


def _axis_second(value: Value) -> Value:
    """Swap the first two axes."""
    return move.transpose(value, axes=(1, 0, *range(2, value.type.ndim)))


scan = Scan("scan")
