"""Counted loops: ``scan`` runs a body a known number of times.

The body takes the constants, the index, the carries and one slice of every array that is
scanned over; it returns the next carries and one slice of every array that is stacked.
The derivative of a scan is a scan; the cotangent of one runs the other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..program import Builder, Op, Program, Value, building, current_builder
from ..types import Type
from . import move
from .batching import Batched
from .bodies import (
    INDEX,
    BodyOp,
    batched_as,
    check_types,
    chosen,
    flags,
    groups,
    grown,
    or_zero,
    others,
    present,
    read_inputs,
    run,
    spread,
    with_outputs,
)
from .declaration import MaybeValue, full, require


class Scan(BodyOp):
    """``scan(constants…, carries…, xs…, body=p, constants=n, carries=m, length=k, reverse=r)``.

    ``body(constants…, index, carries…, slices of xs…) -> (carries…, slices of ys…)`` with the
    index 0, 1, … k - 1, or the other way round with ``reverse``.  Results are the last
    carries, then the stacked ys; slice i of xs and ys belongs to index i.
    """

    parameters = ("body", "carries", "constants", "length", "reverse")

    def initial(self, params: dict[str, Any]) -> range:
        n = params["constants"]
        return range(n, n + params["carries"])

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

    # -- what passes ask ----------------------------------------------------------

    def shared(self, op: Op) -> range:
        return range(op.params["constants"])

    def reads(self, op: Op, k: int) -> bool:
        return read_inputs(op.params["body"])[k]

    def without(self, op: Op, replaced: dict[int, Any]) -> Op:
        from ..passes.bodies import rebuilt

        operands = tuple(v for k, v in enumerate(op.operands) if k not in replaced)
        body = rebuilt(op.params["body"], replaced)
        count = op.params["constants"] - len(replaced)
        return Op(self, operands, {**op.params, "body": body, "constants": count}, op.results,
                  op.source)  # fmt: skip

    def simplified(self, op: Op) -> Op | tuple[Value, ...] | None:
        """Carries that never change become constants, and dear invariants are hoisted."""
        from ..transforms.hoist import hoist
        from .scan_products import after, before

        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        fixed = [body.inputs[n + 1 + k] is body.outputs[k] for k in range(m)]
        if any(fixed):
            return self._with_constants(op, fixed)
        outer, inner = hoist(body, [i < n for i in range(len(body.inputs))])
        if not outer.outputs or not op.params["length"]:
            return after(self, op) or before(self, op)
        extra = current_builder().inline(outer, op.operands[:n])
        params = {**op.params, "body": inner, "constants": n + len(extra)}
        return Op(self, (*extra, *op.operands), params, op.results, op.source)

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

    def narrow(self, op: Op, used: Sequence[bool]) -> Op | None:
        from ..transforms.separate import depends

        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        # A carry is needed if it is read afterwards, or for something that is.
        outputs = list(body.outputs)
        needed = [u and j >= m for j, u in enumerate(used)]
        kept = list(used[:m])
        while True:
            wanted = [v for j, v in enumerate(outputs) if (kept[j] if j < m else needed[j])]
            reached = [
                k or any(depends(Program(body.inputs, body.ops, wanted),
                                 [i == n + 1 + j for i in range(len(body.inputs))]))
                for j, k in enumerate(kept)
            ]  # fmt: skip
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
        from ..transforms.separate import depends

        body, n, m = params["body"], params["constants"], params["carries"]
        constants, carries, xs = groups(flags(tangents), n, m)

        def reached(marked: list[bool]) -> list[bool]:
            found = depends(body, [*constants, False, *marked, *xs], inexact=True)
            return found[:m]

        carries = grown(carries, reached)
        wrt = [i for i, moves in enumerate([*constants, False, *carries, *xs]) if moves]
        moving = groups(tangents, n, m)
        starts = [
            or_zero(t, v.type) if moves else None
            for t, v, moves in zip(moving[1], operands[n : n + m], carries, strict=True)
        ]
        given = [chosen(t, c) for t, c in zip([moving[0], starts, moving[2]],
                                              [constants, carries, xs], strict=True)]  # fmt: skip
        build = self._split if split else self._forward
        return build(operands, params, wrt, carries, given)

    def _forward(
        self, operands: Sequence[Value], params: dict[str, Any], wrt: list[int],
        moving: list[bool], given: list[list[Any]],
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:  # fmt: skip
        """One loop that carries values and tangents."""
        from ..transforms.linearize import forward

        body, n, m = params["body"], params["constants"], params["carries"]
        made, active = forward(body, wrt)
        outs = len(body.outputs)
        constants, carries, xs = groups(operands, n, m)
        dn, dm, _ = map(len, given)
        builder = Builder()
        with building(builder):
            sizes = (n, dn, 1, m, dm, len(xs))
            types = groups(body.in_types, n, 1, m)
            d_types = groups([body.in_types[i] for i in wrt], dn, dm)
            order = [types[0], d_types[0], types[1], types[2], d_types[1], types[3], d_types[2]]
            inputs = [Value(t) for group in order for t in group]
            c, dc, i, k, dk, x, dxs = groups(inputs, *sizes)
            results = builder.inline(made, [*c, *i, *k, *x, *dc, *dk, *dxs])
            tangents = dict(zip(active, results[outs:], strict=True))
            next_d = [or_zero(tangents.get(j), body.outputs[j].type) for j in range(m) if moving[j]]
            moving_ys = [j for j in range(m, outs) if j in tangents]
            outputs = [
                *results[:m], *next_d, *results[m:outs], *(tangents[j] for j in moving_ys)
            ]  # fmt: skip
        new_body = builder.finish(inputs, outputs, name=body.name)
        everything = [*constants, *given[0], *carries, *given[1], *xs, *given[2]]
        made_results = current_builder().emit(
            self,
            everything,
            {**params, "body": new_body, "constants": n + dn, "carries": m + dm},
        )
        values, d_values, ys, d_ys = groups(made_results, m, dm, outs - m)
        marked = [*moving, *(j in tangents for j in range(m, outs))]
        return [*values, *ys], spread([*d_values, *d_ys], marked)

    def _split(
        self, operands: Sequence[Value], params: dict[str, Any], wrt: list[int],
        moving: list[bool], given: list[list[Any]],
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:  # fmt: skip
        """A loop that also stacks residuals, and one that is linear in the tangents."""
        from ..transforms.linearize import linearize
        from ..transforms.residuals import choose_residuals

        operands, params, wrt = self._hoisted(operands, params, wrt)
        body, n, m = params["body"], params["constants"], params["carries"]
        is_carry = [n < i <= n + m for i in range(len(body.inputs))]
        parts = choose_residuals(linearize(body, wrt), [not c for c in is_carry])
        outs = len(body.outputs)
        position = {v: i for i, v in enumerate(parts.primal.inputs)}
        residuals = parts.primal.outputs[outs:]
        where = [position.get(v, -1) for v in residuals]
        stacked = [p < 0 or is_carry[p] for p in where]
        primal = parts.primal.with_body(
            parts.primal.ops, [*parts.primal.outputs[:outs], *chosen(residuals, stacked)]
        )
        results = current_builder().emit(self, operands, {**params, "body": primal})
        # The linear loop reads what was stacked, and operands of this one as they are.
        stacks = iter(results[outs:])
        fixed: list[Value] = []
        rows: list[Value] = []
        at_index: list[int] = []
        slots: list[tuple[str, int]] = []
        for p, is_stacked in zip(where, stacked, strict=True):
            if is_stacked or p > n + m:
                slots.append(("row", len(rows)))
                rows.append(next(stacks) if is_stacked else operands[p - 1])
            elif p == n:
                slots.append(("index", 0))
                at_index.append(p)
            else:
                slots.append(("constant", len(fixed)))
                fixed.append(operands[p])
        dn, dm, _ = map(len, given)
        builder = Builder()
        with building(builder):
            d_types = groups([body.in_types[i] for i in wrt], dn, dm)
            order = [
                [v.type for v in fixed], d_types[0], [INDEX], d_types[1],
                [v.type.with_shape(v.shape[1:]) for v in rows], d_types[2],
            ]  # fmt: skip
            inputs = [Value(t) for group in order for t in group]
            f, dc, i, dk, r, dxs = groups(inputs, *map(len, order[:-1]))
            of = {"row": r, "index": i, "constant": f}
            linear_results = builder.inline(
                parts.linear, [*(of[kind][j] for kind, j in slots), *dc, *dk, *dxs]
            )
            tangents = dict(zip(parts.active, linear_results, strict=True))
            next_d = [or_zero(tangents.get(j), body.outputs[j].type) for j in range(m) if moving[j]]
            moving_ys = [j for j in range(m, outs) if j in tangents]
            outputs = [*next_d, *(tangents[j] for j in moving_ys)]
        linear = builder.finish(inputs, outputs, name=f"{body.name}_linear")
        made = current_builder().emit(
            self,
            [*fixed, *given[0], *given[1], *rows, *given[2]],
            {**params, "body": linear, "constants": len(fixed) + dn, "carries": dm},
        )
        marked = [*moving, *(j in tangents for j in range(m, outs))]
        return results[:outs], spread(made, marked)

    def _hoisted(
        self, operands: Sequence[Value], params: dict[str, Any], wrt: list[int]
    ) -> tuple[Sequence[Value], dict[str, Any], list[int]]:
        """What the body computes from constants that have no tangents is computed before it."""
        from ..transforms.hoist import hoist

        n = params["constants"]
        fixed_inputs = [i < n and i not in wrt for i in range(len(params["body"].inputs))]
        outer, body = hoist(params["body"], fixed_inputs)
        if not outer.outputs:
            return operands, params, wrt
        fixed = [v for i, v in enumerate(operands[:n]) if i not in wrt]
        extra = current_builder().inline(outer, fixed)
        k = len(extra)
        params = {**params, "body": body, "constants": n + k}
        return [*extra, *operands], params, [i + k for i in wrt]

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        from ..transforms.separate import depends

        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        constants, carries, xs = groups(list(linear), n, m)
        in_loop = grown(
            carries, lambda marked: depends(body, [*constants, False, *marked, *xs])[:m]
        )
        if not all(in_loop):
            op, constants, xs, cotangents = self._without_nonlinear_carries(
                op, constants, in_loop, xs, cotangents
            )
        of_constants, of_carries, of_xs = _transposed(op, cotangents, constants, xs)
        wanted = groups(list(linear), n, m)
        starts = [
            ct if is_linear else None
            for ct, is_linear in zip(spread(of_carries, in_loop), wanted[1], strict=True)
        ]
        return [*spread(of_constants, wanted[0]), *starts, *spread(of_xs, wanted[2])]

    def _without_nonlinear_carries(
        self, op: Op, constants: list[bool], carries: list[bool], xs: list[bool],
        cotangents: Sequence[MaybeValue],
    ) -> Any:  # fmt: skip
        """Run what is not linear first, and stack what the linear part needs of it."""
        from ..transforms.separate import depends, separate

        body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
        marked = [*constants, False, *carries, *xs]
        parts = separate(body, marked)
        is_linear_out = depends(body, marked)
        c, k, x = groups(op.operands, n, m)
        fixed = [*others(c, constants), *others(k, carries), *others(x, xs)]
        m1 = len(others(k, carries))
        outs = others(range(len(body.outputs)), is_linear_out)
        fixed_ys = [j for j in outs if j >= m]
        primal = parts.nonlinear
        at = {j: primal.outputs[i] for i, j in enumerate(outs)}
        stacked = primal.outputs[len(outs) :]
        first = primal.with_body(
            primal.ops,
            [*(at[j] for j in range(m) if not carries[j]), *(at[j] for j in fixed_ys), *stacked],
        )
        results = current_builder().emit(
            self, fixed,
            {**op.params, "body": first, "constants": len(others(c, constants)), "carries": m1},
        )  # fmt: skip
        rows = results[m1 + len(fixed_ys) :]
        builder = Builder()
        with building(builder):
            order = [
                [v.type for v in chosen(c, constants)], [INDEX],
                [v.type for v in chosen(k, carries)],
                [v.type for v in stacked],
                [v.type.with_shape(v.shape[1:]) for v in chosen(x, xs)],
            ]  # fmt: skip
            inputs = [Value(t) for group in order for t in group]
            dc, _, dk, r, dx = groups(inputs, *map(len, order[:-1]))
            made = builder.inline(parts.linear, [*r, *dc, *dk, *dx])
            of = dict(zip(chosen(range(len(body.outputs)), is_linear_out), made, strict=True))
            outputs = [or_zero(of.get(j), body.outputs[j].type) for j in range(m) if carries[j]]
            outputs += [of[j] for j in range(m, len(body.outputs)) if j in of]
        linear_body = builder.finish(inputs, outputs, name=body.name)
        operands = (*chosen(c, constants), *chosen(k, carries), *rows, *chosen(x, xs))
        params = {**op.params, "body": linear_body, "constants": len(dc), "carries": len(dk)}
        kept = [
            ct for j, ct in enumerate(cotangents)
            if (carries[j] if j < m else is_linear_out[j])
        ]  # fmt: skip
        stand_in = Op(self, operands, params, (), op.source)
        return stand_in, [True] * len(dc), [False] * len(r) + [True] * len(dx), kept

    # -- batching ---------------------------------------------------------------

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        from ..transforms.batch import batch
        from ..transforms.separate import depends

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
    """The first two axes change places."""
    return move.transpose(value, axes=(1, 0, *range(2, value.type.ndim)))


def _transposed(
    op: Op, cotangents: Sequence[MaybeValue], constants: list[bool], xs: list[bool]
) -> tuple[list[Value], list[Value], list[Value]]:
    """The loop that carries cotangents the other way; all of its carries are linear.

    Returns the cotangents of the linear constants, of the carries and of the linear xs.
    """
    from ..transforms.transpose import transpose

    body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
    c, _, x = groups(op.operands, n, m)
    ins_c, (index,), ins_k, ins_x = groups(body.inputs, n, 1, m)
    given = cotangents[m:]
    outputs = [*body.outputs[:m], *chosen(body.outputs[m:], flags(given))]
    fixed = [*others(ins_c, constants), index, *others(ins_x, xs)]
    linear_inputs = [*chosen(ins_c, constants), *ins_k, *chosen(ins_x, xs)]
    backward = transpose(
        Program([*fixed, *linear_inputs], body.ops, outputs, name=body.name), len(fixed)
    )
    builder = Builder()
    with building(builder):
        order = [
            [v.type for v in others(ins_c, constants)], [INDEX],
            [v.type for v in chosen(ins_c, constants)], [v.type for v in ins_k],
            [v.type for v in others(ins_x, xs)], [v.type for v in outputs[m:]],
        ]  # fmt: skip
        inputs = [Value(t) for group in order for t in group]
        fc, i, dc, dk, fx, dy = groups(inputs, *map(len, order[:-1]))
        pulled = builder.inline(backward, [*fc, *i, *fx, *dk, *dy])
        to_c, to_k, to_x = groups(pulled, len(dc), len(dk))
        sums = [a + b for a, b in zip(dc, to_c, strict=True)]
    new_body = builder.finish(inputs, [*sums, *to_k, *to_x], name=f"{body.name}_transpose")
    starts = [full(0, v.type) for v in dc]
    starts += [or_zero(ct, v.type) for ct, v in zip(cotangents[:m], ins_k, strict=True)]
    params = {
        **op.params, "body": new_body, "constants": len(fc), "carries": len(dc) + m,
        "reverse": not op.params["reverse"],
    }  # fmt: skip
    operands = [*others(c, constants), *starts, *others(x, xs), *present(given)]
    results = current_builder().emit(op.kind, operands, params)
    of_c, of_k, of_x = groups(results, len(dc), m)
    return of_c, of_k, of_x


scan = Scan("scan")
