"""Shared by ops with bodies: groups of operands, and the inputs that a body's outputs depend
on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

import numpy as np

from autojit.ir.core.batching import Batched, along
from autojit.ir.core.declaration import Declaration, MaybeValue, full, require
from autojit.ir.core.program import (
    Builder,
    Op,
    Program,
    Value,
    building,
    current_builder,
    readers_of,
)
from autojit.ir.core.registry import declared
from autojit.ir.core.types import Type
from autojit.ir.tools.interpreter import interpret

from .arithmetic import add
from .checks import Reported

T = TypeVar("T")

INDEX = Type(np.dtype(np.int64), ())
BOOL = Type(np.dtype(np.bool_), ())


class BodyOp(Declaration):
    """An op with programs among its parameters, which run as parts of it."""

    moves = True
    fallible = True  # as its bodies are

    def initial(self, params: dict[str, Any]) -> range:
        """Which operands are the initial carries, which are read only once."""
        return range(0)

    def shared(self, op: Op) -> range:
        """The operands that bodies take unchanged."""
        return range(0)

    def reads(self, op: Op, k: int) -> bool:
        """Whether a body reads shared operand k."""
        return True

    def read_as(self, op: Op, operand: int) -> list[tuple[Program, int]]:
        """The bodies that read an operand, each with the number of its input."""
        return []

    def leaves_out(self, op: Op, operand: int) -> bool:
        return any(not read_whole(body)[k] for body, k in self.read_as(op, operand))

    def without(self, op: Op, replaced: dict[int, Any]) -> Op:
        """The op without shared operands: each a constant (the parameters of the op
        ``constant``), another shared operand (its position), or not read (None)."""
        raise NotImplementedError

    def simplified(self, op: Op) -> Op | tuple[Value, ...] | None:
        """Another op that computes the same with less work, or the values of the results."""
        return None

    def narrow(self, op: Op, used: Sequence[bool]) -> Op | None:
        """The op with only the used results (at least one), and what they need. None if nothing can
        be left out."""
        return None


def groups(items: Sequence[T], *counts: int) -> list[list[T]]:
    """The items cut into groups of these sizes, and the rest."""
    rest = iter(items)
    return [list(islice(rest, n)) for n in counts] + [list(rest)]


def flags(values: Sequence[Any]) -> list[bool]:
    """Which values are not None."""
    return [v is not None for v in values]


def chosen(items: Sequence[T], marked: Sequence[bool]) -> list[T]:
    """The marked items."""
    return [x for x, m in zip(items, marked, strict=True) if m]


def others(items: Sequence[T], marked: Sequence[bool]) -> list[T]:
    """The items that are not marked."""
    return [x for x, m in zip(items, marked, strict=True) if not m]


def spread(items: Sequence[T], marked: Sequence[bool]) -> list[T | None]:
    """The items at the marked positions, None at the others."""
    source = iter(items)
    return [next(source) if m else None for m in marked]


def present(values: Sequence[T | None]) -> list[T]:
    """The values that are not None."""
    return [v for v in values if v is not None]


def or_zero(value: MaybeValue, type: Type) -> Value:
    """A tangent or cotangent; an array of zeros for None."""
    return full(0, type) if value is None else value


def accumulated(totals: Sequence[Value], values: Sequence[Value]) -> list[Value]:
    """``total + value`` for each pair, term by term if the current builder computed the value as a
    sum. So a few elements can be added to the total in place, instead of to zeros first."""
    ops = current_builder().ops
    sums = {op.result: op for op in ops if op.kind is add}
    uses = readers_of(ops, values)
    result = []
    for total, value in zip(totals, values, strict=True):
        pending = [value]
        while pending:
            term = pending.pop()
            op = sums.get(term) if uses[term] == 1 else None
            if op is None:
                total = total + term
            else:
                pending += reversed(op.operands)
        result.append(total)
    return result


def grown(start: Sequence[bool], step: Callable[[list[bool]], Sequence[bool]]) -> list[bool]:
    """The least set of marks that contains the initial ones and is closed under a step."""
    marked = list(start)
    while True:
        added = [a or b for a, b in zip(marked, step(marked), strict=True)]
        if added == marked:
            return marked
        marked = added


def check_types(what: str, wanted: Sequence[Type], got: Sequence[Type]) -> None:
    """Raise TypeMismatch unless the types agree."""
    require(
        tuple(wanted) == tuple(got),
        f"{what} must be {_listed(wanted)}; got {_listed(got)}",
    )


def _listed(types: Sequence[Type]) -> str:
    return "(" + ", ".join(map(str, types)) + ")"


def batched_as(operands: Sequence[Batched], marked: Sequence[bool], size: int) -> list[Value]:
    """The values of operands, those marked with a batch axis."""
    return [
        along(operand, size) if m else operand.value
        for operand, m in zip(operands, marked, strict=True)
    ]


def needs_guard(body: Program) -> bool:
    """Whether somebody can tell if a body is computed in vain."""
    return body.may_fail or body.has(Reported)


def guarded(body: Program) -> Program | None:
    """``(wanted, inputs…) -> outputs``: the body's outputs if ``wanted`` holds. Otherwise no op
    fails, and the outputs are meaningless. None if an op has no such form."""
    builder, wanted = Builder(), Value(BOOL)
    inputs = [Value(v.type) for v in body.inputs]
    env = dict(zip(body.inputs, inputs, strict=True))
    with building(builder):
        for op in body.ops:
            operands: Sequence[Value] | None = [env[v] for v in op.operands]
            if op.kind.may_fail(op) or isinstance(op.kind, Reported):
                operands = op.kind.harmless(op, operands or (), wanted)
            if operands is None:
                return None
            env.update(zip(op.results, builder.repeat(op, operands), strict=True))
    return builder.finish([wanted, *inputs], [env[v] for v in body.outputs], name=body.name)


def each_alone(op: Op, operands: Sequence[Batched], size: int) -> Sequence[Value]:
    """The op applied to one element of a batch after the other.

    This batches an op with bodies that may fail and cannot be :func:`guarded`, if elements take
    different branches or numbers of steps. Computing all elements together would run bodies for
    elements that do not reach them.
    """
    builder = Builder()
    inputs = [Value(v.type) for v in op.operands]
    with building(builder):
        results = builder.emit(op.kind, inputs, op.params)
    marks = [o.batched for o in operands]
    order = [*others(inputs, marks), Value(INDEX), *chosen(inputs, marks)]
    params = {
        "body": builder.finish(order, results, name=op.kind.name), "carries": 0,
        "constants": len(others(inputs, marks)), "length": size, "reverse": False,
    }  # fmt: skip
    values = [o.value for o in operands]
    given = [*others(values, marks), *chosen(values, marks)]
    return current_builder().emit(declared.scan, given, params)


@lru_cache(maxsize=256)
def read_whole(body: Program) -> list[bool]:
    """Of which inputs a program certainly reads all elements, for its outputs."""
    whole = set(body.outputs)
    for op in reversed(body.ops):
        if not whole.isdisjoint(op.results):
            whole.update(v for k, v in enumerate(op.operands) if not op.kind.leaves_out(op, k))
    return [v in whole for v in body.inputs]


def read_inputs(body: Program) -> list[bool]:
    """Which inputs a program reads."""
    found = {v for op in body.ops for v in op.operands} | set(body.outputs)
    return [v in found for v in body.inputs]


def run(body: Program, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of a body in the interpreter."""
    return interpret(body, arguments)


def run_as_op(body: Program, arguments: Sequence[Any]) -> Any:
    """The outputs in the form of an op's evaluation: a bare array if there is one."""
    made = run(body, arguments)
    return made[0] if len(made) == 1 else made
