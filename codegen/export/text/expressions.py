"""Python expressions with the precedence of their outermost operator.

>>> x, y = Expression("x"), binary("+", Expression("a"), Expression("b"))
>>> binary("*", x, y).text, binary("+", y, x).text, binary("-", x, y).text
('x * (a + b)', 'a + b + x', 'x - (a + b)')
>>> unary("-", binary("*", x, x)).text, unary("-", power(x, "2")).text
('-(x * x)', '-x**2')
"""

from __future__ import annotations

from dataclasses import dataclass

#: From loose to tight, as in Python's grammar.
CHOICE, COMPARE, OR, XOR, AND, SHIFT, ADD, MUL, UNARY, POWER, ATOM = range(11)

_LEVELS = {
    "==": COMPARE, "!=": COMPARE, "<": COMPARE, "<=": COMPARE, ">": COMPARE, ">=": COMPARE,
    "|": OR, "^": XOR, "&": AND, "<<": SHIFT, ">>": SHIFT, "+": ADD, "-": ADD,
    "*": MUL, "/": MUL, "//": MUL, "%": MUL, "@": MUL,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Expression:
    """The text of a value.

    ``shape``    the text's shape, if it differs from the value's own and broadcasts to it
    ``literal``  whether it is a Python number, which stands for an array of any shape
    """

    text: str
    level: int = ATOM
    shape: tuple[int, ...] | None = None
    literal: bool = False

    def at(self, level: int) -> str:
        """Return the text as an operand of a given precedence."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def is_name(self) -> bool:
        return self.text.isidentifier()


def binary(symbol: str, a: Expression, b: Expression) -> Expression:
    """Return ``a + b``. Operators associate to the left; comparisons are not chained."""
    level = _LEVELS[symbol]
    left = a.at(level + 1 if level == COMPARE else level)
    return Expression(f"{left} {symbol} {b.at(level + 1)}", level)


def unary(symbol: str, a: Expression) -> Expression:
    text = a.at(UNARY)
    return Expression(f"{symbol}({text})" if text[0] in "-+~" else symbol + text, UNARY)


def power(a: Expression, exponent: str) -> Expression:
    return Expression(f"{a.at(ATOM)}**{exponent}", POWER)


def call(function: str, *arguments: str) -> Expression:
    return Expression(f"{function}({', '.join(arguments)})")
