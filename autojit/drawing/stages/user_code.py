"""The user's functions that a program comes from."""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from autojit.ir.core.values import Source, shown_file


class UserLine(NamedTuple):
    """A line of the user's code: the number of its file, its line number, and its text."""

    file: int
    number: int
    text: str

    @property
    def key(self) -> str:
        """The line's name in other stages: 8 in the first file, 8.1 in the second."""
        return key(self.file, self.number)


class UserFile(NamedTuple):
    """A file of the user's, with the functions in it that a program comes from."""

    name: str
    functions: list[list[UserLine]]


def key(file: int, number: int) -> str:
    """The name of a line."""
    return f"{number}.{file}" if file else str(number)


def files_of(places: Iterable[Source]) -> tuple[list[UserFile], dict[str, int]]:
    """The files of places, with the functions around these; and the files' numbers, by path."""
    numbers: dict[str, set[int]] = {}
    for place in places:
        numbers.setdefault(place.file, set()).add(place.line)
    made = [
        UserFile(os.path.basename(shown_file(path)), _functions(k, path, sorted(lines)))
        for k, (path, lines) in enumerate(numbers.items())
    ]
    return made, {path: k for k, path in enumerate(numbers)}


def _functions(file: int, path: str, lines: list[int]) -> list[list[UserLine]]:
    """The functions that contain given lines, each once, in the order of the file."""
    spans = dict.fromkeys(_around(path, line) for line in lines)
    return [
        [UserLine(file, n, linecache.getline(path, n).rstrip("\n")) for n in range(first, last + 1)]
        for first, last in sorted(spans)
    ]


def _around(path: str, line: int) -> tuple[int, int]:
    """The first and last line of the method or top-level statement around a line; the line itself
    if there is none."""
    around = [span for span in _spans("".join(linecache.getlines(path))) if _holds(span, line)]
    return around[0] if around else (line, line)


def _holds(span: tuple[int, int], line: int) -> bool:
    return span[0] <= line <= span[1]


@lru_cache(maxsize=16)
def _spans(text: str) -> tuple[tuple[int, int], ...]:
    """The line ranges of a file's top-level statements; for a class, those of its methods."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # a notebook cell with IPython commands
        return ()
    found = []
    for node in tree.body:
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in inner:
            decorators = [d.lineno for d in getattr(each, "decorator_list", ())]
            found.append((min([each.lineno, *decorators]), each.end_lineno or each.lineno))
    return tuple(found)
