"""``autojit mistakes``: the pages about errors and warnings."""

from __future__ import annotations

import textwrap

from autojit import errors
from autojit.cli.common.failures import Failure
from autojit.cli.common.terminal import console, fold, put, say
from autojit.session.mistakes import Page, pages, pages_of
from autojit.spelling import closest

#: How many pages are named that hold a word.
_MOST = 8


def mistakes(name: str | None) -> None:
    """Print a page, the pages of a class, or the list of all."""
    if name is None:
        _list(list(pages().values()))
        put("")
        say("autojit mistakes NAME prints the page: its cause, an example, and the fix.")
        return
    name = name.removeprefix("autojit.").removeprefix("errors.").removesuffix(".md")
    found = [pages()[name]] if name in pages() else pages_of(name)
    if len(found) == 1:
        put(_page(found[0].text.rstrip("\n")))
    elif found:
        put(f"{name}: {(getattr(errors, name).__doc__ or '').strip()}\n")
        _list(found)
        put("\nautojit mistakes NAME prints a page.")
    else:
        _fail(name)


def _page(text: str) -> str:
    """A page; on a terminal sentences and messages are folded, code is as it is."""
    to = console()
    if not to.is_terminal:
        return text
    parts = text.split("```")
    for k, part in enumerate(parts):
        if k % 2 == 0 or part.startswith("text\n"):
            lines = (fold(line, to.width, whole=True, further=0) for line in part.split("\n"))
            parts[k] = "\n".join(lines)
    return "```".join(parts)


def _list(found: list[Page]) -> None:
    names = max(len(page.name) for page in found)
    to = console()
    room = max(20, to.width - names - 2) if to.is_terminal else 1000
    for page in found:
        lines = textwrap.wrap(page.title, room) or [""]
        put(f"{page.name:<{names}}  {lines[0]}".rstrip())
        for line in lines[1:]:
            put(" " * (names + 2) + line)


def _fail(name: str) -> None:
    if name in errors.__all__:
        words = (getattr(errors, name).__doc__ or "").strip()
        raise Failure(f"there is no page about {name} yet. {words}")
    close = closest(name, [*pages(), *errors.__all__])
    tail = "`autojit mistakes` lists them."
    if about := [page.name for page in pages().values() if name.lower() in page.text.lower()]:
        tail = f"Pages with that word: {', '.join(about[:_MOST])}"
        tail += f" and {len(about) - _MOST} more" if len(about) > _MOST else ""
    raise Failure(f"there is no page {name!r}.{close} {tail}")
