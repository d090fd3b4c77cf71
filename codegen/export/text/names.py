"""Unique identifiers for generated code, which avoid names with another meaning."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

#: C's keywords, and names that its headers define.
_C_WORDS = {
    "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch",
    "typedef", "union", "unsigned", "void", "volatile", "while", "bool", "true", "false",
    "main",
}  # fmt: skip


def identifier(words: str) -> str:
    """Return the identifier that is closest to a text.

    >>> identifier("params[0]['w']"), identifier("2x"), identifier("lambda")
    ('params_0_w', '_2x', 'lambda_')
    """
    found = words if words.isascii() and words.isidentifier() else ""
    found = found or re.sub(r"\W+", "_", words, flags=re.ASCII).strip("_") or "x"
    if found[0].isdigit():
        found = f"_{found}"
    return found + "_" if keyword.iskeyword(found) or found in _C_WORDS else found


class Names:
    """The set of names that are taken.

    >>> names = Names(["np"])
    >>> names.fresh("x"), names.fresh("x"), names.fresh("np"), names.fresh("sum")
    ('x', 'x_2', 'np_2', 'sum_2')
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {*taken, *dir(builtins)}
        self._last: dict[str, int] = {}

    def fresh(self, wanted: str, *, numbered: bool = False) -> str:
        """Return a new name; ``numbered`` names end in a number, from 1 on."""
        wanted = identifier(wanted)
        name, n = wanted, self._last.get(wanted, 0 if numbered else 1)
        while name in self._taken or (numbered and name == wanted):
            n += 1
            name = f"{wanted}_{n}" if wanted[-1] != "_" else f"{wanted}{n}"
        self._last[wanted] = n
        self._taken.add(name)
        return name
