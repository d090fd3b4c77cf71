"""Lines of the user's, as they are shown."""

from __future__ import annotations

import linecache
import os

from autojit.ir.core.values import Source, shown_file

from .facts import Line


def line_of(source: Source) -> Line:
    """A place in the user's code with its text."""
    text = linecache.getline(source.file, source.line).strip()
    return Line(short(shown_file(source.file)), source.line, text, source.backward)


def short(words: str) -> str:
    """The words with files in the present folder as one would name them."""
    return words.replace(os.getcwd() + os.sep, "")
