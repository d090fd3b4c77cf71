"""Conversions, operators and comparisons.

Operators have Numba's meaning.  Integers are computed in 64 bits, signed if an operand is signed.
Where fewer bits or no signs give the same number, they are used: a literal that fits takes the kind
of the other operand of a comparison or an unsigned division.  Mixtures to which Numba gives a
surprising kind are refused: ``uint64`` with signed integers, integers with floats.

Sums and products of 64 bits wrap, as in NumPy.  LLVM is told that those of smaller numbers do not
(``nsw``), which it uses for loops and indices.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .body import Body
from .kinds import LLVM, Value, bits, constant, is_float, is_integer, is_signed, limits, refused

_FOLDED: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv,
    "%": operator.mod, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor,
}  # fmt: skip
_OF_FLOATS = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_OF_INTEGERS = {
    "+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor", "<<": "shl",
}  # fmt: skip
_COMPARISONS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def convert(body: Body, x: Value, kind: str) -> Value:
    """A value in another kind.  A float beyond an integer's range has no meaning."""
    if x.kind == kind:
        return x
    if x.number is not None and not (is_float(x.kind) and is_integer(kind)):
        return constant(kind, x.number)
    if kind == "f16":
        return _to_half(body, x)
    if x.kind == "f16":
        return convert(body, body.call("f32", "llvm.convert.from.fp16.f32", [x]), kind)
    if kind == "bool":
        return _is_true(body, x)
    word = _conversion(x.kind, kind)
    if not word:
        return replace(x, kind=kind, width=None)  # a negative number is another unsigned one
    made = body.define(kind, f"{word} {x.typed} to {LLVM[kind]}")
    return replace(made, width=x.magnitude) if word in ("sext", "zext") else made


def _to_half(body: Body, x: Value) -> Value:
    """Integers are exact in float32, or infinite in float16."""
    wide = x if is_float(x.kind) else convert(body, x, "f32")
    return body.call("f16", f"llvm.convert.to.fp16.{wide.kind}", [wide])


def _is_true(body: Body, x: Value) -> Value:
    if is_float(x.kind):
        return body.define("bool", f"fcmp une {x.typed}, {constant(x.kind, 0).text}")
    return body.define("bool", f"icmp ne {x.typed}, 0")


def _conversion(old: str, new: str) -> str:
    """LLVM's instruction that converts, or nothing if the bits stay."""
    if is_float(old) and is_float(new):
        return "fpext" if bits(new) > bits(old) else "fptrunc"
    if is_float(old):
        return "fptosi" if is_signed(new) else "fptoui"
    if is_float(new):
        return "sitofp" if is_signed(old) else "uitofp"
    if bits(new) == bits(old):
        return ""
    if bits(new) < bits(old):
        return "trunc"
    return "sext" if is_signed(old) else "zext"


def unified(x: str, y: str) -> str:
    """The kind of an expression that is one of two values."""
    if x == y:
        return x
    if is_float(x) and is_float(y):
        return "f64"
    return _of_both(x, y)


def _of_both(x: str, y: str) -> str:
    """The kind of an operation on integers of two kinds."""
    if not (is_integer(x) and is_integer(y)):
        raise refused(f"{x} with {y}")
    if not (is_signed(x) or is_signed(y)):
        return "u64"
    if "u64" in (x, y):
        raise refused(f"{x} with {y}")
    return "i64"


def binary(body: Body, sign: str, x: Value, y: Value) -> Value:
    """``x sign y`` for one of Python's operators."""
    if is_float(x.kind) and is_float(y.kind):
        return _of_floats(body, sign, x, y)
    if not (is_integer(x.kind) and is_integer(y.kind)) or sign not in _FOLDED:
        raise refused(f"{x.kind} {sign} {y.kind}")
    if sign in ("<<", ">>"):
        return _shifted(body, sign, x, y)
    if sign in ("//", "%"):
        return _divided(body, sign, x, y)
    kind = _of_both(x.kind, y.kind)
    if x.number is not None and y.number is not None:
        return constant(kind, _FOLDED[sign](x.number, y.number))
    width = _width(sign, x.magnitude, y.magnitude)
    signs = " nsw" if width < 64 and is_signed(kind) else ""
    made = _instruction(body, kind, f"{_OF_INTEGERS[sign]}{signs}", x, y)
    return replace(made, width=min(width, 64))


def _width(sign: str, x: int, y: int) -> int:
    """The bits of the magnitude of a sum, difference or product; 64 for other operators."""
    if sign == "*":
        return x + y
    return max(x, y) + 1 if sign in "+-" else 64


def _instruction(body: Body, kind: str, word: str, x: Value, y: Value) -> Value:
    x, y = convert(body, x, kind), convert(body, y, kind)
    return body.define(kind, f"{word} {x.typed}, {y.text}")


