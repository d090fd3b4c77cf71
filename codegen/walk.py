"""Walks over statements: what is inside of them, and what they use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .loops import (
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


def bodies_of(statement: Any) -> list[list[Any]]:
    """The lists of statements inside of a statement."""
    if isinstance(statement, (Loop, Steps)):
        return [statement.body]
    if isinstance(statement, RunTasks):
        return [statement.tasks.body]
    if isinstance(statement, Repeat):
        return [statement.condition, statement.body]
    return statement.bodies if isinstance(statement, Branch) else []


def walk(body: list[Any]) -> Iterator[Any]:
    """Every statement, loops before their bodies."""
    for statement in body:
        yield statement
        for inner in bodies_of(statement):
            yield from walk(inner)


def statements(program: LoopProgram) -> Iterator[Any]:
    """Every statement of a program, library calls included."""
    for step in program.steps:
        yield from walk(step.body if isinstance(step, Kernel) else [step])


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
    for name in ("value", "guard", "test"):
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


def memory(buffer: Buffer) -> Buffer:
    """The buffer whose memory a buffer is in."""
    while buffer.over is not None:
        buffer = buffer.over
    return buffer


def buffers_named(statement: Any) -> list[Buffer]:
    """The buffers that a statement names itself."""
    if isinstance(statement, MatrixProduct):
        found = [statement.a.buffer, statement.b.buffer, statement.c]
        return found if statement.panel is None else [*found, statement.panel.buffer]
    if isinstance(statement, Factorization):
        return statement.buffers
    if isinstance(statement, Swap):
        return [statement.first, statement.second]
    if isinstance(statement, Repeat):
        return statement.tapes
    if isinstance(statement, (Keep, Recall)):
        return [*statement.tapes, statement.note]
    buffer = getattr(statement, "buffer", None)
    return [] if buffer is None else [buffer]


def buffers_of(body: list[Any]) -> list[Buffer]:
    """The buffers that statements use, in order."""
    found = (memory(b) for statement in walk(body) for b in buffers_named(statement))
    return list(dict.fromkeys(found))
