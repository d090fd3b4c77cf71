"""Inner functions that the functions of a recursion make anew in each run, and call.

    def f(n):
        def g(k):
            return f(n - 1) if k < 1 else g(k - 1)
        return g(n)

Each call of ``f`` makes another ``g``, with variables of its own. In versions a *shape* stands for
all of them: the code, and the variables that are there before the recursion. The values of the
others belong to the arguments of a call. No function may bind them meanwhile.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from autojit.capture.rewriting.plain import UNBOUND
from autojit.capture.rewriting.twins import is_twin_code

from .messages import NOT_SAVED
from .records import Inner, Outside
from .versions import Machine, refused

_BINDS = ("STORE_DEREF", "DELETE_DEREF")


class Shape:
    """Inner functions that refer to each other, without the values of their variables."""

    def __init__(self, functions: Sequence[FunctionType], outside: Outside) -> None:
        self.parts = [(f.__code__, f.__globals__, f.__defaults__, f.__kwdefaults__,
                       [cell if outside.has_seen(cell) else None for cell in f.__closure__ or ()])
                      for f in functions]  # fmt: skip
        #: Stands for the first function in versions and in messages.
        self.function = self._blank()[0]

    def is_like(self, other: Shape) -> bool:
        """Whether two shapes differ in nothing."""
        return len(self.parts) == len(other.parts) and all(
            a[0] is b[0] and a[1] is b[1]
            and all(x is y for x, y in zip(a[4], b[4], strict=True))
            for a, b in zip(self.parts, other.parts, strict=True)
        )  # fmt: skip

    def _blank(self) -> list[FunctionType]:
        made = []
        for code, space, defaults, named, cells in self.parts:
            closure = tuple(CellType() if cell is None else cell for cell in cells)
            f = FunctionType(code, space, code.co_name, defaults, closure)
            f.__kwdefaults__ = named
            made.append(f)
        return made

    def filled(self, values: Sequence[Sequence[Any]]) -> FunctionType:
        """The first function, with the values of the variables of each one."""
        made = self._blank()
        for f, part, own in zip(made, self.parts, values, strict=True):
            empty = (x for x, cell in zip(f.__closure__ or (), part[4], strict=True)
                     if cell is None)  # fmt: skip
            for cell, value in zip(empty, own, strict=True):
                if value is not UNBOUND:
                    cell.cell_contents = made[value.number] if type(value) is Inner else value
        return made[0]


def taken_apart(
    machine: Machine, outside: Outside, f: Any, twin: Any
) -> tuple[Any, Any, tuple[Any, ...]]:
    """The function and the twin that stand for a callee in versions, and the values of the
    variables that are its own; these are the function itself, and none, if it was there before the
    recursion."""
    if type(f) is not FunctionType or not is_twin_code(f.__code__) or outside.has_seen(f):
        return f, twin, ()
    functions = [f]
    values = tuple(tuple(_values(each, functions, outside)) for each in functions)
    shape = Shape(functions, outside)
    known = next((x for x in machine.shapes if x.is_like(shape)), None)
    if known is None:
        known = shape
        machine.shapes.append(shape)
    return known.function, known, values


def _values(f: FunctionType, functions: list[FunctionType], outside: Outside) -> Iterator[Any]:
    """The values of the variables of a function that are its own; more inner functions among them
    are added to ``functions``."""
    bound = set(_bound(f.__code__))
    for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
        if outside.has_seen(cell):
            continue
        if name in bound:
            raise refused(
                f, NOT_SAVED, what=f"the variable `{name}`, which an inner function binds"
            )
        try:
            value = cell.cell_contents
        except ValueError:
            value = UNBOUND
        is_inner = type(value) is FunctionType and is_twin_code(value.__code__)
        if is_inner and not outside.has_seen(value):
            if not any(each is value for each in functions):
                functions.append(value)
            value = Inner(next(k for k, each in enumerate(functions) if each is value))
        yield value


def _bound(code: CodeType) -> Iterator[str]:
    """The variables of outer functions that a function, or one inside it, may bind."""
    for step in dis.get_instructions(code):
        if step.opname in _BINDS and step.argval in code.co_freevars:
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _bound(constant)
