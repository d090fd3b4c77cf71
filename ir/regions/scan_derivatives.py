"""The derivatives of a scan: loops that carry tangents forwards and cotangents backwards.

Legal where the loop makes the same steps: forwards in its order, backwards in the opposite one. The
transpose takes a body that is linear in the tangents among its inputs, which the transposition of
the body checks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.autodiff import zero_cotangents
from autojit.ir.autodiff.hoist import hoist
from autojit.ir.autodiff.linearize import forward
from autojit.ir.autodiff.partition import depends, separate
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.declaration import Declaration, MaybeValue, full
from autojit.ir.core.program import Builder, Op, Program, Value, building, current_builder
from autojit.ir.ops.bodies import (
    INDEX,
    accumulated,
    chosen,
    flags,
    groups,
    grown,
    or_zero,
    others,
    present,
    spread,
)
from autojit.ir.pass_manager.records import phase

from .scan_finals import residuals_of


@phase("derivative of scan")
def differentiate(
    kind: Declaration,
    operands: Sequence[Value],
    params: dict[str, Any],
    tangents: Sequence[MaybeValue],
    *,
    split: bool,
) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
    params = {**params, "body": zero_cotangents.run(params["body"])}
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
    build = _split if split else _forward
    return build(kind, operands, params, wrt, carries, given)


def _forward(
    kind: Declaration, operands: Sequence[Value], params: dict[str, Any], wrt: list[int],
    moving: list[bool], given: list[list[Any]],
) -> tuple[Sequence[Value], Sequence[MaybeValue]]:  # fmt: skip
    """Emit one loop that carries values and tangents."""
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
        kind,
        everything,
        {**params, "body": new_body, "constants": n + dn, "carries": m + dm},
    )
    values, d_values, ys, d_ys = groups(made_results, m, dm, outs - m)
    marked = [*moving, *(j in tangents for j in range(m, outs))]
    return [*values, *ys], spread([*d_values, *d_ys], marked)


def _split(
    kind: Declaration, operands: Sequence[Value], params: dict[str, Any], wrt: list[int],
    moving: list[bool], given: list[list[Any]],
) -> tuple[Sequence[Value], Sequence[MaybeValue]]:  # fmt: skip
    """Emit a loop that also stacks residuals, and a loop that is linear in the tangents."""
    operands, params, wrt = _hoisted(operands, params, wrt)
    body, n, m = params["body"], params["constants"], params["carries"]
    parts, finals = residuals_of(kind, operands, params, wrt)
    outs = len(body.outputs)
    position = {v: i for i, v in enumerate(parts.primal.inputs)}
    residuals = parts.primal.outputs[outs:]
    where = [position.get(v, -1) for v in residuals]
    stacked = [p < 0 or n < p <= n + m for p in where]
    primal = Program(
        parts.primal.inputs[: len(body.inputs)], parts.primal.ops,
        [*parts.primal.outputs[:outs], *chosen(residuals, stacked)], name=parts.primal.name,
    )  # fmt: skip
    results = current_builder().emit(kind, operands, {**params, "body": primal})
    # The linear loop reads the stacked values, and operands of this loop directly.
    stacks = iter(results[outs:])
    fixed: list[Value] = []
    rows: list[Value] = []
    at_index: list[int] = []
    slots: list[tuple[str, int]] = []
    for p, is_stacked in zip(where, stacked, strict=True):
        if p >= len(body.inputs):
            slots.append(("constant", len(fixed)))
            fixed.append(results[finals[p - len(body.inputs)]])
        elif is_stacked or p > n + m:
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
            parts.linear, [*(of[group][j] for group, j in slots), *dc, *dk, *dxs]
        )
        tangents = dict(zip(parts.active, linear_results, strict=True))
        next_d = [or_zero(tangents.get(j), body.outputs[j].type) for j in range(m) if moving[j]]
        moving_ys = [j for j in range(m, outs) if j in tangents]
        outputs = [*next_d, *(tangents[j] for j in moving_ys)]
    linear = builder.finish(inputs, outputs, name=f"{body.name}_linear")
    made = current_builder().emit(
        kind,
        [*fixed, *given[0], *given[1], *rows, *given[2]],
        {
            **params,
            "body": linear,
            "constants": len(fixed) + dn,
            "carries": dm,
            "derivative": True,
        },
    )
    marked = [*moving, *(j in tangents for j in range(m, outs))]
    return results[:outs], spread(made, marked)


def _hoisted(
    operands: Sequence[Value], params: dict[str, Any], wrt: list[int]
) -> tuple[Sequence[Value], dict[str, Any], list[int]]:
    """Compute values that the body derives from constants without tangents before the loop."""
    n = params["constants"]
    fixed_inputs = [i < n and i not in wrt for i in range(len(params["body"].inputs))]
    outer, body = hoist(params["body"], fixed_inputs, params["length"])
    if not outer.outputs:
        return operands, params, wrt
    fixed = [v for i, v in enumerate(operands[:n]) if i not in wrt]
    extra = current_builder().inline(outer, fixed)
    k = len(extra)
    params = {**params, "body": body, "constants": n + k}
    return [*extra, *operands], params, [i + k for i in wrt]


def transposed(
    kind: Declaration, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
) -> Sequence[MaybeValue]:
    body, n, m = op.params["body"], op.params["constants"], op.params["carries"]
    constants, carries, xs = groups(list(linear), n, m)
    in_loop = grown(carries, lambda marked: depends(body, [*constants, False, *marked, *xs])[:m])
    if not all(in_loop):
        op, constants, xs, cotangents = _without_nonlinear_carries(
            kind, op, constants, in_loop, xs, cotangents
        )
    of_constants, of_carries, of_xs = _backward_loop(op, cotangents, constants, xs)
    wanted = groups(list(linear), n, m)
    starts = [
        ct if is_linear else None
        for ct, is_linear in zip(spread(of_carries, in_loop), wanted[1], strict=True)
    ]
    return [*spread(of_constants, wanted[0]), *starts, *spread(of_xs, wanted[2])]


def _without_nonlinear_carries(
    kind: Declaration, op: Op, constants: list[bool], carries: list[bool], xs: list[bool],
    cotangents: Sequence[MaybeValue],
) -> Any:  # fmt: skip
    """Run the nonlinear part first, and stack the values that the linear part needs."""
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
        kind, fixed,
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
    stand_in = Op(kind, operands, params, (), op.source)
    return stand_in, [True] * len(dc), [False] * len(r) + [True] * len(dx), kept


def _backward_loop(
    op: Op, cotangents: Sequence[MaybeValue], constants: list[bool], xs: list[bool]
) -> tuple[list[Value], list[Value], list[Value]]:
    """Emit the loop that carries cotangents in the opposite direction; all its carries are linear.

    Return the cotangents of the linear constants, of the carries and of the linear xs.
    """
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
        sums = accumulated(dc, to_c)
    new_body = builder.finish(inputs, [*sums, *to_k, *to_x], name=f"{body.name}_transpose")
    starts = [full(0, v.type) for v in dc]
    starts += [or_zero(ct, v.type) for ct, v in zip(cotangents[:m], ins_k, strict=True)]
    params = {
        **op.params, "body": new_body, "constants": len(fc), "carries": len(dc) + m,
        "reverse": not op.params["reverse"], "derivative": True,
    }  # fmt: skip
    operands = [*others(c, constants), *starts, *others(x, xs), *present(given)]
    results = current_builder().emit(op.kind, operands, params)
    of_c, of_k, of_x = groups(results, len(dc), m)
    return of_c, of_k, of_x
