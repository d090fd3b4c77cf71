"""A compiled function as two programs: a forward one, which stores residuals, and a backward one.

A minimum cut chooses the stored values so that their bytes are fewest
(``ir/autodiff/residuals.py``); the function's inputs are available anyway.  If the backward pass
is itself recorded, it recomputes the function instead, because derivatives must reach its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.autodiff.linearize import Linearized, linearize
from autojit.ir.autodiff.partition import needed
from autojit.ir.autodiff.residuals import choose_residuals
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.program import Builder, Program, Value, building

from .rules import Operation, applied, made_rule, runner
from .running import Source, conjugated, conjugated_call, is_complex


class Halves:
    """The programs of a function whose inputs in ``wrt`` need gradients.

    ``forward``  returns the function's results, then the residuals, as a tuple
    ``results``  how many results the function has
    ``backward``  returns the cotangents of the inputs
    ``rule``  propagates cotangents backward; it reads residuals as ``("residual", k)``
    """

    def __init__(self, operation: Operation, program: Program, wrt: Sequence[int]) -> None:
        whole = linearize(program, wrt)
        parts = choose_residuals(whole, [True] * len(whole.primal.inputs))
        self.results = n = len(program.outputs)
        outputs, residuals = parts.primal.outputs[:n], parts.primal.outputs[n:]
        places = _places(parts.primal, outputs)
        stored = [v for v in dict.fromkeys(residuals) if v not in places]
        places.update({v: ("residual", k) for k, v in enumerate(stored)})
        forward = parts.primal.with_body(parts.primal.ops, [*outputs, *stored])
        run_forward = runner(forward, at_once=True)
        self.forward: Operation = Operation(
            operation.name, lambda *arrays: tuple(run_forward(arrays))
        )

        self.backward, sources = _backward(parts, [places[v] for v in residuals])
        captured = [k for kind, k in sources if kind == "captured"]
        sources = sources[: len(sources) - len(captured)]
        run = runner(self.backward, tuple(program.captured[k] for k in captured), at_once=True)
        again, read = _computed_again(program, whole)
        call = applied(again, program.captured, at_once=True)
        if is_complex(program):
            run, call = conjugated(run, sources), conjugated_call(call, read)
        pull = Operation(operation.node_name, call)
        self.rule = made_rule(run, pull, sources, read, tuple(wrt), program.out_types)


def _places(primal: Program, outputs: Sequence[Value]) -> dict[Value, Source]:
    """The sources of the values that need not be stored: results, inputs and captured arrays."""
    count = len(primal.inputs) - len(primal.captured)
    places: dict[Value, Source] = {v: ("out", k) for k, v in enumerate(outputs)}
    for k, v in enumerate(primal.inputs):
        places[v] = ("in", k) if k < count else ("captured", k - count)
    return places


def _backward(parts: Linearized, residuals: Sequence[Source]) -> tuple[Program, tuple[Source, ...]]:
    """A program for the cotangents of the inputs, and the sources that it reads, captured arrays
    last."""
    backward = transpose(parts.linear, parts.residuals)
    read: list[Source] = [*residuals, *(("cotangent", k) for k in parts.active)]
    inputs = {s: Value(v.type) for s, v in zip(read, backward.inputs, strict=True)}
    builder = Builder()
    with building(builder):
        results = builder.inline(backward, [inputs[s] for s in read])
    sources = sorted(inputs, key=lambda s: s[0] == "captured")
    made = builder.finish([inputs[s] for s in sources], results, name=backward.name)
    return made, tuple(sources)


def _computed_again(program: Program, whole: Linearized) -> tuple[Program, tuple[Source, ...]]:
    """A program that computes the inputs' cotangents from inputs, the results' cotangents and,
    last, captured arrays; and the sources that it reads."""
    count = len(program.inputs) - len(program.captured)
    inputs = [Value(v.type) for v in program.inputs]
    cotangents = [Value(v.type) for v in program.outputs]
    builder = Builder()
    with building(builder):
        residuals = builder.inline(whole.primal, inputs)[len(cotangents) :]
        backward = transpose(whole.linear, whole.residuals)
        results = builder.inline(backward, [*residuals, *(cotangents[k] for k in whole.active)])
    ops = needed(builder.ops, results)
    read = {v for op in ops for v in op.operands}.union(results)
    sources: dict[Source, Value] = {("in", k): v for k, v in enumerate(inputs[:count]) if v in read}
    sources.update({("cotangent", k): v for k, v in enumerate(cotangents)})
    made = [*sources.values(), *inputs[count:]]
    return Program(made, ops, results, name=program.name), tuple(sources)
