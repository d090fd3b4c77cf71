"""The transpose of a ``while``: its nonlinear parts, then its linear parts backwards.

Legal where the condition does not depend on linear values, and the bodies are linear in their
tangents. Both are checked: DerivativeError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autojit.ir.autodiff.linearize import Linearized
from autojit.ir.autodiff.partition import depends, separate
from autojit.ir.autodiff.residuals import choose_residuals
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.declaration import MaybeValue, full
from autojit.ir.core.errors import no_derivative
from autojit.ir.core.program import Builder, Op, Program, Value, building, current_builder
from autojit.ir.ops.bodies import BodyOp, accumulated, chosen, groups, or_zero, others, spread

from .while_moving import Moving, moving_of


def transposed(
    kind: BodyOp, op: Op, cotangents: Sequence[MaybeValue], linear: Sequence[bool]
) -> Sequence[MaybeValue]:
    """Return the cotangents of the linear operands."""
    params = op.params
    moving = moving_of(params, list(linear))
    _check_condition(params, moving)
    build = _Transposition(params, moving)
    constants, *starts, _ = groups(op.operands, params["constants"], *params["carries"])
    _, *given, _ = groups([None] * params["constants"] + list(cotangents),
                          params["constants"], *params["carries"])  # fmt: skip
    operands = others(constants, moving.constants)
    for values, marks in zip(starts, moving.carries, strict=True):
        operands += others(values, marks)
    sums = [v.type for v in chosen(constants, moving.constants)]
    for k in reversed(range(len(starts))):
        operands += [full(0, t) for t in sums]
        operands += [
            or_zero(ct, v.type)
            for ct, v, moves in zip(given[k], starts[k], moving.carries[k], strict=True)
            if moves
        ]
    made = current_builder().emit(kind, operands, build.params)
    return _collected(made, build, moving, linear, params)


def _check_condition(params: dict[str, Any], moving: Moving) -> None:
    """Raise unless the number of steps is independent of the linear inputs."""
    if depends(params["condition"], [*moving.constants, *moving.carries[0]])[0]:
        raise no_derivative(
            "The condition of a while_loop depends on a tangent, so the loop is not linear. The "
            "tangents that a custom rule returns must be linear in those that it receives. If "
            "the rule uses an iterative solver, call it through custom_linear_solve."
        )


def _collected(
    made: Sequence[Value], build: _Transposition, moving: Moving, linear: Sequence[bool],
    params: dict[str, Any],
) -> list[MaybeValue]:  # fmt: skip
    """Return the final values of the backward sweeps, as cotangents of the operands."""
    parts = groups(made, *build.params["carries"])
    sweeps = len(params["sweeps"])
    n = sum(moving.constants)
    totals: list[Value] = []
    of_carries: list[list[MaybeValue]] = [[] for _ in range(sweeps)]
    for position, k in enumerate(reversed(range(sweeps))):
        sums, rest, _ = groups(parts[sweeps + position], n, sum(moving.carries[k]))
        totals = [a + b for a, b in zip(totals, sums, strict=True)] if totals else sums
        of_carries[k] = list(spread(rest, moving.carries[k]))
    found: list[MaybeValue] = list(spread(totals, moving.constants))
    for mine in of_carries:
        found += mine
    return [ct if is_linear else None for ct, is_linear in zip(found, linear, strict=True)]


class _Transposition:
    """Builds the sweeps: nonlinear ones in order, then transposed ones from the last."""

    def __init__(self, params: dict[str, Any], moving: Moving) -> None:
        self.old, self.moving = params, moving
        self.n = params["constants"]
        self.bodies: list[Program] = []
        self.counts: list[int] = []
        #: Streams of the new op so far, by their origin: ("value", k, j) and ("residual", k, i)
        #: of the nonlinear sweeps, ("cotangent", k, j, reader) of the transposed ones.
        self.streams: list[tuple[Any, ...]] = []
        self.types: dict[tuple[Any, ...], Any] = {}
        #: For each sweep: its linear part, the sources of its residuals, and which of the outputs
        #: that carry cotangents depend on linear inputs.
        self.linear: list[tuple[Program, list[tuple[Any, ...]], list[int]]] = []
        for k in range(len(params["sweeps"])):
            self._nonlinear(k)
        for k in reversed(range(len(params["sweeps"]))):
            self._transposed(k)
        self.params = {
            "sweeps": tuple(self.bodies),
            "carries": tuple(self.counts),
            "backward": (*params["backward"], *(not b for b in reversed(params["backward"]))),
            "constants": self.n - sum(moving.constants),
            "condition": self._condition(),
        }

    def _condition(self) -> Program:
        condition = self.old["condition"]
        c, k = groups(condition.inputs, self.n)
        kept = [*others(c, self.moving.constants), *others(k, self.moving.carries[0])]
        return Program(kept, condition.ops, condition.outputs, name=condition.name)

    def _stream_inputs(self) -> dict[tuple[Any, ...], Value]:
        return {key: Value(self.types[key]) for key in self.streams}

    def _old_streams(self, k: int) -> list[tuple[int, int]]:
        """Return the streams that sweep k of the old op reads, as (sweep, number)."""
        return [(i, j) for i in range(k) for j in range(len(self.moving.streams[i]))]

    def _add_streams(self, keys: list[tuple[Any, ...]], values: Sequence[Value]) -> None:
        for key, value in zip(keys, values, strict=True):
            self.streams.append(key)
            self.types[key] = value.type

    def _nonlinear(self, k: int) -> None:
        body, marks = self.old["sweeps"][k], self.moving.inputs(k)
        marked = [*self.moving.carries[k], *self.moving.streams[k]]
        fixed_outputs = others(body.outputs, marked)
        moved_outputs = chosen(body.outputs, marked)
        parts = separate(Program(body.inputs, body.ops, moved_outputs, name=body.name), marks)
        # Marked outputs that do not depend on linear inputs are zero.
        depending = _linear_outputs(body, marks, moved_outputs)
        n_fixed = len(moved_outputs) - len(depending)
        inputs = others(body.inputs, marks)
        primal = Program(
            inputs, parts.nonlinear.ops,
            [*fixed_outputs, *parts.nonlinear.outputs[n_fixed:]], name=body.name,
        )  # fmt: skip
        is_free = self._free_inputs(k)
        chosen_parts = choose_residuals(
            Linearized(primal, parts.linear, tuple(range(sum(marks))), tuple(depending)), is_free
        )
        self._finish_nonlinear(k, chosen_parts, len(fixed_outputs), depending)

    def _free_inputs(self, k: int) -> list[bool]:
        """Return which inputs the backward sweep can read again: constants and streams do, carries
        do not."""
        marks = self.moving.inputs(k)
        m = self.old["carries"][k]
        is_carry = [False] * (len(marks) - m) + [True] * m
        return [not c for c in others(is_carry, marks)]

    def _finish_nonlinear(self, k: int, parts: Any, fixed: int, depending: list[int]) -> None:
        m = self.old["carries"][k]
        marks = self.moving.inputs(k)
        n = self.n - sum(self.moving.constants)
        old_streams = [("value", i, j) for i, j in self._old_streams(k)
                       if not self.moving.streams[i][j]]  # fmt: skip
        primal = parts.primal
        # The source of each residual: a constant, a stream, or a value pushed here.
        position = {v: i for i, v in enumerate(primal.inputs)}
        sources: list[tuple[Any, ...]] = []
        pushed: list[Value] = []
        for v in primal.outputs[fixed:]:
            i = position.get(v, len(marks))
            if i < n:
                sources.append(("constant", i))
            elif i < n + len(old_streams):
                sources.append(old_streams[i - n])
            else:
                sources.append(("residual", k, len(pushed)))
                pushed.append(v)
        streams = self._stream_inputs()
        c, s, own = groups(primal.inputs, n, len(old_streams))
        replaced = dict(zip(old_streams, s, strict=True))
        inputs = [*c, *(replaced.get(key, v) for key, v in streams.items()), *own]
        carries = len(others(range(m), self.moving.carries[k]))
        outputs = [*primal.outputs[:fixed], *pushed]
        self.bodies.append(Program(inputs, primal.ops, outputs, name=primal.name))
        self.counts.append(carries)
        own_streams = [j for j, moves in enumerate(self.moving.streams[k]) if not moves]
        keys = [("value", k, j) for j in own_streams]
        keys += [("residual", k, i) for i in range(len(pushed))]
        self._add_streams(keys, outputs[carries:])
        self.linear.append((parts.linear, sources, depending))

    def _transposed(self, k: int) -> None:
        linear, sources, depending = self.linear[k]
        backward = transpose(linear, len(sources))
        moving = self.moving
        m = sum(moving.carries[k])
        moved = [("carry", j) for j, x in enumerate(moving.carries[k]) if x]
        moved += [("stream", j) for j, x in enumerate(moving.streams[k]) if x]
        constants = [v for v, x in zip(self.old["sweeps"][k].inputs, moving.constants,
                                       strict=False)]  # fmt: skip
        builder = Builder()
        with building(builder):
            c = [Value(v.type) for v in others(constants, moving.constants)]
            streams = self._stream_inputs()
            sums = [Value(v.type) for v in chosen(constants, moving.constants)]
            body_carries = self.old["sweeps"][k].out_types[: self.old["carries"][k]]
            dk = [Value(t) for t in chosen(body_carries, moving.carries[k])]
            residuals = [c[key[1]] if key[0] == "constant" else streams[key] for key in sources]
            incoming = self._incoming(k, moved, dk, streams)
            pulled = builder.inline(backward, [*residuals, *(incoming[i] for i in depending)])
            read = [(i, j) for i, j in self._old_streams(k) if moving.streams[i][j]]
            to_c, to_s, to_k = groups(pulled, len(sums), len(read))
            totals = accumulated(sums, to_c)
        keys = [("cotangent", i, j, k) for i, j in read]
        inputs = [*c, *streams.values(), *sums, *dk]
        outputs = [*totals, *to_k, *to_s]
        self.bodies.append(builder.finish(inputs, outputs, name=f"{linear.name}_transpose"))
        self.counts.append(len(sums) + m)
        self._add_streams(keys, to_s)

    def _incoming(
        self, k: int, moved: list[tuple[str, int]], dk: list[Value],
        streams: dict[tuple[Any, ...], Value],
    ) -> list[Value]:  # fmt: skip
        """Return the cotangents of the outputs of sweep k's linear part."""
        result: list[Value] = []
        own = iter(dk)
        types = self.old["sweeps"][k].out_types[self.old["carries"][k] :]
        for what, j in moved:
            if what == "carry":
                result.append(next(own))
                continue
            total: MaybeValue = None
            for key in self.streams:
                if key[:3] == ("cotangent", k, j):
                    total = streams[key] if total is None else total + streams[key]
            result.append(or_zero(total, types[j]))
        return result


def _linear_outputs(body: Program, marks: list[bool], outputs: list[Value]) -> list[int]:
    """Return which of the outputs depend on the marked inputs."""
    found = depends(Program(body.inputs, body.ops, outputs), marks)
    return [i for i, moves in enumerate(found) if moves]
