"""Passes over loop programs: their declaration, and the properties that they need and keep.

A pass is declared by the decorator for its function's argument, and named after its module::

    @kernel_pass("Runs rows in blocks.", needs=[NO_TASKS], keeps=EVERYTHING)
    def in_blocks(kernel: Kernel) -> Kernel: ...

The decorator returns the function unchanged, so that it can be called with one kernel;
:func:`pass_of` returns the pass that runs on programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from autojit.codegen.loop_ir.nodes import Loop
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.traversal import statements, walk
from autojit.codegen.loop_text.printer import print_loops
from autojit.ir.pass_manager.passes import Level, Pass, named_after_module, properties

from .verifier import verify_kernel

#: Nests over rows and columns consist of two loops.
NESTS = "nests of rows and columns"
#: No loop is divided into tasks.
NO_TASKS = "no tasks"
#: No two buffers share memory, so each may still be changed independently.
OWN_MEMORY = "memory of its own for each buffer"
#: No temporary has a place in the arena yet.
NOT_PLACED = "no places in memory"

#: Properties kept by passes that run nothing in tasks.
EVERYTHING = (NESTS, NO_TASKS, OWN_MEMORY, NOT_PLACED)

#: Properties kept by passes that may merge two loops or split one.
FLAT = (NO_TASKS, OWN_MEMORY, NOT_PLACED)
#: Properties kept by passes that may run loops in tasks.
IN_TASKS = (OWN_MEMORY, NOT_PLACED)

Function = Callable[..., Any]
F = TypeVar("F", bound=Callable[..., Any])


def _sizes(program: LoopProgram) -> dict[str, int]:
    every = list(statements(program))
    return {"loops": sum(isinstance(s, Loop) for s in every), "statements": len(every)}


def _state(program: LoopProgram) -> Any:
    places = {buffer.name: place for buffer, place in program.temps.items()}
    return print_loops(program), places, [b.name for b in program.taken], program.arena


def _marks(program: LoopProgram) -> dict[int, tuple[Kernel, list[Any]]]:
    """Return the kernels and their statements by identity; passes change loops in place."""
    return {id(s): (s, list(walk(s.body))) for s in program.steps if isinstance(s, Kernel)}


def _verify(program: LoopProgram, before: dict[int, tuple[Kernel, list[Any]]]) -> None:
    """Raise BrokenLoops if a new or changed kernel is wrong by itself."""
    for number, (kernel, now) in _marks(program).items():
        _, then = before.get(number, (None, []))
        if list(map(id, now)) != list(map(id, then)):
            verify_kernel(kernel)


LOOPS: Level[LoopProgram] = Level(
    "loops",
    title=lambda program: program.name,
    sizes=_sizes,
    state=_state,
    text=print_loops,
    marks=_marks,
    verify=_verify,
)


class _Decorator(Protocol):
    """The decorators of passes."""

    def __call__(
        self,
        does: str,
        *,
        needs: Iterable[str] = (),
        gives: Iterable[str] = (),
        keeps: Iterable[str] = (),
    ) -> Callable[[F], F]: ...


def pass_of(function: Callable[..., Any]) -> Pass[LoopProgram]:
    """Return the pass that a function was declared to be."""
    return LOOPS.passes[named_after_module(function)]


def _declaring(adapted: Callable[[Function, LoopProgram], None]) -> _Decorator:
    """Return a decorator of functions that ``adapted`` applies to a program."""

    def decorator(
        does: str,
        *,
        needs: Iterable[str] = (),
        gives: Iterable[str] = (),
        keeps: Iterable[str] = (),
    ) -> Callable[[F], F]:
        def declare(function: F) -> F:
            def run(program: LoopProgram) -> LoopProgram:
                adapted(function, program)
                return program

            name = named_after_module(function)
            sets = properties(needs), properties(gives), properties(keeps)
            LOOPS.declare(Pass(name, LOOPS, run, does, *sets))
            return function

        return declare

    return decorator


def _on_program(function: Function, program: LoopProgram) -> None:
    function(program)


def _on_steps(function: Function, program: LoopProgram) -> None:
    program.steps = function(program.steps)


def _on_kernels(function: Function, program: LoopProgram) -> None:
    program.steps = [function(s) if isinstance(s, Kernel) else s for s in program.steps]


def _to_several(function: Function, program: LoopProgram) -> None:
    program.steps = [
        made for s in program.steps for made in (function(s) if isinstance(s, Kernel) else [s])
    ]


#: Declares a function that changes a program in place.
loop_pass = _declaring(_on_program)
#: Declares a function from the list of steps to another one.
steps_pass = _declaring(_on_steps)
#: Declares a function from a kernel to another one.
kernel_pass = _declaring(_on_kernels)
#: Declares a function from a kernel to several.
split_pass = _declaring(_to_several)
