"""The measurable parts of a loop program: its steps, and parts of sequential steps.

A kernel with branches, or with a loop whose steps run in order (a ``scan``), contains loops over
arrays and library calls. These are parts too, if they are long enough: measuring a time costs some
ten nanoseconds, as much as a hundred additions.

Parts are numbered in program order, so a program has the same parts wherever it is compiled:
``(3,)`` is the fourth step, ``(3, 0)`` the first part in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from autojit.codegen.loop_ir.callbacks import Callback
from autojit.codegen.loop_ir.cost import work
from autojit.codegen.loop_ir.effects import EFFECTS
from autojit.codegen.loop_ir.matrices import Factorization, MatrixProduct
from autojit.codegen.loop_ir.nodes import Loop, RunTasks
from autojit.codegen.loop_ir.program import Kernel, LoopProgram
from autojit.codegen.loop_ir.sheets import Sheet
from autojit.codegen.loop_ir.traversal import bodies_of, in_sequence, product_of

#: The fewest additions of a part in a loop: ten times the cost of measuring its time.
LEAST = 1000


class Part(NamedTuple):
    """A separately timed part."""

    number: tuple[int, ...]
    name: str
    #: ``loops``, ``product``, ``callback``, or the library's function: ``cholesky``.
    kind: str
    #: A step of the program, or a statement in the body of one.
    node: Any


def parts_of(program: LoopProgram) -> list[Part]:
    """Return the parts of a program in order; those inside a step follow it."""
    found = []
    for number, step in enumerate(program.steps):
        kind = _kind(step)
        name, body = f"{kind}{number}", []
        if isinstance(step, Kernel):
            name, body = step.name, step.body
        found.append(Part((number,), name, kind, step))
        for k, statement in enumerate(_inside(body, in_turn=False)):
            found.append(Part((number, k), f"{name}.{k}", _kind(statement), statement))
    return found


def _kind(node: Any) -> str:
    if product_of(node) is not None:
        return "product"
    if isinstance(node, Factorization):
        return node.name
    if isinstance(node, Sheet):
        return "sheet"
    return "callback" if isinstance(node, Callback) else "loops"


def _inside(body: list[Any], *, in_turn: bool) -> Iterator[Any]:
    """Yield the parts that a loop's steps run and that contain no such loop themselves."""
    for s in body:
        if isinstance(s, RunTasks) or not in_sequence([s]):
            if in_turn and _is_long(s):
                yield s
            continue
        for inner in bodies_of(s):
            yield from _inside(inner, in_turn=in_turn or EFFECTS[type(s)].in_turn(s))


def _is_long(s: Any) -> bool:
    if isinstance(s, (Factorization, Callback, RunTasks)):
        return True
    return isinstance(s, (Loop, MatrixProduct)) and work([s]) >= LEAST
