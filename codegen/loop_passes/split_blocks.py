"""Split long straight-line kernels into several functions, so that compile time grows linearly.

A trace without loops (a determinant by recursion, a network of scalars) becomes one basic block of
tens of thousands of statements.  Several passes of LLVM and register allocation take superlinear
time in the length of a block.  Functions of some hundred statements do not, and compile in
parallel. Values that cross from one part to a later one are spilled to memory.  Most of them would
be spilled anyway, for want of registers.

Legal where no part ends inside of a reduction, no statement shares more than scalars and buffers
with others (``_TOGETHER``), and what crosses from part to part in local buffers is not a task's own
(``_is_in_tasks``).  Nothing is computed in another order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from autojit.codegen.analysis.exposed import exposed
from autojit.codegen.analysis.loop_level import EVERYTHING, OWN_MEMORY, split_pass
from autojit.codegen.analysis.task_border import from_outside
from autojit.codegen.loop_ir.nodes import Begin, Constant, Finish, Load, RunTasks, Store
from autojit.codegen.loop_ir.program import Kernel
from autojit.codegen.loop_ir.sequences import Keep, Recall, Release, Repeat, Steps, Swap
from autojit.codegen.loop_ir.traversal import buffers_of, memory, walk
from autojit.codegen.loop_ir.values import Buffer, Scalar
from autojit.ir.core.affine import Affine

#: Statements of a part.
STATEMENTS = 500
#: Statements that share state other than scalars and buffers.
_TOGETHER = (Keep, Recall, Release, Repeat, Steps, Swap)
#: Roles of loops whose iterations depend on each other by reductions only.
_INDEPENDENT = ("map", "reduce")


@split_pass(
    "Splits long kernels without loops, so that they compile in less time.",
    needs=[OWN_MEMORY],
    keeps=EVERYTHING,
)
def split_blocks(kernel: Kernel) -> list[Kernel]:
    """The kernel, or several kernels that do its work one after the other."""
    sizes = [sum(1 for _ in walk([s])) for s in kernel.body]
    if sum(sizes) < 2 * STATEMENTS or any(isinstance(s, _TOGETHER) for s in walk(kernel.body)):
        return [kernel]
    bodies = _split(kernel.body, sizes)
    if len(bodies) < 2:
        return [kernel]
    crossing = _crossing_locals(bodies)
    if _is_in_tasks(bodies, crossing):
        return [kernel]
    for buffer in crossing:
        buffer.kind = "temp"  # it lies in the arena
    _spill(bodies, kernel.name)
    return [
        Kernel(f"{kernel.name}_{n}", body, buffers_of(body), kernel.values, kernel.origins)
        for n, body in enumerate(bodies)
    ]


def _split(body: list[Any], sizes: list[int]) -> list[list[Any]]:
    """Parts of about equal length.  No part ends between the beginning and the end of a
    reduction."""
    bodies: list[list[Any]] = [[]]
    length = is_open = 0
    for statement, size in zip(body, sizes, strict=True):
        if length >= STATEMENTS and not is_open:
            bodies.append([])
            length = 0
        bodies[-1].append(statement)
        length += size
        is_open += isinstance(statement, Begin) - isinstance(statement, Finish)
    return bodies


def _crossing_locals(bodies: list[list[Any]]) -> set[Buffer]:
    """Local buffers that carry values from one part to another.

    A buffer that the loops of several parts write before they read it carries nothing: it stays
    private to each iteration and each task.
    """
    seen: dict[Buffer, int] = {}
    several: set[Buffer] = set()
    spilled: set[Buffer] = set()
    for n, body in enumerate(bodies):
        for statement in body:
            locals_ = [b for b in buffers_of([statement]) if b.kind == "local"]
            several |= {b for b in locals_ if seen.setdefault(b, n) != n}
            spilled |= _live_across(statement, locals_)
    return several & spilled


def _live_across(statement: Any, locals_: list[Buffer]) -> set[Buffer]:
    """The local buffers that are live across a statement: all but those that a loop writes in each
    iteration before it reads them."""
    is_independent = (
        isinstance(statement, RunTasks) or getattr(statement, "role", "") in _INDEPENDENT
    )
    if not locals_ or not is_independent:
        return set(locals_)
    own = exposed([statement])
    return {b for b in locals_ if b in own}


def _is_in_tasks(bodies: list[list[Any]], buffers: set[Buffer]) -> bool:
    return any(
        not buffers.isdisjoint(buffers_of([s]))
        for body in bodies
        for s in body
        if isinstance(s, RunTasks)
    )


def _spill(bodies: list[list[Any]], name: str) -> None:
    """Store each scalar that a later part uses, and load it there; constants are rematerialized."""
    made: dict[int, tuple[int, Any]] = {}  # scalar -> its part and statement
    needed: list[dict[int, Scalar]] = []  # by part: scalars of earlier parts
    for n, body in enumerate(bodies):
        for s in body:
            if isinstance(getattr(s, "result", None), Scalar):
                made[s.result.number] = n, s
        needed.append(from_outside(body, set()))
    spilled = {
        number: scalar
        for scalars in needed
        for number, scalar in scalars.items()
        if not _is_repeated(made[number][1])
    }
    places = _places(spilled.values(), name)
    ends: list[list[Any]] = [[] for _ in bodies]
    for number, scalar in spilled.items():
        ends[made[number][0]].append(Store(*places[number], scalar))
    for n, body in enumerate(bodies):
        begin: list[Any] = []
        for number, scalar in needed[n].items():
            statement = made[number][1]
            if _is_repeated(statement):
                begin.append(statement)
            else:
                begin.append(Load(scalar, *places[number], None))
        body[:] = [*begin, *body, *ends[n]]


def _is_repeated(statement: Any) -> bool:
    """Whether a statement is rematerialized in each part that uses its result."""
    if isinstance(statement, Load):
        return memory(statement.buffer).kind == "input" and statement.guard is None
    return isinstance(statement, Constant)


def _places(scalars: Iterable[Scalar], name: str) -> dict[int, tuple[Buffer, Affine]]:
    """A memory location for each scalar; one buffer for each dtype."""
    by_dtype: dict[str, list[Scalar]] = {}
    for scalar in scalars:
        by_dtype.setdefault(scalar.dtype, []).append(scalar)
    found: dict[int, tuple[Buffer, Affine]] = {}
    for dtype, group in by_dtype.items():
        buffer = Buffer(f"{name}_{dtype}", dtype, len(group), "temp")
        found.update({s.number: (buffer, Affine(i)) for i, s in enumerate(group)})
    return found
