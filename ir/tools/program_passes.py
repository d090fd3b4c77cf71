"""Passes over SSA programs: their declaration, and the properties that they need and keep.

A pass is declared by a decorator of its function::

    @program_pass("Leaves out operations that no output depends on.", keeps=EVERYTHING)
    def run(program: Program) -> Program: ...

Its name is that of its module. Nothing is rewritten here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from autojit.ir.core.program import Program
from autojit.ir.pass_manager.passes import Level, Pass, named_after_module, properties

from .verifier import verify

#: Operations with programs have the derivatives that the user defined, and are as many as the user
#: wrote.
DERIVATIVES = "derivatives as written"
#: No operation represents a call of a program.
CALLS_INLINED = "calls inlined"
#: ``simplified`` has nothing left to do.
SIMPLIFIED = "simplified"
#: Loops run over the rows that they read and write at their own index.
ROWS = "rows of loops"

#: Properties kept by passes that rewrite operations one by one.
STRUCTURE = (DERIVATIVES, CALLS_INLINED, ROWS)
#: Properties kept by passes over programs that will not be differentiated any more.
FINAL = (CALLS_INLINED, ROWS)
#: Properties kept by passes that only remove ops.
EVERYTHING = (*STRUCTURE, SIMPLIFIED)


def _size(program: Program) -> int:
    """Return the number of operations of a program, including those in bodies."""
    return sum(1 + sum(map(_size, op.programs)) for op in program.ops)


def _verify(made: Program, before: Program) -> None:
    if made is not before:
        verify(made)


SSA: Level[Program] = Level(
    "ssa",
    title=lambda program: program.name,
    sizes=lambda program: {"ops": _size(program)},
    state=lambda program: program,
    text=lambda program: program.text(sources=True),
    marks=lambda program: program,
    verify=_verify,
)


def program_pass(
    does: str,
    *,
    name: str | None = None,
    needs: Iterable[str] = (),
    gives: Iterable[str] = (),
    keeps: Iterable[str] = (),
    done: Callable[[Program], bool] | None = None,
) -> Callable[[Callable[..., Program]], Pass[Program]]:
    """Return a decorator that declares a function of a program to be a pass."""

    def declare(function: Callable[..., Program]) -> Pass[Program]:
        sets = properties(needs), properties(gives), properties(keeps)
        return SSA.declare(
            Pass(name or named_after_module(function), SSA, function, does, *sets, done)
        )

    return declare
