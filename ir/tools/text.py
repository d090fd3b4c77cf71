"""Programs as text: ``print_program`` writes it, ``parse`` reads it (see GRAMMAR.md).

>>> print(parse('''
... program main(%x: f64[3]) {
...   %y: f64[3] = sin %x
...   %z: f64[] = sum %y {axes=(0,)}   # a comment
...   return %z
... }
... '''))
program main(%0: f64[3]) {
  %1: f64[3] = sin %0
  %2: f64[] = sum %1 {axes=(0,)}
  return %2
}
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from autojit.ir.core.declaration import Declaration, declaration
from autojit.ir.core.program import Op, Program, Value
from autojit.ir.core.types import (
    DTYPE_NAMES,
    Type,
    TypeMismatch,
    dtype_from_name,
    dtype_name,
    parse_type,
)

_T = TypeVar("_T")

_WORDS: dict[str, Any] = {"True": True, "False": False, "None": None}
_DTYPE_WORDS = frozenset(DTYPE_NAMES.values())


# -- printing -----------------------------------------------------------------


def print_program(program: Program, *, sources: bool = False) -> str:
    """Return the text of a program; with ``sources`` each op ends in ``# file:line``."""
    return "\n".join(program_lines(program, _source_of if sources else None))


def program_lines(
    program: Program, remark: Callable[[Op], str] | None = None, indent: str = ""
) -> list[str]:
    """Return the header, one entry per op, the return and the closing brace.

    An entry has several lines if a parameter is a program, and ends in the ``remark`` on the op.
    Undefined values, which only a faulty program has, are written ``%?``.
    """
    names: dict[Value, str] = {}

    def define(values: Iterable[Value]) -> str:
        for v in values:
            names.setdefault(v, f"%{len(names)}")
        return ", ".join(f"{names[v]}: {v.type}" for v in values)

    def use(values: Iterable[Value]) -> str:
        return ", ".join(names.get(v, "%?") for v in values)

    name = program.name if program.name.isidentifier() else repr(program.name)
    lines = [f"program {name}({define(program.inputs)}) {{"]
    for op in program.ops:
        operands = use(op.operands)  # before its results are defined
        parts = [f"{indent}  {define(op.results)} = {op.kind.name}", operands]
        parts.append(_print_params(op, remark, indent))
        parts.append(remark(op) if remark else "")
        lines.append(" ".join(part for part in parts if part))
    outputs = use(program.outputs)
    return [*lines, f"{indent}  return {outputs}".rstrip(), f"{indent}}}"]


def _source_of(op: Op) -> str:
    return f" # {op.source.described}" if op.source else ""


def _print_params(op: Op, remark: Callable[[Op], str] | None, indent: str) -> str:
    def written(value: Any) -> str:
        if isinstance(value, Program):
            return "\n".join(program_lines(value, remark, indent + "  "))
        if isinstance(value, tuple):
            return _in_brackets([written(item) for item in value])
        return print_static(value)

    pairs = [f"{name}={written(op.params[name])}" for name in sorted(op.params)]
    return f"{{{', '.join(pairs)}}}" if pairs else ""


