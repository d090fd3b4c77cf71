"""Walks over statements: what is inside of them, and what they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from autojit.ir.core.affine import Affine, Bounds, Var
from autojit.ir.core.values import Source

from .effects import BODIES, EFFECTS, USES, effects_of
from .matrices import MatrixProduct
from .nodes import Fill, Loop, RunTasks, Tasks
from .origins import sources_of
from .program import Kernel, LoopProgram
from .values import Buffer, Operand, Place, Scalar


def bodies_of(statement: Any) -> list[list[Any]]:
    """The lists of statements inside of a statement."""
    bodies = BODIES.get(type(statement))
    return bodies(statement) if bodies else []


def walk(body: list[Any]) -> Iterator[Any]:
    """Every statement, loops before their bodies."""
    # A single generator for all levels: with one per level, each statement would pass through all.
    left = [iter(body)]
    while left:
        for statement in left[-1]:
            yield statement
            bodies = BODIES.get(type(statement))
            if bodies:
                left.extend(map(iter, reversed(bodies(statement))))
                break
        else:
            left.pop()


def with_bodies(statement: Any, change: Callable[[list[Any]], list[Any]]) -> Any:
    """A statement with the lists of statements inside of it changed; itself, if none is."""
    inside = bodies_of(statement)
    if not inside:
        return statement
    made = {id(body): change(body) for body in inside}
    if all(made[id(body)] is body for body in inside):
        return statement
    changes = {}
    for f in fields(statement):
        value = getattr(statement, f.name)
        if id(value) in made:
            changes[f.name] = made[id(value)]
        elif isinstance(value, list) and value and all(id(each) in made for each in value):
            changes[f.name] = [made[id(each)] for each in value]
    return replace(statement, **changes)


def statements(program: LoopProgram) -> Iterator[Any]:
    """Every statement of a program, library calls included."""
    for step in program.steps:
        yield from walk(step.body if isinstance(step, Kernel) else [step])


def ranges(body: list[Any]) -> Bounds:
    """The ranges of all loops inside of a body; a split loop's range starts at its first part."""
    found: dict[Var, tuple[int, int]] = {}
    for s in walk(body):
        if isinstance(s, Loop):
            low, high = found.get(s.var, (s.start, s.stop - 1))
            found[s.var] = min(low, s.start), max(high, s.stop - 1)
    return found


def substituted(statement: Any, var: Var, by: Affine) -> Any:
    """A statement, and all inside of it, with an expression in place of a loop variable."""
    return with_indices(statement, lambda index: index.substitute(var, by))


def with_indices(statement: Any, change: Callable[[Affine], Affine]) -> Any:
    """A statement, and all inside of it, with its index expressions changed."""
    changes = {}
    for f in fields(statement):
        value = getattr(statement, f.name)
        made = _with_indices(value, change)
        if made is not value:
            changes[f.name] = made
    return replace(statement, **changes) if changes else statement


def _with_indices(value: Any, change: Callable[[Affine], Affine]) -> Any:
    if isinstance(value, Affine):
        return change(value)
    if isinstance(value, Operand | Place | Tasks) or type(value) in EFFECTS:
        return with_indices(value, change)
    if isinstance(value, list) or (isinstance(value, tuple) and any(map(_is_operand, value))):
        return type(value)(_with_indices(each, change) for each in value)
    return value


def _is_operand(value: Any) -> bool:
    return isinstance(value, Operand | Place)


#: Moved memory: the buffer it is in, and the amount to add to indices there.
Elsewhere = Mapping[Buffer, tuple[Buffer, Affine]]


def redirected(body: list[Any], elsewhere: Elsewhere) -> list[Any]:
    """The statements and loops, with some accesses moved to other buffers."""
    result = []
    for s in body:
        if isinstance(s, Loop):
            s = replace(s, body=redirected(s.body, elsewhere))
        elif isinstance(s, MatrixProduct):
            s = _redirected_product(s, elsewhere)
        elif hasattr(s, "buffer") and (found := elsewhere.get(memory(s.buffer))) is not None:
            buffer, by = found
            where = "start" if isinstance(s, Fill) else "index"
            s = replace(s, buffer=buffer, **{where: getattr(s, where) + by})
        result.append(s)
    return result


def _redirected_product(s: MatrixProduct, elsewhere: Elsewhere) -> MatrixProduct:
    a, b = redirected_operand(s.a, elsewhere), redirected_operand(s.b, elsewhere)
    c = redirected_operand(Operand(s.c, s.c_offset, ()), elsewhere)
    panel = None if s.panel is None else redirected_operand(s.panel, elsewhere)
    return replace(s, a=a, b=b, c=c.buffer, c_offset=c.offset, panel=panel)


def redirected_operand(o: Operand, elsewhere: Elsewhere) -> Operand:
    """An operand of a product, moved if its buffer is."""
    found = elsewhere.get(memory(o.buffer))
    if found is None:
        return o
    buffer, by = found
    return replace(o, buffer=buffer, offset=o.offset + by)


def product_of(step: Any) -> MatrixProduct | None:
    """The matrix product of a step, with or without tasks; None for other steps."""
    if isinstance(step, Kernel) and len(step.body) == 1 and isinstance(step.body[0], RunTasks):
        (step, *more) = step.body[0].tasks.body
        if more:
            return None
    return step if isinstance(step, MatrixProduct) else None


def used(statement: Any) -> list[Scalar]:
    """The scalars that a statement reads."""
    return [scalar for given in USES[type(statement)] for scalar in given(statement)]


def defined(statement: Any) -> Scalar | None:
    """The scalar that a statement computes."""
    return EFFECTS[type(statement)].defines(statement)


def in_sequence(body: list[Any]) -> bool:
    """Whether statements hold loops whose steps run in turn, or branches."""
    return any(EFFECTS[type(s)].in_turn(s) for s in walk(body))


def is_whole(loop: Loop) -> bool:
    """Whether a loop is counted and runs over its whole range: passes that change the range, or
    replace the loop, have to keep the number of iterations."""
    return loop.share is None and not loop.is_partial and not loop.unroll


def memory(buffer: Buffer) -> Buffer:
    """The buffer that owns the memory of a buffer."""
    while buffer.over is not None:
        buffer = buffer.over
    return buffer


def buffers_named(statement: Any) -> Sequence[Buffer]:
    """The buffers that a statement names itself."""
    return EFFECTS[type(statement)].buffers(statement)


def buffers_of(body: list[Any]) -> list[Buffer]:
    """The buffers that statements use, in order."""
    found = (memory(b) for statement in walk(body) for b in buffers_named(statement))
    return list(dict.fromkeys(found))


def loop_count(program: LoopProgram) -> int:
    """How many outermost loops a program runs (products and library calls not counted)."""
    return sum(
        isinstance(s, (Loop, RunTasks))
        for k in program.steps
        if isinstance(k, Kernel) and product_of(k) is None
        for s in k.body
    )


def places_of(statement: Any) -> list[Source]:
    """The places in the user's code that a statement was written for, and all inside of it."""
    found = (place for s in walk([statement]) for place in _own_places(s))
    return list(dict.fromkeys(found))


def _own_places(s: Any) -> list[Source]:
    if hasattr(s, "origins"):
        return sources_of(s)
    e = effects_of(s)
    made = e.defines(s) or e.begins(s) or e.adds_to(s) or s
    place = getattr(made, "source", None)
    return [] if place is None else [place]
