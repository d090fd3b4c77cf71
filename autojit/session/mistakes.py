"""The pages about mistakes, which lie in the package: each has a cause, an example and its fix."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

#: One page per mistake; the name of the mistake is the name of the file.
FOLDER: Path = Path(__file__).resolve().parents[1] / "mistakes"

_CLASSES = re.compile(r"^Raises or warns: (.*)$", re.MULTILINE)


class Page(NamedTuple):
    """A page about a mistake."""

    name: str
    title: str
    #: Names in `autojit.errors`; none if nothing is raised.
    classes: tuple[str, ...]
    text: str


@cache
def pages() -> dict[str, Page]:
    """All pages by their names.

    >>> pages()["integer-gradient"].classes
    ('IntegerGradientError',)
    """
    paths = sorted(path for path in FOLDER.glob("*.md") if path.stem != "README")
    return {path.stem: _read(path) for path in paths}


def _read(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    found = _CLASSES.search(text)
    classes = tuple(re.findall(r"`(\w+)`", found[1])) if found else ()
    return Page(path.stem, text.partition("\n")[0].removeprefix("# "), classes, text)


def pages_of(kind: str) -> list[Page]:
    """The pages about errors or warnings of a class.

    >>> [page.name for page in pages_of("FrozenRandomError")]
    ['random-numbers']
    """
    return [page for page in pages().values() if kind in page.classes]
