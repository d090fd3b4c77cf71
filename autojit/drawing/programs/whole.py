"""Drawings of programs, and of a reverse pass beside its forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.errors import NonScalarGradientError
from autojit.ir.autodiff.linearize import linearize
from autojit.ir.autodiff.partition import needed
from autojit.ir.autodiff.transpose import transpose
from autojit.ir.core.program import Builder, Op, Program, Value, building
from autojit.ir.ops.arithmetic import add
from autojit.ir.ops.linear import Constant
from autojit.ir.passes.pipeline import optimize
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.units import in_bytes, plural
from autojit.ir.transforms.gradient import gradient

from .grouping import Grouping, inside
from .model import Drawing, Edge, Node
from .ops import Known, Part

#: The most elements of all results together for which a picture's values are computed.
MOST = 5_000_000


def draw(program: Program, by: str, names: Sequence[str], arguments: Sequence[Any]) -> Drawing:
    """The drawing of a program."""
    known = Known(values_of(program, arguments)) if arguments else None
    grouping = Grouping(by)
    part = Part(program, grouping, "", names, known)
    column = part.column(program.name)
    caption = f"{program.name}: {inside(part.ops)}"
    return Drawing("program", program.name, caption, [column], part.edges)


class Halves(NamedTuple):
    """``primal`` returns the value, then the residuals; ``reverse`` takes the residuals, then the
    cotangent of the value, and returns the gradients."""

    primal: Program
    reverse: Program
    wrt: tuple[int, ...]


def halves(program: Program, wrt: Sequence[int], *, optimized: bool) -> Halves:
    """The forward pass and the reverse pass of a gradient, as separate programs."""
    check_scalar(program)
    kept = program.with_body(program.ops, program.outputs[:1])
    parts = linearize(kept, wrt)
    primal, reverse = parts.primal, transpose(parts.linear, parts.residuals)
    if optimized:
        primal, reverse = optimize(primal), optimize(reverse)
    return _without_kept_constants(Halves(primal, reverse, tuple(wrt)))


def check_scalar(program: Program) -> None:
    """Raise NonScalarGradientError unless a program returns a differentiable scalar."""
    result = program.outputs[0].type
    if result.shape or not result.is_inexact:
        raise NonScalarGradientError(
            f"adjoint=True draws the gradient of a scalar, and {program.name} returns {result}. "
            "Sum it:\n    picture(lambda x: f(x).sum(), x, adjoint=True)"
        )


def _without_kept_constants(found: Halves) -> Halves:
    """The halves, with constants made where they are read instead of kept."""
    primal, reverse, wrt = found
    makers = {op.result: op for op in primal.ops if isinstance(op.kind, Constant)}
    pairs = list(zip(primal.outputs[1:], reverse.inputs, strict=False))
    made = {inner: makers[v] for v, inner in pairs if v in makers}
    ops = [Op(op.kind, (), op.params, (inner,), op.source) for inner, op in made.items()]
    outputs = [primal.outputs[0], *(v for v in primal.outputs[1:] if v not in makers)]
    inputs = [v for v in reverse.inputs if v not in made]
    return Halves(
        Program(
            primal.inputs, needed(primal.ops, outputs), outputs, name=primal.name,
            captured=primal.captured,
        ),
        Program(inputs, [*ops, *reverse.ops], reverse.outputs, name=reverse.name),
        wrt,
    )  # fmt: skip


def draw_adjoint(
    program: Program, wrt: Sequence[int], by: str, names: Sequence[str], arguments: Sequence[Any],
    *, optimized: bool,
) -> Drawing:  # fmt: skip
    """The drawing of a gradient: the forward pass, and beside it the reverse pass, from bottom to
    top; edges between them are values that the reverse pass reads."""
    found = halves(program, wrt, optimized=optimized)
    primal, reverse = found.primal, found.reverse
    known = None
    if arguments:
        known = Known(values_of(primal, arguments), gradients_of(primal, arguments))
    forward = Part(primal, Grouping(by, "f"), "f.", names, known)
    backward = Part(reverse, Grouping(by, "r"), "r.", (), _reverse_known(found, arguments))
    # Edges replace the residuals among the outputs of one pass and the inputs of the other.
    residuals = list(zip(primal.outputs[1:], reverse.inputs, strict=False))
    seeds = reverse.inputs[len(residuals) :]
    ends = {n.id for n in forward.outputs[1:]}
    starts = {
        node.id: value for node, (value, _) in zip(backward.inputs, residuals, strict=False)
    }  # fmt: skip
    edges = [e for e in forward.edges if e.end not in ends]
    kept = dict[Value, None]()
    for edge in backward.edges:
        value = starts.get(edge.start)
        if value is None:
            edges.append(edge)
        else:
            kept[value] = None
            edges.append(forward.edge(value, edge.end, "kept"))
    forward.outputs, backward.inputs = forward.outputs[:1], backward.inputs[len(residuals) :]
    forward.outputs[0].title = "result"
    for node, value in zip(backward.inputs, seeds, strict=True):
        _name_seed(node, known is not None)
        edges.append(_seed_edge(forward.outputs[0], node, value))
    _name_gradients(backward.outputs, forward.inputs, wrt)
    columns = [
        forward.column("forward", "half", lines=[inside(forward.ops)]),
        backward.column("reverse", "half", lines=[inside(backward.ops)]),
    ]
    return Drawing("adjoint", program.name, _caption(program, primal, kept), columns, edges)


def _caption(program: Program, primal: Program, kept: dict[Value, None]) -> str:
    stored = [v for v in kept if v not in primal.inputs]
    words = in_bytes(sum(v.type.nbytes for v in stored))
    kept_values = plural(len(stored), "value")
    return f"gradient of {program.name}: {kept_values} ({words}) kept for the reverse pass"


def _name_seed(node: Node, known: bool) -> None:
    node.title, node.lines = "seed", ["d result"]
    if known:
        node.value = "1"


def _seed_edge(result: Node, seed: Node, value: Value) -> Edge:
    return Edge(result.id, seed.id, "1", str(value.type), value.type.nbytes, "seed")


def _name_gradients(outputs: Sequence[Node], inputs: Sequence[Node], wrt: Sequence[int]) -> None:
    for node, i in zip(outputs, wrt, strict=True):
        node.title = f"d {inputs[i].title}"


def _reverse_known(found: Halves, arguments: Sequence[Any]) -> Known | None:
    """The values of the reverse pass for a cotangent of 1."""
    if not arguments:
        return None
    _, *residuals = interpret(found.primal, arguments)
    seeds = [np.ones(v.shape, v.dtype) for v in found.reverse.inputs[len(residuals) :]]
    return Known(values_of(found.reverse, [*residuals, *seeds]))


def is_small(program: Program) -> bool:
    """Whether a picture's values are computed: together they must not be too large."""
    return sum(v.type.size for op in program.ops for v in op.results) <= MOST


