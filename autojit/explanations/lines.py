"""Lines of the user's code, as shown in explanations."""

from __future__ import annotations

import linecache
import os

from autojit.ir.core.values import Source, shown_file

from .facts import Line


def line_of(source: Source) -> Line:
    """The line of a place in the user's code, with its text."""
    text = linecache.getline(source.file, source.line).strip()
    return Line(short(shown_file(source.file)), source.line, text, source.backward)


def short(words: str) -> str:
    """A text in which paths in the current folder are relative."""
    return words.replace(os.getcwd() + os.sep, "")