def _in_brackets(items: Sequence[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def print_static(value: Any) -> str:
    """Return the text of a parameter that is not a program.

    >>> print_static((1, -0.0, 2j, np.dtype("float32"), "left"))
    "(1, -0.0, (0+2j), f32, 'left')"
    """
    if isinstance(value, np.dtype):
        return dtype_name(value)
    if isinstance(value, tuple):
        return _in_brackets([print_static(item) for item in value])
    text = repr(value)
    if isinstance(value, complex) and not text.startswith("("):
        return f"(0{text})" if text.startswith("-") else f"(0+{text})"
    return text


# -- parsing ------------------------------------------------------------------


class ParseError(ValueError):
    """Text that is not a program; the message shows the line and the position."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.line = text.count("\n", 0, position) + 1
        start = text.rfind("\n", 0, position) + 1
        end = text.find("\n", position)
        shown = text[start : end if end >= 0 else len(text)]
        caret = " " * (position - start) + "^"
        super().__init__(f"line {self.line}: {message}\n  {shown}\n  {caret}")


class _Token(NamedTuple):
    kind: str
    text: str
    position: int


_NUMBER = r"(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf|nan)"
_TOKEN = re.compile(
    rf"""
      (?P<skip> [ \t\r]+ | \#[^\n]* )
    | (?P<newline> \n )
    | (?P<value> %\w+ )
    | (?P<complex> \( [+-]?{_NUMBER}[+-]{_NUMBER}j \) )
    | (?P<type> [A-Za-z]\w* \[ [^\]\n]* \] )
    | (?P<number> [+-]?{_NUMBER} \b )
    | (?P<word> [A-Za-z_]\w* )
    | (?P<string> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
    | (?P<mark> [(){{}},:=] )
    """,
    re.VERBOSE,
)


def _tokens(text: str) -> list[_Token]:
    found, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ParseError(f"unexpected character {text[position]!r}", text, position)
        if match.lastgroup != "skip":
            found.append(_Token(str(match.lastgroup), match.group(), position))
        position = match.end()
    return [*found, _Token("end", "", len(text))]


def parse(text: str) -> Program:
    """Return the program that a text describes.

    Comments (from # to the end of the line) and blank lines are skipped. The stated types are
    compared with the inferred ones. Raises :class:`ParseError`.
    """
    parser = _Parser(text)
    program = parser.program()
    parser.skip_lines()
    parser.take("end", "the end of the text")
    return program


class _Parser:
    """A recursive descent parser with one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = _tokens(text)
        self.index = 0

    # the tokens

    @property
    def next(self) -> _Token:
        return self.tokens[self.index]

    def fail(self, message: str, token: _Token | None = None) -> NoReturn:
        raise ParseError(message, self.text, (token or self.next).position)

    def take(self, kind: str, expected: str, text: str | None = None) -> _Token:
        """Consume the next token, which must be of that kind (and text)."""
        token = self.next
        if token.kind != kind or (text is not None and token.text != text):
            got = {"newline": "the end of the line", "end": "the end of the text"}
            self.fail(f"expected {expected}, got {got.get(token.kind, token.text)}")
        self.index += 1
        return token

    def mark(self, text: str) -> _Token:
        return self.take("mark", repr(text), text)

    def at_mark(self, text: str) -> bool:
        return self.next.kind == "mark" and self.next.text == text

    def skip_lines(self) -> None:
        while self.next.kind == "newline":
            self.index += 1

    def end_line(self) -> None:
        self.take("newline", "the end of the line")
        self.skip_lines()

    def listed(self, item: Callable[[], _T], starts: bool) -> list[_T]:
        """Parse items between commas; none if the list does not start."""
        items = [item()] if starts else []
        while starts and self.at_mark(","):
            self.mark(",")
            items.append(item())
        return items

    # the rules

    def program(self) -> Program:
        self.skip_lines()
        self.take("word", "'program'", "program")
        name = self.name()
        scope: dict[str, Value] = {}
        self.mark("(")
        inputs = self.listed(self.definition, not self.at_mark(")"))
        self.mark(")")
        self.mark("{")
        self.end_line()
        values = [self.define(token, Value(type), scope) for token, type in inputs]
        ops = []
        while self.next.kind == "value":
            ops.append(self.op(scope))
            self.end_line()
        self.take("word", "an op (%name: type = …) or 'return'", "return")
        outputs = self.uses(scope)
        self.end_line()
        self.mark("}")
        return Program(values, ops, outputs, name=name)

    def name(self) -> str:
        if self.next.kind == "string":
            return str(ast.literal_eval(self.take("string", "a name").text))
        return self.take("word", "the name of the program").text

    def definition(self) -> tuple[_Token, Type]:
        token = self.take("value", "a value (%name)")
        self.mark(":")
        stated = self.take("type", "a type like f64[3,4] or f64[]")
        try:
            return token, parse_type(stated.text)
        except TypeMismatch as error:
            self.fail(str(error), stated)

    def define(self, token: _Token, value: Value, scope: dict[str, Value]) -> Value:
        if token.text in scope:
            self.fail(f"{token.text} is defined twice", token)
        scope[token.text] = value
        return value

    def uses(self, scope: dict[str, Value]) -> list[Value]:
        def use() -> Value:
            token = self.take("value", "a value (%name)")
            if token.text not in scope:
                self.fail(f"{token.text} is not defined before this line", token)
            return scope[token.text]

        return self.listed(use, self.next.kind == "value")

    def op(self, scope: dict[str, Value]) -> Op:
        results = self.listed(self.definition, True)
        self.mark("=")
        name = self.take("word", "the name of an op")
        try:
            kind = declaration(name.text)
        except TypeMismatch as error:
            self.fail(str(error), name)
        operands = self.uses(scope)
        params = self.params() if self.at_mark("{") else {}
        inferred = self.infer(name, kind, operands, params)
        if len(inferred) != len(results):
            self.fail(f"{name.text} has {len(inferred)} results, not {len(results)}", name)
        for (token, stated), type in zip(results, inferred, strict=True):
            if stated != type:
                self.fail(f"{token.text} is {type}, not {stated}", token)
        values = [self.define(token, Value(type), scope) for token, type in results]
        return Op(kind, tuple(operands), params, tuple(values))

    def infer(
        self, name: _Token, kind: Declaration, operands: Sequence[Value], params: dict[str, Any]
    ) -> tuple[Type, ...]:
        try:
            kind.check_signature(len(operands), params)
            return kind.infer(*[v.type for v in operands], **params)
        except TypeMismatch as error:
            self.fail(str(error), name)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            self.fail(f"{name.text} does not take parameters like these ({error})", name)

    def params(self) -> dict[str, Any]:
        def pair() -> tuple[str, Any]:
            token = self.take("word", "the name of a parameter")
            self.mark("=")
            if token.text in params:
                self.fail(f"parameter {token.text} is given twice", token)
            params[token.text] = self.static()
            return token.text, params[token.text]

        params: dict[str, Any] = {}
        self.mark("{")
        self.listed(pair, not self.at_mark("}"))
        self.mark("}")
        return params

    def static(self) -> Any:
        """Parse a parameter: a number, word, string, dtype, tuple or program."""
        token = self.next
        if token.kind == "word" and token.text == "program":
            return self.program()
        if self.at_mark("("):
            return self.tuple()
        self.index += 1
        if token.kind == "number":
            return float(token.text) if re.search(r"[.einf]", token.text) else int(token.text)
        if token.kind == "complex":
            return complex(token.text)
        if token.kind == "string":
            return ast.literal_eval(token.text)
        if token.text in _WORDS:
            return _WORDS[token.text]
        if token.text in _DTYPE_WORDS:
            return dtype_from_name(token.text)
        self.fail(
            "expected a number, True, False, None, a string, a dtype, a tuple or a program", token
        )

    def tuple(self) -> Any:
        items = []
        self.mark("(")
        while not self.at_mark(")"):
            items.append(self.static())
            if not self.at_mark(")"):
                self.mark(",")
        self.mark(")")
        return tuple(items)
