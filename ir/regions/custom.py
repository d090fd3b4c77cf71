"""Functions with user-defined derivatives: ``custom_jvp`` and ``custom_vjp``.

Both are calls of a body. Their derivatives are programs too, traced from the user's rules; ``None``
represents a rule that was not traced, and then there is no derivative. The first operands are
values that the functions close over, for which no rule can provide a derivative.

Legal where rules are linear in their tangents or cotangents; reverse mode rejects others. Whether a
rule is the derivative of the function is not checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from autojit.ir.autodiff.batch import batch
from autojit.ir.autodiff.partition import depends
from autojit.ir.core.batching import Batched
from autojit.ir.core.declaration import Declaration, MaybeValue
from autojit.ir.core.errors import DerivativeError, no_derivative, with_place
from autojit.ir.core.program import Builder, Op, Program, Value, building, current_builder
from autojit.ir.core.types import Type
from autojit.ir.ops.bodies import check_types, chosen, groups, or_zero, run_as_op, spread
from autojit.ir.ops.reduce import sum_


def is_inexact(types: Sequence[Type]) -> list[bool]:
    """Return which types have derivatives."""
    return [t.is_inexact for t in types]


class _Call(Declaration):
    """A call of ``body`` whose derivative is not that of the body."""

    fallible = True  # as its programs are

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        return run_as_op(params["body"], arrays)

    def expand(self, op: Op) -> Program | None:
        body: Program = op.params["body"]
        return body

    def _check_moving(
        self, params: dict[str, Any], rule: str, tangents: Sequence[MaybeValue]
    ) -> None:
        """Raise unless there is a rule, and only arguments have tangents."""
        name, n = params["body"].name, params["constants"]
        for tangent in tangents[:n]:
            if tangent is not None:
                _closed_over(name, tangent)
        if params[rule] is None:
            raise no_derivative(
                f"The order of this derivative of {name} is too high: its rule calls functions "
                "that have custom derivatives themselves, and nested rules are traced only to a "
                "fixed depth."
            )


def _closed_over(name: str, tangent: Value) -> NoReturn:
    raise no_derivative(
        f"{name} has a custom derivative and closes over a value of type {tangent.type} that "
        "depends on a variable of differentiation. Its rule gives no derivative with respect to "
        "that value; pass it as an argument:\n"
        f"    {name}(x, value)      # instead of a closure over value"
    )


class CustomJVP(_Call):
    """``custom_jvp(constants…, primals…, body=p, constants=n, rule=r)``.

    ``body(constants…, primals…) -> outputs…``; ``rule(constants…, primals…, tangents…) ->
    (outputs…, tangents…)``, with tangents of the floating-point primals and outputs.
    """

    parameters = ("body", "constants", "rule")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        body, rule, n = params["body"], params["rule"], params["constants"]
        check_types("the inputs of a function with a custom derivative", types, body.in_types)
        outs: tuple[Type, ...] = body.out_types
        if rule is not None:
            tangents = chosen(types[n:], is_inexact(types[n:]))
            check_types("the inputs of a custom rule", [*types, *tangents], rule.in_types)
            made = [*outs, *chosen(outs, is_inexact(outs))]
            check_types("the results of a custom rule", made, rule.out_types)
        return outs

    def differentiate(
        self,
        operands: Sequence[Value],
        params: dict[str, Any],
        tangents: Sequence[MaybeValue],
        *,
        split: bool,
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        self._check_moving(params, "rule", tangents)
        n, outs = params["constants"], params["body"].out_types
        pairs = zip(tangents[n:], operands[n:], strict=True)
        moving = [or_zero(t, v.type) for t, v in pairs if v.type.is_inexact]
        made = current_builder().inline(params["rule"], [*operands, *moving])
        return made[: len(outs)], spread(made[len(outs) :], is_inexact(outs))

    def reaches(self, op: Op, marked: Sequence[bool], *, inexact: bool = False) -> list[bool]:
        if inexact:
            return super().reaches(op, marked, inexact=True)
        body, rule = op.params["body"], op.params["rule"]
        out = depends(body, marked)
        if rule is None:
            return out
        found, of_tangents = groups(depends(rule, self._rule_marks(op, marked)), len(out))
        placed = spread(of_tangents, is_inexact(body.out_types))
        return [a or b or bool(c) for a, b, c in zip(out, found, placed, strict=True)]

    def _rule_marks(self, op: Op, marked: Sequence[bool]) -> list[bool]:
        """Return the marks of the operands and of their tangents, which have the same marks."""
        n = op.params["constants"]
        primals = op.params["body"].in_types[n:]
        return [*marked, *chosen(marked[n:], is_inexact(primals))]

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        body, rule = op.params["body"], op.params["rule"]
        marks = [o.batched for o in operands]
        out = self.reaches(op, marks)
        if rule is not None:
            outputs = [*out, *chosen(out, is_inexact(body.out_types))]
            rule = batch(rule, size, self._rule_marks(op, marks), outputs)
        params = {**op.params, "body": batch(body, size, marks, out), "rule": rule}
        results = current_builder().emit(self, [o.value for o in operands], params)
        return [Batched(r, m) for r, m in zip(results, out, strict=True)]


class CustomVJP(_Call):
    """``custom_vjp(constants…, primals…, backward=b, body=p, constants=n, forward=f)``.

    ``body(constants…, primals…) -> outputs…``; ``forward(constants…, primals…) -> (outputs…,
    residuals…)``; ``backward(constants…, residuals…, cotangents…) -> cotangents…``, from the
    cotangents of the floating-point outputs to those of the floating-point primals.
    """

    parameters = ("backward", "body", "constants", "forward")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        body, forward, backward = params["body"], params["forward"], params["backward"]
        check_types("the inputs of a function with a custom derivative", types, body.in_types)
        outs: tuple[Type, ...] = body.out_types
        if forward is not None:
            n = params["constants"]
            check_types("the inputs of a forward rule", types, forward.in_types)
            check_types("the outputs of a forward rule", outs, forward.out_types[: len(outs)])
            given = [*types[:n], *forward.out_types[len(outs) :], *chosen(outs, is_inexact(outs))]
            check_types("the inputs of a backward rule", given, backward.in_types)
            wanted = chosen(types[n:], is_inexact(types[n:]))
            check_types("the results of a backward rule", wanted, backward.out_types)
        return outs

    def differentiate(
        self,
        operands: Sequence[Value],
        params: dict[str, Any],
        tangents: Sequence[MaybeValue],
        *,
        split: bool,
    ) -> tuple[Sequence[Value], Sequence[MaybeValue]]:
        self._check_moving(params, "forward", tangents)
        builder, n = current_builder(), params["constants"]
        outs = params["body"].out_types
        made = builder.inline(params["forward"], operands)
        if not any(is_inexact(outs)):
            return made[: len(outs)], [None] * len(outs)
        fixed = [*operands[:n], *made[len(outs) :]]
        pairs = zip(tangents[n:], operands[n:], strict=True)
        moving = [or_zero(t, v.type) for t, v in pairs if v.type.is_inexact]
        linear = {"backward": params["backward"], "constants": len(fixed)}
        pushed = builder.emit(custom_linear, [*fixed, *moving], linear)
        return made[: len(outs)], spread(pushed, is_inexact(outs))

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        body, forward, n = op.params["body"], op.params["forward"], op.params["constants"]
        marks = [o.batched for o in operands]
        # Every output is batched, so that batched and unbatched cotangents need no distinction.
        out = [True] * len(op.results)
        params = {**op.params, "body": batch(body, size, marks)}
        if forward is not None:
            stored = depends(forward, marks)[len(out) :]
            params["forward"] = batch(forward, size, marks, [*out, *stored])
            moving = chosen(marks[n:], is_inexact(body.in_types[n:]))
            params["backward"] = _backward_batched(
                op.params["backward"], size, [*marks[:n], *stored], moving
            )
        results: Sequence[Value] = current_builder().emit(self, [o.value for o in operands], params)
        return results


class CustomLinear(Declaration):
    """``custom_linear(constants…, tangents…, backward=b, constants=n)``: defined by its transpose.

    ``backward(constants…, cotangents of the results…) -> cotangents of the tangents…``. It cannot
    be evaluated: a function with a custom vjp has no forward mode.
    """

    parameters = ("backward", "constants")

    def infer(self, *types: Type, **params: Any) -> tuple[Type, ...]:
        backward, n = params["backward"], params["constants"]
        check_types("the constants of a backward rule", types[:n], backward.in_types[:n])
        check_types("the results of a backward rule", types[n:], backward.out_types)
        results: tuple[Type, ...] = backward.in_types[n:]
        return results

    def evaluate(self, *arrays: Any, **params: Any) -> Any:
        raise _only_reverse(params["backward"], None)

    def expand(self, op: Op) -> Program | None:
        raise _only_reverse(op.params["backward"], op)

    def jvp(self, op: Op, tangents: Sequence[MaybeValue]) -> Sequence[MaybeValue]:
        n = op.params["constants"]
        if any(t is not None for t in tangents[:n]):
            raise _only_reverse(op.params["backward"], op)
        pairs = zip(tangents[n:], op.operands[n:], strict=True)
        moving = [or_zero(t, v.type) for t, v in pairs]
        made: Sequence[Value] = current_builder().emit(self, [*op.operands[:n], *moving], op.params)
        return made

    def transpose(
        self, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
    ) -> Sequence[MaybeValue]:
        n = op.params["constants"]
        given = [or_zero(ct, v.type) for ct, v in zip(cotangents, op.results, strict=True)]
        pulled = current_builder().inline(op.params["backward"], [*op.operands[:n], *given])
        wanted = zip(pulled, linear[n:], strict=True)
        return [*[None] * n, *(ct if is_linear else None for ct, is_linear in wanted)]

    def batch(
        self, op: Op, operands: Sequence[Batched], size: int
    ) -> Value | Sequence[Value | Batched]:
        n = op.params["constants"]
        marks = [o.batched for o in operands]
        backward = _backward_batched(op.params["backward"], size, marks[:n], marks[n:])
        results: Sequence[Value] = current_builder().emit(
            self, [o.value for o in operands], {**op.params, "backward": backward}
        )
        return results


def _backward_batched(
    backward: Program, size: int, constants: list[bool], moving: list[bool]
) -> Program:
    """Batch a backward rule over cotangents; unbatched primals get the sum over the batch."""
    given = len(backward.inputs) - len(constants)
    each = batch(backward, size, [*constants, *[True] * given])
    builder = Builder()
    inputs = [Value(t) for t in each.in_types]
    with building(builder):
        made = builder.inline(each, inputs)
        outputs = [
            ct if is_batched else sum_(ct, axes=(0,))
            for ct, is_batched in zip(made, moving, strict=True)
        ]
    return builder.finish(inputs, outputs, name=backward.name)


def _only_reverse(backward: Program, op: Op | None) -> Exception:
    name = backward.name
    message = (
        f"{name} has a custom vjp, so it has no forward mode (jvp, jacfwd, linearize). Use "
        "reverse mode (grad, vjp, jacrev), or define a rule for tangents instead:\n"
        f"    {name} = custom_jvp({name})\n    {name}.defjvp(rule)"
    )
    return DerivativeError(with_place(message, op.source if op is not None else None))


custom_jvp = CustomJVP("custom_jvp")
custom_vjp = CustomVJP("custom_vjp")
custom_linear = CustomLinear("custom_linear")
