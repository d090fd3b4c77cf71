"""Python expressions."""

from __future__ import annotations

import ast
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from . import arithmetic
from .body import Body
from .kinds import LLVM, STORED, Array, Value, constant, is_float, refused

#: The registers of a thread, which are not negative.
_REGISTERS = {"threadIdx": "tid", "blockIdx": "ctaid", "gridDim": "nctaid", "blockDim": "ntid"}
_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
#: Operators that cost little, and mean nothing worse than an unused number where they are not
#: needed.
_CHEAP = (ast.Add, ast.Sub, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


def is_simple(e: ast.expr) -> bool:
    """Whether an expression may be computed where Python would not compute it."""
    match e:
        case ast.Name() | ast.Constant() | ast.Attribute():
            return True
        case ast.UnaryOp(operand=x):
            return is_simple(x)
        case ast.BinOp(left=x, op=op, right=y):
            return isinstance(op, _CHEAP) and is_simple(x) and is_simple(y)
        case ast.Compare(left=x, comparators=others):
            return is_simple(x) and all(map(is_simple, others))
        case ast.BoolOp(values=values):
            return all(map(is_simple, values))
        case ast.Call(func=ast.Attribute(value=ast.Name("np")), args=[x]):
            return is_simple(x)
    return False


class Expressions(ABC):
    """Translates the expressions of one function."""

    def __init__(self, body: Body) -> None:
        self.body = body

    def value(self, e: ast.expr) -> Value:
        """A scalar."""
        translate = _EXPRESSIONS.get(type(e))
        if translate is None:
            raise refused(ast.unparse(e))
        return translate(self, e)

    def as_kind(self, e: ast.expr, kind: str) -> Value:
        return arithmetic.convert(self.body, self.value(e), kind)

    def test(self, e: ast.expr) -> Value:
        """A condition."""
        found = self.value(e)
        if found.kind != "bool":
            raise refused(f"{ast.unparse(e)} as a condition")
        return found

    def argument(self, e: ast.expr) -> Value | Array:
        """A scalar, or an array by its name."""
        if isinstance(e, ast.Name) and isinstance(self.body.names.get(e.id), Array):
            return self.body.array(e.id)
        return self.value(e)

    # -- names and numbers ----------------------------------------------------

    def literal(self, e: ast.Constant) -> Value:
        kinds: dict[type, str] = {bool: "bool", int: "i64", float: "f64"}
        kind = kinds.get(type(e.value))
        if kind is None:
            raise refused(ast.unparse(e))
        return constant(kind, e.value)

    def name(self, e: ast.Name) -> Value:
        kind = self.body.names.get(e.id)
        if not isinstance(kind, str):
            raise refused(f"{e.id} is no scalar")
        llvm = LLVM[kind]
        return self.body.define(kind, f"load {llvm}, {llvm}* {place_of(e.id)}")

    def attribute(self, e: ast.Attribute) -> Value:
        match e:
            case ast.Attribute(ast.Name("math"), name):
                return constant("f64", getattr(math, name))
            case ast.Attribute(ast.Attribute(ast.Name("cuda"), place), "x") if place in _REGISTERS:
                register = f"llvm.nvvm.read.ptx.sreg.{_REGISTERS[place]}.x"
                return self.body.call("u32", register, [])
            case ast.Attribute(ast.Name(name), "size") if name in self.body.names:
                count = self.body.array(name).count
                if count is not None:
                    return count
        raise refused(ast.unparse(e))

    # -- elements ---------------------------------------------------------------

    def place(self, array: Array, index: ast.expr) -> str:
        """A pointer to an element, whose index is not negative.

        An index of 32 bits is below ``2**31``, and is extended with its sign.  As unsigned numbers,
        NVVM 13 extends a part of a sum and adds the rest: ``zext(x + 2) + 15`` for
        ``zext(x + 17)``, which is 2**32 elements too far where ``x + 2`` is negative.
        """
        place, stored = self.value(index), STORED[array.kind]
        if place.kind == "u32" and place.number is None:
            place = arithmetic.convert(self.body, place, "i32")
        wide = arithmetic.convert(self.body, place, "i64")
        name = f"%{self.body.fresh('p')}"
        self.body.line(
            f"{name} = getelementptr inbounds {stored}, {stored}* {array.pointer}, {wide.typed}"
        )
        return name

    def subscript(self, e: ast.Subscript) -> Value:
        array = self.array(e.value)
        return self.load(array.kind, self.place(array, e.slice))

    def array(self, e: ast.expr) -> Array:
        if not isinstance(e, ast.Name):
            raise refused(ast.unparse(e))
        return self.body.array(e.id)

    def load(self, kind: str, place: str) -> Value:
        stored = STORED[kind]
        found = self.body.define(kind, f"load {stored}, {stored}* {place}")
        if kind != "bool":
            return found
        return self.body.define("bool", f"icmp ne i8 {found.text}, 0")

    def store(self, kind: str, place: str, x: Value) -> None:
        x = arithmetic.convert(self.body, x, kind)
        stored = STORED[kind]
        if kind == "bool":
            x = arithmetic.convert(self.body, x, "u8")
        self.body.line(f"store {stored} {x.text}, {stored}* {place}")

    # -- operators --------------------------------------------------------------

    def binary(self, e: ast.BinOp) -> Value:
        x, y = self.value(e.left), self.value(e.right)
        return arithmetic.binary(self.body, _OPERATORS[type(e.op)], x, y)

    def unary(self, e: ast.UnaryOp) -> Value:
        x = self.value(e.operand)
        if isinstance(e.op, ast.USub):
            return arithmetic.negative(self.body, x)
        if isinstance(e.op, ast.Invert):
            return arithmetic.inverted(self.body, x)
        return arithmetic.opposite(self.body, x)

    def compare(self, e: ast.Compare) -> Value:
        if not all(map(is_simple, e.comparators[1:])):
            raise refused(ast.unparse(e))
        values = [self.value(x) for x in (e.left, *e.comparators)]
        found: Value | None = None
        for op, x, y in zip(e.ops, values, values[1:], strict=False):
            one = arithmetic.compare(self.body, _OPERATORS[type(op)], x, y)
            found = (
                one if found is None else self.body.define("bool", f"and {found.typed}, {one.text}")
            )
        assert found is not None
        return found

    def logic(self, e: ast.BoolOp) -> Value:
        found = self.test(e.values[0])
        for other in e.values[1:]:
            found = (
                self._both(found, other) if isinstance(e.op, ast.And) else self._any(found, other)
            )
        return found

    def _both(self, x: Value, other: ast.expr) -> Value:
        if is_simple(other):
            return self.body.define("bool", f"and {x.typed}, {self.test(other).text}")
        return self._chosen(x, lambda: self.test(other), lambda: constant("bool", False))

    def _any(self, x: Value, other: ast.expr) -> Value:
        if is_simple(other):
            return self.body.define("bool", f"or {x.typed}, {self.test(other).text}")
        return self._chosen(x, lambda: constant("bool", True), lambda: self.test(other))

    def choice(self, e: ast.IfExp) -> Value:
        test = self.test(e.test)
        if not (is_simple(e.body) and is_simple(e.orelse)):
            return self._chosen(test, lambda: self.value(e.body), lambda: self.value(e.orelse))
        x, y = self.value(e.body), self.value(e.orelse)
        kind = arithmetic.unified(x.kind, y.kind)
        x, y = (arithmetic.convert(self.body, v, kind) for v in (x, y))
        return arithmetic.select(self.body, test, x, y)

    def _chosen(self, test: Value, yes: Callable[[], Value], no: Callable[[], Value]) -> Value:
        """One of two values, each computed in a block of its own."""
        body = self.body
        first, second, end = body.fresh("yes"), body.fresh("no"), body.fresh("end")
        body.fork(test, first, second)
        arms = []
        for label, compute in ((first, yes), (second, no)):
            with body.apart() as lines:
                body.begin(label)
                arms.append((lines, compute(), body.label))
                body.is_open = False
        kind = arithmetic.unified(arms[0][1].kind, arms[1][1].kind)
        ends = []
        for lines, x, label in arms:
            with body.apart() as more:
                x = arithmetic.convert(body, x, kind)
                body.line(f"br label %{end}")
            body.lines += [*lines, *more]
            ends.append(f"[ {x.text}, %{label} ]")
        body.begin(end)
        return body.define(kind, f"phi {LLVM[kind]} {', '.join(ends)}")

    @abstractmethod
    def call(self, e: ast.Call) -> Value:
        """The value of a call."""

    def floats(self, expressions: list[ast.expr]) -> list[Value]:
        """Arguments of one float kind."""
        values = [self.value(x) for x in expressions]
        kind = values[0].kind
        for x in values:
            kind = arithmetic.unified(kind, x.kind)
        if not is_float(kind):
            raise refused(f"a function of {kind}")
        return [arithmetic.convert(self.body, x, kind) for x in values]


def place_of(name: str) -> str:
    """The slot of a variable."""
    return f"%{name}.slot"


_EXPRESSIONS: dict[type, Callable[[Expressions, Any], Value]] = {
    ast.Attribute: Expressions.attribute,
    ast.BinOp: Expressions.binary,
    ast.BoolOp: Expressions.logic,
    ast.Call: lambda of, e: of.call(e),
    ast.Compare: Expressions.compare,
    ast.Constant: Expressions.literal,
    ast.IfExp: Expressions.choice,
    ast.Name: Expressions.name,
    ast.Subscript: Expressions.subscript,
    ast.UnaryOp: Expressions.unary,
}