def _of_floats(body: Body, sign: str, x: Value, y: Value) -> Value:
    kind = unified(x.kind, y.kind)
    if sign == "**":
        x, y = convert(body, x, kind), convert(body, y, kind)
        return body.call(kind, "__nv_pow" + ("f" if kind == "f32" else ""), [x, y])
    if sign not in _OF_FLOATS:
        raise refused(f"{x.kind} {sign} {y.kind}")
    return _instruction(body, kind, _OF_FLOATS[sign], x, y)


def _shifted(body: Body, sign: str, x: Value, y: Value) -> Value:
    kind = "i64" if is_signed(x.kind) else "u64"
    if x.number is not None and y.number is not None and 0 <= y.number < 64:
        return constant(kind, _FOLDED[sign](x.number, y.number))
    word = "shl" if sign == "<<" else "ashr" if is_signed(kind) else "lshr"
    return _instruction(body, kind, word, x, y)


def _divided(body: Body, sign: str, x: Value, y: Value) -> Value:
    """A quotient that is rounded down, or its remainder; the divisor is not 0."""
    if x.number is not None and y.number:
        return constant(_of_both(x.kind, y.kind), _FOLDED[sign](x.number, y.number))
    x, y = _literal_as(x, y.kind), _literal_as(y, x.kind)
    if not is_signed(x.kind) and not is_signed(y.kind):
        kind = x.kind if x.kind == y.kind else "u64"
        return _instruction(body, kind, "udiv" if sign == "//" else "urem", x, y)
    kind = _of_both(x.kind, y.kind)
    x, y = convert(body, x, kind), convert(body, y, kind)
    rest = body.define(kind, f"srem {x.typed}, {y.text}")
    differs = body.define(kind, f"xor {rest.typed}, {y.text}")
    signs = body.define("bool", f"icmp slt {differs.typed}, 0")
    some = body.define("bool", f"icmp ne {rest.typed}, 0")
    is_below = body.define("bool", f"and {signs.typed}, {some.text}")
    if sign == "%":
        more = body.define(kind, f"select {is_below.typed}, {y.typed}, {constant(kind, 0).typed}")
        return body.define(kind, f"add {rest.typed}, {more.text}")
    quotient = body.define(kind, f"sdiv {x.typed}, {y.text}")
    return body.define(kind, f"sub {quotient.typed}, {convert(body, is_below, kind).text}")


def _literal_as(x: Value, kind: str) -> Value:
    """A known number in the kind of the other operand, if it fits."""
    if x.number is None or not (is_integer(x.kind) and is_integer(kind)):
        return x
    low, high = limits(kind)
    return constant(kind, x.number) if low <= x.number <= high else x


def compare(body: Body, sign: str, x: Value, y: Value) -> Value:
    """``x sign y`` for one of Python's comparisons."""
    word = _COMPARISONS[sign]
    if is_float(x.kind) and is_float(y.kind):
        kind = unified(x.kind, y.kind)
        return _compared(body, f"fcmp {'u' if word == 'ne' else 'o'}{word}", kind, x, y)
    if x.kind == y.kind == "bool" and word in ("eq", "ne"):
        return _compared(body, f"icmp {word}", "bool", x, y)
    x, y = _literal_as(_number_of(body, x), y.kind), _literal_as(_number_of(body, y), x.kind)
    kind = x.kind if x.kind == y.kind else _of_both(x.kind, y.kind)
    prefix = "" if word in ("eq", "ne") else "s" if is_signed(kind) else "u"
    return _compared(body, f"icmp {prefix}{word}", kind, x, y)


def _number_of(body: Body, x: Value) -> Value:
    return convert(body, x, "i64") if x.kind == "bool" else x


def _compared(body: Body, words: str, kind: str, x: Value, y: Value) -> Value:
    x, y = convert(body, x, kind), convert(body, y, kind)
    return body.define("bool", f"{words} {x.typed}, {y.text}")


def negative(body: Body, x: Value) -> Value:
    """``-x``; in 64 bits for signed integers."""
    if x.number is not None:
        return constant(x.kind if is_float(x.kind) else "i64", -x.number)
    if is_float(x.kind):
        return body.define(x.kind, f"fsub {LLVM[x.kind]} -0.0, {x.text}")
    if not is_signed(x.kind):
        raise refused(f"-{x.kind}")
    return binary(body, "-", constant("i64", 0), x)


def inverted(body: Body, x: Value) -> Value:
    """``~x``, in 64 bits."""
    if not is_integer(x.kind):
        raise refused(f"~{x.kind}")
    wide = convert(body, x, "i64" if is_signed(x.kind) else "u64")
    return body.define(wide.kind, f"xor {wide.typed}, -1")


def opposite(body: Body, x: Value) -> Value:
    """``not x``."""
    if x.kind != "bool":
        raise refused(f"not {x.kind}")
    return body.define("bool", f"xor {x.typed}, true")


def select(body: Body, test: Value, x: Value, y: Value) -> Value:
    """``x if test else y``, both of one kind."""
    return body.define(x.kind, f"select {test.typed}, {x.typed}, {y.typed}")