def values_of(program: Program, arguments: Sequence[Any]) -> dict[Value, Any]:
    """The values of inputs and of all results of operations."""
    found = [v for op in program.ops for v in op.results]
    every = Program(program.inputs, program.ops, found, name=program.name)
    inputs = zip(program.inputs, arguments, strict=True)
    return {**dict(inputs), **dict(zip(found, interpret(every, arguments), strict=True))}


def gradients_of(program: Program, arguments: Sequence[Any]) -> dict[Value, Any]:
    """The gradients of the first output with respect to the inexact inputs and results of
    operations that it depends on: derivatives with respect to numbers that are added to these."""
    builder = Builder()
    inputs = [Value(v.type) for v in program.inputs]
    env = dict(zip(program.inputs, inputs, strict=True))
    added: dict[Value, Value] = {}
    with building(builder):
        for op in program.ops:
            results = builder.repeat(op, [env[v] for v in op.operands])
            for value, result in zip(op.results, results, strict=True):
                env[value] = result
                if value.type.is_inexact:
                    added[value] = Value(value.type)
                    env[value] = add(result, added[value])
    moved = Program([*inputs, *added.values()], builder.ops, [env[program.outputs[0]]])
    wrt = [i for i, v in enumerate(moved.inputs) if v.type.is_inexact]
    zeros = [np.zeros(v.shape, v.dtype) for v in added]
    derived = gradient(moved, wrt, keep_outputs=False)
    gradients = interpret(derived, [*arguments, *zeros])
    every = [*program.inputs, *added]
    reached = {v for op in needed(program.ops, program.outputs[:1]) for v in op.operands}
    reached.add(program.outputs[0])
    return {every[i]: g for i, g in zip(wrt, gradients, strict=True) if every[i] in reached}
