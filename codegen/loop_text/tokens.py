"""Tokens of the text of loop programs, with lines and indentation, and errors that show them."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from autojit.ir.tools.text import ParseError

__all__ = ["ParseError", "Token", "Tokens"]

_TOKEN = re.compile(
    r"""
      (?P<skip> [ \t\r]+ )
    | (?P<remark> \#[^\n\#]* )
    | (?P<number> \d+(?:\.\d+)?(?:e[+-]?\d+)? )
    | (?P<word> [A-Za-z_]\w* )
    | (?P<string> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
    | (?P<mark> \.\. | // | == | != | <= | >= | [()\[\]{}:,=+\-*/%<>&|^@] )
    """,
    re.VERBOSE,
)
_WORDS = {"newline": "the end of the line", "end": "the end of the text"}
_WORDS |= {"indent": "a deeper line", "dedent": "the end of the block"}


class Token(NamedTuple):
    kind: str
    text: str
    position: int


def _of_line(text: str, start: int, end: int) -> list[Token]:
    found, position = [], start
    while position < end:
        match = _TOKEN.match(text, position, end)
        if match is None:
            raise ParseError(f"unexpected character {text[position]!r}", text, position)
        if match.lastgroup != "skip":
            found.append(Token(str(match.lastgroup), match.group().strip(), position))
        position = match.end()
    # Remarks on loops matter; other remarks are comments.
    if found and found[0].text == "for":
        return found
    return [token for token in found if token.kind != "remark"]


def _all(text: str) -> list[Token]:
    """Return the tokens of all lines; indents and dedents are found as in Python."""
    found: list[Token] = []
    depths, position = [0], 0
    for line in text.splitlines(keepends=True):
        mine = _of_line(text, position, position + len(line.rstrip("\r\n")))
        position += len(line)
        if not mine:
            continue
        depth = len(line) - len(line.lstrip())
        first = mine[0].position
        if depth > depths[-1]:
            depths.append(depth)
            found.append(Token("indent", "", first))
        while depth < depths[-1]:
            depths.pop()
            found.append(Token("dedent", "", first))
        if depth != depths[-1]:
            raise ParseError("a line between two depths of indentation", text, first)
        found += [*mine, Token("newline", "", position - 1)]
    end = len(text)
    return [*found, *(Token("dedent", "", end) for _ in depths[1:]), Token("end", "", end)]


class Tokens:
    """Reads tokens in order; an unexpected token is an error that shows the line."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.all = _all(text)
        self.at = 0

    @property
    def next(self) -> Token:
        return self.all[self.at]

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        raise ParseError(message, self.text, (token or self.next).position)

    def take(self, kind: str, expected: str, text: str | None = None) -> Token:
        """Consume the next token, which must be of that kind (and text)."""
        token = self.next
        if token.kind != kind or (text is not None and token.text != text):
            self.fail(f"expected {expected}, got {_WORDS.get(token.kind, token.text)}")
        self.at += 1
        return token

    def word(self, *texts: str) -> None:
        """Consume words that must be next."""
        for text in texts:
            self.take("word", repr(text), text)

    def mark(self, *texts: str) -> None:
        for text in texts:
            self.take("mark", repr(text), text)

    def is_at(self, text: str, ahead: int = 0) -> bool:
        """Whether a word or mark is next."""
        token = self.all[min(self.at + ahead, len(self.all) - 1)]
        return token.kind in ("word", "mark") and token.text == text

    def has(self, text: str) -> bool:
        """Consume a word or mark, if it is next."""
        found = self.is_at(text)
        self.at += found
        return found

    def has_words(self, *texts: str) -> bool:
        """Consume words and marks, if all of them are next."""
        found = all(self.is_at(text, n) for n, text in enumerate(texts))
        self.at += len(texts) * found
        return found

    def in_line(self, *texts: str) -> bool:
        """Whether one of these words and marks is ahead in the line."""
        for n in range(self.at, len(self.all)):
            token = self.all[n]
            if token.kind == "newline":
                return False
            if token.kind in ("word", "mark") and token.text in texts:
                return True
        return False

    def integer(self, expected: str = "a whole number") -> int:
        sign = -1 if self.has("-") else 1
        token = self.take("number", expected)
        if not token.text.isdigit():
            self.fail(f"expected {expected}, got {token.text}", token)
        return sign * int(token.text)

    def end_line(self) -> None:
        self.take("newline", "the end of the line")
