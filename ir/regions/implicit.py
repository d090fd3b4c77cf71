"""Solutions of equations: ``linear_solve`` and ``root``.

The derivative of a solution does not depend on how it is found: it comes from the equation that the
solution satisfies (the implicit function theorem). The first operands of both ops are constants,
the closed-over values.

Legal where the result of ``solve`` solves the equation, which is not checked. Derivatives are those
of the exact solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.linearize import linearize
from autojit.ir.autodiff.partition import depends
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.batching import Batched, along
from autojit.ir.core.declaration import Declaration, MaybeValue, require
from autojit.ir.core.errors import no_derivative
from autojit.ir.core.program import Op, Program, Value, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.bodies import check_types, groups, or_zero, run_as_op


class _Solved(Declaration):
    """An op whose results are the solution and the auxiliary results of the program ``solve``."""

    fallible = True  # as its programs are

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return run_as_op(params["solve"], arrays)

    def expand(self, op: Op) -> Program | None:
        solve: Program = op.params["solve"]
        return solve

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        """Solve one system per element of the batch; all unknowns have the batch axis."""
        n = op.params["constants"]
        constants, unknowns = groups(operands, n)
        k = len(unknowns)
        marks = [*(o.batched for o in constants), *[True] * k]
        auxiliary = depends(op.params["solve"], marks)[k:]

        def batched(program: Program | None) -> Program | None:
            if program is None:
                return None
            more = [True] * (len(program.inputs) - len(marks))
            outputs = [True] * k + auxiliary[: len(program.outputs) - k]
            return batch(program, size, [*marks, *more], outputs)

        programs = {name: batched(op.params[name]) for name in self.programs}
        values = [*(o.value for o in constants), *(along(o, size) for o in unknowns)]
        results = current_builder().emit(self, values, {**op.params, **programs})
        return [Batched(r, m) for r, m in zip(results, [*[True] * k, *auxiliary], strict=True)]

    programs: tuple[str, ...] = ()


class LinearSolve(_Solved):
    """``linear_solve(constants…, b…, constants=n, matvec=a, solve=s, transpose_solve=t)``.

    The x with ``matvec(constants…, x…) = b…``, found by ``solve(constants…, b…) -> (x…,
    auxiliary…)``. ``transpose_solve`` solves the transposed system; without it (None) there is no
    reverse mode. The results of the transposed op are cotangents of b.
    """

    programs = ("matvec", "solve", "transpose_solve")
    parameters = ("constants", "matvec", "solve", "transpose_solve")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        vector = types[params["constants"] :]
        for name in self.programs:
            program = params[name]
            if program is not None:
                check_types(f"the inputs of {name} of a linear_solve", types, program.in_types)
                made = program.out_types[: len(vector)]
                check_types(f"the results of {name} of a linear_solve", vector, made)
        require(len(params["matvec"].outputs) == len(vector), "matvec returns a vector like b")
        results: tuple[Type, ...] = params["solve"].out_types
        return results

    def differentiate(
        self,
        operands: Sequence[Value],
        params: dict[str, Any],
        tangents: Sequence[MaybeValue],
        *,
        split: bool,
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        """Derive from A x = b: A dx = db - dA x."""
        n = params["constants"]
        constants, b = groups(operands, n)
        moving, right = groups(tangents, n)
        results = current_builder().emit(self, operands, params)
        x = results[: len(b)]
        moved = _along_constants(params["matvec"], constants, x, moving)
        right = [_difference(db, da) for db, da in zip(right, moved, strict=True)]
        if all(t is None for t in right):
            return results, [None] * len(results)
        seeds = [or_zero(t, v.type) for t, v in zip(right, b, strict=True)]
        plain = {**params, "solve": _first(params["solve"], len(b))}
        made = current_builder().emit(self, [*constants, *seeds], plain)
        return results, [*made, *[None] * (len(results) - len(b))]

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        params, n = op.params, op.params["constants"]
        k = len(op.operands) - n
        if any(linear[:n]) or any(ct is not None for ct in cotangents[k:]):
            raise no_derivative("linear_solve is linear only in b.", op.source)
        if params["transpose_solve"] is None:
            raise no_derivative(
                "Reverse mode of custom_linear_solve needs a solver for the transposed system:\n"
                "    custom_linear_solve(matvec, b, solve, transpose_solve=...)     # or "
                "symmetric=True",
                op.source,
            )
        seeds = [or_zero(ct, v.type) for ct, v in zip(cotangents, op.results, strict=False)]
        backward = {
            "constants": n,
            "matvec": transpose(params["matvec"], n),
            "solve": params["transpose_solve"],
            "transpose_solve": _first(params["solve"], k),
        }
        made = current_builder().emit(self, [*op.operands[:n], *seeds[:k]], backward)
        wanted = zip(made, linear[n:], strict=True)
        return [*[None] * n, *(ct if is_linear else None for ct, is_linear in wanted)]


class Root(_Solved):
    """``root(constants…, guess…, constants=n, f=f, solve=s, tangent_solve=t)``.

    The x with ``f(constants…, x…) = 0``, found by ``solve(constants…, guess…) -> (x…,
    auxiliary…)``. ``tangent_solve(constants…, x…, b…) -> v…`` solves the linear system of f
    linearised at x, with right-hand side b, and is linear in b. The guess has no derivative.
    """

    programs = ("f", "solve", "tangent_solve")
    parameters = ("constants", "f", "solve", "tangent_solve")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        x = types[params["constants"] :]
        f, solve, tangent_solve = (params[name] for name in self.programs)
        check_types("the inputs of f of a root", types, f.in_types)
        check_types("the results of f of a root", x, f.out_types)
        check_types("the inputs of solve of a root", types, solve.in_types)
        check_types("the results of solve of a root", x, solve.out_types[: len(x)])
        check_types("the inputs of tangent_solve", [*types, *x], tangent_solve.in_types)
        check_types("the results of tangent_solve", x, tangent_solve.out_types)
        results: tuple[Type, ...] = solve.out_types
        return results

    def differentiate(
        self,
        operands: Sequence[Value],
        params: dict[str, Any],
        tangents: Sequence[MaybeValue],
        *,
        split: bool,
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        """Derive from f(c, x) = 0: (df/dx) dx = -(df/dc) dc."""
        n = params["constants"]
        constants, guess = groups(operands, n)
        results = current_builder().emit(self, operands, params)
        x = results[: len(guess)]
        moved = _along_constants(params["f"], constants, x, tangents[:n])
        if all(t is None for t in moved):
            return results, [None] * len(results)
        right = [or_zero(_difference(None, t), v.type) for t, v in zip(moved, x, strict=True)]
        made = current_builder().inline(params["tangent_solve"], [*constants, *x, *right])
        return results, [*made, *[None] * (len(results) - len(x))]


def _along_constants(
    program: Program,
    constants: Sequence[Value],
    x: Sequence[Value],
    tangents: Sequence[MaybeValue],
) -> list[MaybeValue]:
    """Return the derivative of ``program(constants…, x…)`` along tangents of the constants."""
    outs = len(program.outputs)
    moved: list[MaybeValue] = [None] * outs
    wrt = [i for i, t in enumerate(tangents) if t is not None]
    if wrt:
        parts = linearize(program, wrt)
        made = current_builder().inline(parts.primal, [*constants, *x])
        given = [t for t in tangents if t is not None]
        pushed = current_builder().inline(parts.linear, [*made[outs:], *given])
        for i, t in zip(parts.active, pushed, strict=True):
            moved[i] = t
    return moved


def _difference(a: MaybeValue, b: MaybeValue) -> MaybeValue:
    if b is None:
        return a
    return -b if a is None else a - b


def _first(program: Program, count: int) -> Program:
    """Return the program without its auxiliary results."""
    if len(program.outputs) == count:
        return program
    return program.with_body(program.ops, program.outputs[:count])


linear_solve = LinearSolve("linear_solve")
root = Root("root")
