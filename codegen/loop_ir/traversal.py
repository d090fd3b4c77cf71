"""Walks over statements: what is inside of them, and what they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from autojit.ir.core.affine import Bounds, Var

from .nodes import (
    Branch,
    Buffer,
    Factorization,
    Keep,
    Kernel,
    Loop,
    LoopProgram,
    MatrixProduct,
    Recall,
    Repeat,
    RunTasks,
    Scalar,
    Steps,
    Swap,
)

#: The lists of statements inside of those that have any, by their type.
_BODIES: dict[type, Callable[[Any], list[list[Any]]]] = {
    Loop: lambda s: [s.body],
    Steps: lambda s: [s.body],
    RunTasks: lambda s: [s.tasks.body],
    Repeat: lambda s: [s.condition, s.body],
    Branch: lambda s: s.bodies,
}


def bodies_of(statement: Any) -> list[list[Any]]:
    """The lists of statements inside of a statement."""
    bodies = _BODIES.get(type(statement))
    return bodies(statement) if bodies else []


def walk(body: list[Any]) -> Iterator[Any]:
    """Every statement, loops before their bodies."""
    for statement in body:
        yield statement
        bodies = _BODIES.get(type(statement))
        if bodies:
            for inner in bodies(statement):
                yield from walk(inner)


def statements(program: LoopProgram) -> Iterator[Any]:
    """Every statement of a program, library calls included."""
    for step in program.steps:
        yield from walk(step.body if isinstance(step, Kernel) else [step])


def ranges(body: list[Any]) -> Bounds:
    """The ranges of all loops inside of a body; of one that is split, from its first part on."""
    found: dict[Var, tuple[int, int]] = {}
    for s in walk(body):
        if isinstance(s, Loop):
            low, high = found.get(s.var, (s.start, s.stop - 1))
            found[s.var] = min(low, s.start), max(high, s.stop - 1)
    return found


def product_of(step: Any) -> MatrixProduct | None:
    """The matrix product that a step is, if it is one, by tasks or not."""
    if isinstance(step, Kernel) and len(step.body) == 1 and isinstance(step.body[0], RunTasks):
        (step, *more) = step.body[0].tasks.body
        if more:
            return None
    return step if isinstance(step, MatrixProduct) else None


def used(statement: Any) -> list[Scalar]:
    """The scalars that a statement reads."""
    found = list(getattr(statement, "args", ()))
    for name in ("value", "guard", "test", "only"):
        scalar = getattr(statement, name, None)
        if isinstance(scalar, Scalar):
            found.append(scalar)
    if isinstance(statement, Branch):
        found.append(statement.index)
    found += [place.scalar for place in getattr(statement, "places", ())]
    return found


def in_sequence(body: list[Any]) -> bool:
    """Whether statements hold loops whose steps run in turn, or branches."""
    return any(
        isinstance(s, (Repeat, Steps, Branch, Recall))
        or (isinstance(s, Loop) and s.role == "sequence")
        for s in walk(body)
    )


def is_whole(loop: Loop) -> bool:
    """Whether a loop runs over all of its range, and is counted: passes that change the range, or
    put loops in its place, have to keep the number of iterations."""
    return loop.share is None and loop.only is None and not loop.unroll


def memory(buffer: Buffer) -> Buffer:
    """The buffer whose memory a buffer is in."""
    while buffer.over is not None:
        buffer = buffer.over
    return buffer


def _of_product(product: MatrixProduct) -> list[Buffer]:
    found = [product.a.buffer, product.b.buffer, product.c]
    return found if product.panel is None else [*found, product.panel.buffer]


#: The buffers that statements name, by their type, where these are others than its `buffer`.
_NAMED: dict[type, Callable[[Any], list[Buffer]]] = {
    MatrixProduct: _of_product,
    Factorization: lambda s: s.buffers,
    Swap: lambda s: [s.first, s.second],
    Repeat: lambda s: s.tapes,
    Keep: lambda s: [*s.tapes, s.note],
    Recall: lambda s: [*s.tapes, s.note],
}


def buffers_named(statement: Any) -> list[Buffer]:
    """The buffers that a statement names itself."""
    named = _NAMED.get(type(statement))
    if named:
        return named(statement)
    buffer = getattr(statement, "buffer", None)
    return [] if buffer is None else [buffer]


def buffers_of(body: list[Any]) -> list[Buffer]:
    """The buffers that statements use, in order."""
    found = (memory(b) for statement in walk(body) for b in buffers_named(statement))
    return list(dict.fromkeys(found))
