"""Programs that differ in a few points from a program that a pass is made for.

Random programs seldom have the form that a pass looks for, and nearly never all of it except one
condition. In a mutation an op reads another value, is another op, has another parameter, or its
result is returned as well. Mutations also occur in bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.registry import REGISTRY
from autojit.ir.ops.elementwise import Elementwise
from autojit.ir.ops.linear import Constant
from autojit.ir.tools.interpreter import interpret
from autojit.ir.tools.text import ParseError, parse
from autojit.ir.tools.verifier import VerificationError, verify

Rng = np.random.Generator

NUMBERS = {"f": (0.0, -0.0, 1.0, -2.0, 0.3, 3.0), "i": (-1, 0, 1, 2, 5), "u": (0, 1, 5),
           "b": (False, True), "c": (0j, 1j, -0.5 + 2j)}  # fmt: skip
#: These turn rounding errors into different numbers, or fail in ways that do not matter here.
STEPS = {"floor", "ceil", "trunc", "rint", "sign", "floor_divide", "remainder", "fmod", "copysign",
         "shift_left", "shift_right"}  # fmt: skip


def mutated(program: Program, rng: Rng, times: int) -> Program:
    """The program with a number of mutations, which is well formed."""
    for _ in range(times):
        program = _once(program, rng)
    return program


def _once(program: Program, rng: Rng) -> Program:
    for _ in range(20):
        change = rng.choice([_operand, _operand, _kind, _parameter, _parameter, _output, _dtype])
        try:
            made: Program = change(program, rng)
            verify(made)
        except (VerificationError, ParseError, _Nothing):
            continue
        return made
    return program


class _Nothing(Exception):
    """There is nothing to change."""


def _somewhere(program: Program, rng: Rng, change: Callable[..., Op]) -> Program:
    """The program with one of its ops changed, or one in a body."""
    if not program.ops:
        raise _Nothing
    at = int(rng.integers(len(program.ops)))
    op = program.ops[at]
    inner = [name for name, value in op.params.items() if _programs(value)]
    if inner and rng.random() < 0.8:
        name = inner[rng.integers(len(inner))]
        params = {**op.params, name: _inside(op.params[name], rng, change)}
        new = Op(op.kind, op.operands, params, op.results, op.source)
    else:
        before = [*program.inputs, *(v for o in program.ops[:at] for v in o.results)]
        new = change(op, before, rng)
    return program.with_body([*program.ops[:at], new, *program.ops[at + 1 :]], program.outputs)


def _programs(value: Any) -> bool:
    return isinstance(value, Program) or (isinstance(value, tuple) and any(map(_programs, value)))


def _inside(value: Any, rng: Rng, change: Callable[..., Op]) -> Any:
    if isinstance(value, Program):
        return _somewhere(value, rng, change)
    at = rng.choice([k for k, item in enumerate(value) if _programs(item)])
    return tuple(_inside(v, rng, change) if k == at else v for k, v in enumerate(value))


def _operand(program: Program, rng: Rng) -> Program:
    """Let an op read another value of the same type."""

    def change(op: Op, before: Sequence[Value], rng: Rng) -> Op:
        if not op.operands:
            raise _Nothing
        k = int(rng.integers(len(op.operands)))
        others = [v for v in before if v.type == op.operands[k].type and v is not op.operands[k]]
        if not others:
            raise _Nothing
        operands = list(op.operands)
        operands[k] = others[rng.integers(len(others))]
        return Op(op.kind, tuple(operands), op.params, op.results, op.source)

    return _somewhere(program, rng, change)


def _kind(program: Program, rng: Rng) -> Program:
    """Replace an elementwise op by another one."""

    def change(op: Op, before: Sequence[Value], rng: Rng) -> Op:
        if not isinstance(op.kind, Elementwise) or op.params:
            raise _Nothing
        kinds = [k for k in REGISTRY.values() if isinstance(k, Elementwise) and not k.parameters
                 and k.arity == op.kind.arity and k.name not in STEPS]  # fmt: skip
        return Op(kinds[rng.integers(len(kinds))], op.operands, {}, op.results, op.source)

    return _somewhere(program, rng, change)


def _parameter(program: Program, rng: Rng) -> Program:
    """Change a number, or an order, among the parameters."""

    def change(op: Op, before: Sequence[Value], rng: Rng) -> Op:
        names = [name for name, value in op.params.items() if not _programs(value)]
        if not names:
            raise _Nothing
        name = names[rng.integers(len(names))]
        value = op.params[name]
        if isinstance(op.kind, Constant) and name == "value":
            numbers = NUMBERS[op.result.dtype.kind]
            new: Any = numbers[rng.integers(len(numbers))]
        else:
            new = _other(value, rng)
        return Op(op.kind, op.operands, {**op.params, name: new}, op.results, op.source)

    return _somewhere(program, rng, change)


def _other(value: Any, rng: Rng) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + int(rng.choice([-1, 1]))
    if isinstance(value, tuple) and value:
        if len(value) > 1 and rng.random() < 0.5:
            return tuple(value[k] for k in rng.permutation(len(value)))
        at = rng.integers(len(value))
        return tuple(_other(v, rng) if k == at else v for k, v in enumerate(value))
    raise _Nothing


def _output(program: Program, rng: Rng) -> Program:
    """Return one more value."""
    values = [v for op in program.ops for v in op.results]
    if not values:
        raise _Nothing
    return program.with_body(program.ops, [*program.outputs, values[rng.integers(len(values))]])


def _dtype(program: Program, rng: Rng) -> Program:
    """Change all float64 to another dtype."""
    text = program.text().replace("f64", str(rng.choice(["f32", "i64", "u8", "c128", "bool"])))
    return parse(text)


def results_of(program: Program, arguments: Sequence[Any]) -> list[Any] | type[Exception]:
    """The results of the program, or the class of the exception that it raises."""
    try:
        return interpret(program, [*arguments, *program.captured])
    except (IndexError, ValueError) as error:
        return type(error)
