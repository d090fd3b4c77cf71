"""Passes over SSA programs: how they are declared, and the properties that they need and keep.

A pass is declared by a decorator of its function::

    @program_pass("Leaves out operations that no output depends on.", keeps=EVERYTHING)
    def run(program: Program) -> Program: ...

and has the name of its module.  Nothing is rewritten here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from autojit.ir.core.program import Program
from autojit.ir.pass_manager.passes import Level, Pass, named_after_module, properties

from .verifier import verify

#: Operations with programs have the derivatives that the user gave them, and are as many as the
#: user has written.
DERIVATIVES = "derivatives as written"
#: No operation stands for a program that it calls.
CALLS_INLINED = "calls inlined"
#: ``simplified`` has nothing left to do.
SIMPLIFIED = "simplified"
#: Loops run over the rows that they read and write at their own index.
ROWS = "rows of loops"

#: Kept by passes that rewrite operations one by one.
STRUCTURE = (DERIVATIVES, CALLS_INLINED, ROWS)
#: Kept by passes over programs that nobody differentiates any more.
FINAL = (CALLS_INLINED, ROWS)
#: Kept by passes that only remove ops.
EVERYTHING = (*STRUCTURE, SIMPLIFIED)


def _size(program: Program) -> int:
    """How many operations a program has, those in bodies included."""
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
    """A decorator that declares a function of a program to be a pass."""

    def declare(function: Callable[..., Program]) -> Pass[Program]:
        sets = properties(needs), properties(gives), properties(keeps)
        return SSA.declare(
            Pass(name or named_after_module(function), SSA, function, does, *sets, done)
        )

    return declare
