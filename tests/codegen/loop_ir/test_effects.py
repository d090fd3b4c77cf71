"""Each class of statements declares all its effects."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any

import pytest

from autojit.codegen.loop_ir import matrices, nodes, sequences
from autojit.codegen.loop_ir.effects import (
    EFFECTS,
    accesses,
    changed_buffers,
    declare,
    indices_of,
    is_pure,
    is_read_only,
)
from autojit.codegen.loop_ir.nodes import Tasks
from autojit.codegen.loop_ir.traversal import substituted
from autojit.codegen.loop_ir.values import Accumulator, Buffer, Operand, Place, Scalar, Trips
from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var

#: The modules with classes of statements, and the classes there that are not statements.
MODULES = (nodes, sequences, matrices)
PARTS = {"Tasks"}


def statements() -> list[type]:
    found = [c for m in MODULES for c in vars(m).values() if isinstance(c, type)]
    names = {m.__name__ for m in MODULES}
    own = [c for c in found if c.__module__ in names and dataclasses.is_dataclass(c)]
    return [c for c in dict.fromkeys(own) if c.__name__ not in PARTS]


class Marked:
    """Makes a value for each field of a statement, and records everything in it."""

    def __init__(self) -> None:
        self.marks: list[Any] = []

    def of(self, hint: Any, name: str) -> Any:
        if typing.get_origin(hint) is tuple:
            return (self.of(typing.get_args(hint)[0], name),) * (3 if name == "strides" else 1)
        if name == "buffers":  # buffers of a function follow from its statements
            return []
        if typing.get_origin(hint) is list:
            return [self.of(typing.get_args(hint)[0], name)]
        options = [a for a in typing.get_args(hint) if a is not type(None)] or [hint]
        made = self.new(options[0], name)
        if not isinstance(made, (int, str, bool, dict, Place, Operand, Tasks)):
            self.marks.append(made)
        return made

    def new(self, kind: Any, name: str) -> Any:
        simple = {
            Scalar: lambda: Scalar(len(self.marks), "f64", 0, None),
            Buffer: lambda: Buffer(f"b{len(self.marks)}", "f64", 8, "temp"),
            Var: lambda: Var(4),
            Affine: lambda: affine.of(Var(4)),
            Accumulator: lambda: Accumulator(len(self.marks), "f64", "add", 0.0),
            Trips: Trips,
            int: lambda: 2,
            str: lambda: "f64",
            bool: lambda: False,
        }
        if kind in simple:
            return simple[kind]()
        if dataclasses.is_dataclass(kind):
            assert isinstance(kind, type)
            return self.statement(kind)
        return object() if name in ("body", "bodies", "condition") else {}

    def statement(self, kind: type) -> Any:
        hints = typing.get_type_hints(kind)
        return kind(**{f.name: self.of(hints[f.name], f.name) for f in dataclasses.fields(kind)})


def declared(s: Any) -> Iterator[Any]:
    """Everything that a statement declares."""
    e = EFFECTS[type(s)]
    yield from (e.defines(s), e.begins(s), e.adds_to(s), e.finishes(s), e.counts(s), e.share(s))
    yield from (e.needs_count(s), *e.uses(s), *e.uses_of_bodies(s), *e.variables(s))
    yield from (*indices_of(s), *e.buffers(s), *e.moves(s))
    for access in accesses(s):
        yield from (access.buffer, access.guard)
    for body in e.bodies(s):
        yield from body


@pytest.mark.parametrize("kind", statements(), ids=lambda k: k.__name__)
def test_everything_in_a_statement_is_declared(kind: type) -> None:
    assert kind in EFFECTS, f"{kind.__name__} declares nothing: see loop_ir/effects.py"
    marked = Marked()
    s = marked.statement(kind)
    found = list(declared(s))
    missing = [m for m in marked.marks if not any(_is(m, x) for x in found)]
    unused = {"value"} & {f.name for f in dataclasses.fields(kind)}  # a plain number
    assert not [m for m in missing if not (unused and m == {})]
    touched = [a.buffer for a in accesses(s)] + list(EFFECTS[kind].moves(s))
    assert set(touched) == set(EFFECTS[kind].buffers(s))
    assert set(changed_buffers(s)) <= set(touched)


@pytest.mark.parametrize("kind", statements(), ids=lambda k: k.__name__)
def test_an_expression_is_put_in_place_of_a_variable(kind: type) -> None:
    s = Marked().statement(kind)
    before = indices_of(s)
    for var in {v for index in before for v in index.variables()}:
        in_loop = nodes.Loop(Var(2), 0, 2, [sequences.Branch(None, [[], [s]])], "sequence")
        (branch,) = substituted(in_loop, var, Affine(3)).body
        ((made,),) = branch.bodies[1:]
        assert all(var not in index.variables() for index in indices_of(made))
    assert indices_of(s) == before


def _is(mark: Any, found: Any) -> bool:
    return mark is found or (isinstance(mark, Affine) and mark == found)


def test_what_is_not_declared_is_missed() -> None:
    @dataclasses.dataclass(slots=True)
    class Forgetful:
        result: Scalar
        buffer: Buffer

    declare(defines=lambda s: s.result)(Forgetful)
    marked = Marked()
    found = list(declared(marked.statement(Forgetful)))
    del EFFECTS[Forgetful]
    assert [m in found for m in marked.marks] == [True, False]


def test_what_only_computes() -> None:
    pure = {k.__name__ for k in EFFECTS if is_pure(Marked().statement(k))}
    assert pure == {"Compute", "Constant", "Digit", "IndexValue", "InRange"}
    read_only = {k.__name__ for k in EFFECTS if is_read_only(Marked().statement(k))}
    assert read_only == pure | {"Load", "Gather"}
