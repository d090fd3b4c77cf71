"""Branches: ``switch`` runs one of several bodies, chosen by an index.

Legal where only the chosen branch runs, also in derivatives. In a batch of indices all branches run
and one is selected. For elements that do not take a branch, it runs on operands with which no op
fails (``guarded``); if there are none, the elements run one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.final.branches import in_branch
from autojit.ir.autodiff.final.integers import Integers
from autojit.ir.autodiff.final.places import replaced_by
from autojit.ir.autodiff.linearize import forward, linearize
from autojit.ir.autodiff.partition import depends
from autojit.ir.autodiff.residuals import choose_residuals
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.batching import Batched, along
from autojit.ir.core.declaration import MaybeValue, full, require
from autojit.ir.core.program import Builder, Op, Program, Value, building, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.arithmetic import eq, ge, le, select
from autojit.ir.ops.bodies import (
    INDEX,
    BodyOp,
    check_types,
    chosen,
    each_alone,
    flags,
    guarded,
    needs_guard,
    or_zero,
    others,
    present,
    read_inputs,
    run_as_op,
    spread,
)
from autojit.ir.ops.move import broadcast
from autojit.ir.rewriting.bodies import rebuilt
from autojit.ir.rewriting.dce import with_outputs


class Switch(BodyOp):
    """``switch(index, operands…, branches=(p0, p1, …))``: applies branch ``index`` to the operands.

    An index below 0 or beyond the last branch chooses the nearest one.
    """

    parameters = ("branches",)

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        branches = params["branches"]
        require(len(branches) > 0, "switch takes at least one branch")
        check_types("the index of a switch", [INDEX], types[:1])
        for k, branch in enumerate(branches):
            check_types(f"the inputs of branch {k}", types[1:], branch.in_types)
            check_types(f"the results of branch {k}", branches[0].out_types, branch.out_types)
        result: tuple[Type, ...] = branches[0].out_types
        return result

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        branches = params["branches"]
        return run_as_op(branches[int(np.clip(arrays[0], 0, len(branches) - 1))], arrays[1:])

    # -- queries of passes --------------------------------------------------------

    def shared(self, op: Op) -> range:
        return range(1, len(op.operands))

    def reads(self, op: Op, k: int) -> bool:
        return any(read_inputs(b)[k - 1] for b in op.params["branches"])

    def read_as(self, op: Op, operand: int) -> list[tuple[Program, int]]:
        return [(b, operand - 1) for b in op.params["branches"]] if operand else []

    def without(self, op: Op, replaced: dict[int, Any]) -> Op:
        operands = tuple(v for k, v in enumerate(op.operands) if k not in replaced)
        inner = {k - 1: w - 1 if isinstance(w, int) else w for k, w in replaced.items()}
        branches = tuple(rebuilt(b, inner) for b in op.params["branches"])
        return Op(self, operands, {"branches": branches}, op.results, op.source)

    def narrow(self, op: Op, used: Sequence[bool]) -> Op | None:
        if all(used):
            return None
        branches = tuple(with_outputs(b, chosen(b.outputs, used)) for b in op.params["branches"])
        results = tuple(chosen(op.results, used))
        return Op(self, op.operands, {"branches": branches}, results, op.source)

    def reaches(self, op: Op, marked: Sequence[bool], *, inexact: bool = False) -> list[bool]:
        if marked[0] and not inexact:
            return [True] * len(op.results)
        found = [depends(b, marked[1:], inexact=inexact) for b in op.params["branches"]]
        return [any(column) for column in zip(*found, strict=True)]

    # -- derivatives ------------------------------------------------------------

    def differentiate(
        self,
        operands: Sequence[Value],
        params: dict[str, Any],
        tangents: Sequence[MaybeValue],
        *,
        split: bool,
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        wrt = [i for i, t in enumerate(tangents[1:]) if t is not None]
        given = [t for t in tangents[1:] if t is not None]
        build = self._split if split else self._forward
        return build(operands, params["branches"], wrt, given)

    def _forward(
        self, operands: Sequence[Value], branches: Sequence[Program], wrt: list[int],
        given: list[Value],
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:  # fmt: skip
        parts = [forward(b, wrt) for b in branches]
        outs = len(branches[0].outputs)
        moving = sorted({i for _, active in parts for i in active})
        made = [_padded(p.program, outs, p.active, moving, branches[0].out_types) for p in parts]
        results = current_builder().emit(self, [*operands, *given], {"branches": tuple(made)})
        marked = [j in moving for j in range(outs)]
        return results[:outs], spread(results[outs:], marked)

    def _split(
        self, operands: Sequence[Value], branches: Sequence[Program], wrt: list[int],
        given: list[Value],
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:  # fmt: skip
        """Emit the split with shared slots for the branches' residuals: one branch runs, and the
        residuals of the others are zero. Returned values are residuals without a slot.
        """
        n, outs = len(operands) - 1, len(branches[0].outputs)
        around = Integers.here()
        whole = Op(self, tuple(operands), {"branches": branches}, ())
        known = [in_branch(whole, k, around) for k in range(len(branches))]
        parts = [
            choose_residuals(linearize(b, wrt, k), [True] * n, kept=True, changed=replaced_by(b))
            for b, k in zip(branches, known, strict=True)
        ]
        moving = sorted({i for p in parts for i in p.active})
        slots: list[Type] = []
        places = [_places(p.primal, outs, slots) for p in parts]
        primals = []
        for p, where in zip(parts, places, strict=True):
            of = {
                w - n: v
                for w, v in zip(where, p.primal.outputs[outs:], strict=True) if w >= n
            }  # fmt: skip
            builder = Builder()
            inputs = [Value(t) for t in p.primal.in_types]
            with building(builder):
                shown = p.primal.with_body(p.primal.ops, [*p.primal.outputs[:outs], *of.values()])
                made = builder.inline(shown, inputs)
                stored = dict(zip(of, made[outs:], strict=True))
                fill = [or_zero(stored.get(j), t) for j, t in enumerate(slots)]
            primals.append(builder.finish(inputs, [*made[:outs], *fill], name=p.primal.name))
        results = current_builder().emit(self, operands, {"branches": tuple(primals)})
        linears = []
        for p, where in zip(parts, places, strict=True):
            builder = Builder()
            with building(builder):
                fixed = [Value(v.type) for v in operands[1:]] + [Value(t) for t in slots]
                fixed += [Value(v.type) for v in reversed(results[:outs])]
                moved = [Value(v.type) for v in given]
                made = builder.inline(p.linear, [*(fixed[w] for w in where), *moved])
                of_out = dict(zip(p.active, made, strict=True))
                outputs = [or_zero(of_out.get(j), branches[0].out_types[j]) for j in moving]
            linears.append(builder.finish([*fixed, *moved], outputs, name=p.linear.name))
        everything = [*operands, *results[outs:], *reversed(results[:outs]), *given]
        tangents: Sequence[Value] = ()
        if moving:
            tangents = current_builder().emit(self, everything, {"branches": tuple(linears)})
        return results[:outs], spread(tangents, [j in moving for j in range(outs)])

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        marks = list(linear[1:])
        fixed = others(op.operands[1:], marks)
        there = flags(cotangents)
        branches = [_transposed(b, marks, there) for b in op.params["branches"]]
        operands = [op.operands[0], *fixed, *present(cotangents)]
        made = current_builder().emit(self, operands, {"branches": tuple(branches)})
        return [None, *spread(made, marks)]

    # -- batching ---------------------------------------------------------------

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        index, *rest = operands
        marks = [o.batched for o in rest]
        branches = op.params["branches"]
        values = [o.value for o in rest]
        if not index.batched:
            found = [depends(b, marks) for b in branches]
            out = [any(f[j] for f in found) for j in range(len(op.results))]
            made = tuple(batch(b, size, marks, out) for b in branches)
            results = current_builder().emit(self, [index.value, *values], {"branches": made})
            return [Batched(r, m) for r, m in zip(results, out, strict=True)]
        # Elements take different branches: all branches run, but fail only for their own elements.
        made_all = []
        for k, branch in enumerate(branches):
            safe = guarded(branch) if needs_guard(branch) else branch
            if safe is None:
                return each_alone(op, operands, size)
            guards = [] if safe is branch else [_is_chosen(index.value, k, len(branches))]
            batched = [*[True] * len(guards), *marks]
            whole = batch(safe, size, batched) if any(batched) else safe
            made_by = current_builder().inline(whole, [*guards, *values])
            made_all.append([along(Batched(v, any(batched)), size) for v in made_by])
        return [_select(index.value, each) for each in zip(*made_all, strict=True)]


def _select(index: Value, cases: Sequence[Value]) -> Value:
    result = cases[-1]
    for k in reversed(range(len(cases) - 1)):
        here = _at_most(index, k)
        if result.type.ndim > 1:
            here = broadcast(here, shape=result.shape, dims=(0,))
        result = select(here, cases[k], result)
    return result


def _is_chosen(index: Value, branch: int, count: int) -> Value:
    if branch == count - 1:
        return ge(index, full(branch, index.type))
    return _at_most(index, branch)


def _at_most(index: Value, k: int) -> Value:
    return eq(index, k) if k else le(index, 0)


def _padded(
    program: Program, outs: int, active: Sequence[int], moving: Sequence[int],
    types: Sequence[Type],
) -> Program:  # fmt: skip
    """Return a forward program that returns a tangent for each output in ``moving``."""
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    with building(builder):
        made = builder.inline(program, inputs)
        of = dict(zip(active, made[outs:], strict=True))
        tangents = [or_zero(of.get(j), types[j]) for j in moving]
    return builder.finish(inputs, [*made[:outs], *tangents], name=program.name)


def _places(primal: Program, outs: int, slots: list[Type]) -> list[int]:
    """Return the place of each residual: the number of an input; beyond these, that of a slot; or,
    counted from the end, that of an output.

    A slot is added if those of a type run out.
    """
    n = len(primal.inputs)
    position = {v: ~j for j, v in enumerate(primal.outputs[:outs])}
    position |= {v: i for i, v in enumerate(primal.inputs)}
    taken: set[int] = set()
    places = []
    for v in primal.outputs[outs:]:
        if v in position:
            places.append(position[v])
            continue
        open_slots = (j for j, t in enumerate(slots) if t == v.type and j not in taken)
        slot = next(open_slots, len(slots))
        if slot == len(slots):
            slots.append(v.type)
        taken.add(slot)
        places.append(n + slot)
    return places


def _transposed(branch: Program, marks: list[bool], there: list[bool]) -> Program:
    """Return ``(nonlinear operands, cotangents) -> cotangents of the linear operands``."""
    fixed = others(branch.inputs, marks)
    inputs = [*fixed, *chosen(branch.inputs, marks)]
    outputs = chosen(branch.outputs, there)
    return transpose(Program(inputs, branch.ops, outputs, name=branch.name), len(fixed))


switch = Switch("switch")
