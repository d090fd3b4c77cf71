"""Python statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from . import arithmetic, calls
from .body import Body
from .calls import Called, Calls
from .expressions import place_of
from .kinds import LLVM, STORED, Array, Value, constant, refused


class Returned(NamedTuple):
    """A ``return``: the index of its line, and its value."""

    line: int
    value: Value | None


class Statements(Calls):
    """Translates the statements of one function."""

    def __init__(self, body: Body, called: Called, statements: Sequence[ast.stmt]) -> None:
        super().__init__(body, called)
        self.statements = statements
        #: The names of arrays that change places.
        self.swapped = _swapped(statements)
        self.returned: list[Returned] = []
        #: The blocks to which ``break`` jumps.
        self._ends: list[str] = []

    def translate(self) -> None:
        self.block(self.statements)

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for s in statements:
            if not self.body.is_open:
                raise refused(f"{ast.unparse(s)} is never reached")
            translate = _STATEMENTS.get(type(s))
            if translate is None:
                raise refused(ast.unparse(s))
            translate(self, s)

    # -- assignments --------------------------------------------------------------

    def assign(self, s: ast.Assign) -> None:
        match s.targets:
            case [ast.Name(name)]:
                self._bind(name, s.value)
            case [ast.Subscript() as target]:
                array, value = self.array(target.value), self.value(s.value)
                self.store(array.kind, self.place(array, target.slice), value)
            case [ast.Tuple([ast.Name(x), ast.Name(y)])]:
                if ast.unparse(s.value) != f"({y}, {x})":
                    raise refused(ast.unparse(s))
                self._swap(x, y)
            case _:
                raise refused(ast.unparse(s))

    def _bind(self, name: str, e: ast.expr) -> None:
        made = calls.array(self, name, e) if isinstance(e, ast.Call) else None
        found = made or self.argument(e)
        if isinstance(found, Value):
            self.set(name, found)
        elif self.body.label != "start" or isinstance(self.body.names.get(name), str):
            raise refused(f"the array {name} is bound in a branch")
        else:
            self.body.bind(name, found, is_swapped=name in self.swapped)

    def _swap(self, x: str, y: str) -> None:
        first, second = self.body.array(x), self.body.array(y)
        if (first.kind, first.count) != (second.kind, second.count):
            raise refused(f"{x} and {y} change places")
        for name, array in ((x, second), (y, first)):
            slot, stored = self.body.names[name], STORED[array.kind]
            assert isinstance(slot, Array)
            self.body.line(f"store {stored}* {array.pointer}, {stored}** {slot.pointer}")

    def set(self, name: str, x: Value) -> None:
        """Assign to a variable, which keeps the kind of its first value."""
        slot, llvm = place_of(name), LLVM[x.kind]
        if name not in self.body.names:
            self.body.names[name] = x.kind
            self.body.first.append(f"  {slot} = alloca {llvm}")
        known = self.body.names[name]
        if known != x.kind:
            raise refused(f"{name} is {known} and {x.kind}")
        self.body.line(f"store {x.typed}, {llvm}* {slot}")

    def augmented(self, s: ast.AugAssign) -> None:
        if not isinstance(s.target, ast.Name):
            raise refused(ast.unparse(s))
        self.set(s.target.id, self.binary(ast.BinOp(s.target, s.op, s.value)))

    # -- jumps ----------------------------------------------------------------------

    def branch(self, s: ast.If) -> None:
        body = self.body
        test = self.test(s.test)
        first, second, end = body.fresh("then"), body.fresh("else"), body.fresh("end")
        body.fork(test, first, second if s.orelse else end)
        goes_on = not s.orelse
        for label, statements in ((first, s.body), (second, s.orelse)):
            if statements:
                body.begin(label)
                self.block(statements)
                goes_on |= body.is_open
                body.jump(end)
        if goes_on:
            body.begin(end)

    def loop(self, s: ast.While) -> None:
        body = self.body
        test, inside, end = body.fresh("test"), body.fresh("loop"), body.fresh("end")
        body.begin(test)
        body.fork(self.test(s.test), inside, end)
        body.begin(inside)
        self._repeated(s.body, test, end)

    def _repeated(self, statements: Sequence[ast.stmt], again: str, end: str) -> None:
        self._ends.append(end)
        self.block(statements)
        self._ends.pop()
        self.body.jump(again)
        self.body.begin(end)

    def counted(self, s: ast.For) -> None:
        """A loop over ``range(stop)`` or ``range(start, stop)``."""
        match s:
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), arguments)):
                bounds = [ast.Constant(0), *arguments][-2:]
            case _:
                raise refused(ast.unparse(s))
        body = self.body
        self.set(name, self.as_kind(bounds[0], "i64"))
        test, inside, end = body.fresh("test"), body.fresh("loop"), body.fresh("end")
        body.begin(test)
        count = self.value(ast.Name(name))
        body.fork(arithmetic.compare(body, "<", count, self.value(bounds[1])), inside, end)
        body.begin(inside)
        step = body.fresh("step")
        self._ends.append(end)
        self.block(s.body)
        self._ends.pop()
        body.begin(step)
        one = arithmetic.binary(body, "+", self.value(ast.Name(name)), constant("i64", 1))
        self.set(name, one)
        body.jump(test)
        body.begin(end)

    def leave(self, s: ast.Break) -> None:
        self.body.jump(self._ends[-1])

    def give(self, s: ast.Return) -> None:
        value = None if s.value is None else self.value(s.value)
        self.body.line("ret")
        self.returned.append(Returned(len(self.body.lines) - 1, value))
        self.body.is_open = False

    def finish(self) -> str:
        """Write the returns, and return the kind of the value, or nothing if there is none."""
        if self.body.is_open:
            self.body.line("ret")
            self.returned.append(Returned(len(self.body.lines) - 1, None))
        values = [r.value for r in self.returned if r.value is not None]
        if values and len(values) < len(self.returned):
            raise refused("a function returns a value, or none")
        kind = values[0].kind if values else ""
        for x in values:
            kind = arithmetic.unified(kind, x.kind)
        for r in reversed(self.returned):
            with self.body.apart() as lines:
                if r.value is None:
                    self.body.line("ret void")
                else:
                    self.body.line(f"ret {arithmetic.convert(self.body, r.value, kind).typed}")
            self.body.lines[r.line : r.line + 1] = lines
        return kind

    # -- others -----------------------------------------------------------------------

    def expression(self, s: ast.Expr) -> None:
        """A call, or the documentation."""
        if isinstance(s.value, ast.Call):
            self.effect(s.value)
        elif not isinstance(s.value, ast.Constant):
            raise refused(ast.unparse(s))

    def nothing(self, s: ast.Pass) -> None:
        """Translate to nothing."""


def _swapped(statements: Sequence[ast.stmt]) -> set[str]:
    """The names of a function that change places."""
    every = (node for s in statements for node in ast.walk(s))
    targets = (t for s in every if isinstance(s, ast.Assign) for t in s.targets)
    tuples = (t for t in targets if isinstance(t, ast.Tuple))
    return {x.id for t in tuples for x in t.elts if isinstance(x, ast.Name)}


_STATEMENTS: dict[type, Callable[[Statements, Any], None]] = {
    ast.Assign: Statements.assign,
    ast.AugAssign: Statements.augmented,
    ast.Break: Statements.leave,
    ast.Expr: Statements.expression,
    ast.For: Statements.counted,
    ast.If: Statements.branch,
    ast.Pass: Statements.nothing,
    ast.Return: Statements.give,
    ast.While: Statements.loop,
}
