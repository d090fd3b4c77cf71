"""``autojit mistakes``: the pages about errors and warnings."""

from __future__ import annotations

import textwrap

from autojit import errors
from autojit.cli.common.failures import Failure
from autojit.cli.common.terminal import LISTING, PAGE, colour, console, fold, put, say
from autojit.session.mistakes import Page, pages, pages_of
from autojit.spelling import closest

#: The most pages listed that contain a word.
_MOST = 8


def mistakes(name: str | None) -> None:
    """Print a page, the pages of a class, or the list of all pages."""
    if name is None:
        _list(list(pages().values()))
        put("")
        say("autojit mistakes NAME prints the page: its cause, an example, and the fix.")
        return
    name = name.removeprefix("autojit.").removeprefix("errors.").removesuffix(".md")
    found = [pages()[name]] if name in pages() else pages_of(name)
    if len(found) == 1:
        _show(found[0].text.rstrip("\n"))
    elif found:
        say(f"{name}: {(getattr(errors, name).__doc__ or '').strip()}\n", "bold")
        _list(found)
        put("\nautojit mistakes NAME prints a page.")
    else:
        _fail(name)


def _show(text: str) -> None:
    """Print a page: as Markdown in a pipe; on a terminal, with indented code and messages."""
    to = console()
    if not to.is_terminal:
        put(text)
        return
    blocks = [
        _indented(part, to.width) if k % 2 else _prose(part, to.width)
        for k, part in enumerate(text.split("```"))
    ]
    colour("\n\n".join(filter(None, blocks)), PAGE, to)


def _prose(part: str, width: int) -> str:
    """Paragraphs, each folded as a whole, regardless of the line breaks in the file."""
    paragraphs = part.strip().removeprefix("# ").split("\n\n")
    return "\n\n".join(fold(" ".join(p.split()), width, whole=True, further=0) for p in paragraphs)


def _indented(part: str, width: int) -> str:
    """A fenced block without its first line, which states its kind.

    Code is unchanged; messages are folded.
    """
    kind, _, body = part.rstrip("\n").partition("\n")
    lines = textwrap.indent(body, "    ").split("\n")
    if kind == "text":
        lines = [fold(line, width, whole=True, further=0) for line in lines]
    return "\n".join(lines)


def _list(found: list[Page]) -> None:
    names = max(len(page.name) for page in found)
    to = console()
    room = max(20, to.width - names - 2) if to.is_terminal else 1000
    shown = []
    for page in found:
        first, *rest = textwrap.wrap(page.title, room) or [""]
        shown.append(f"{page.name:<{names}}  {first}".rstrip())
        shown += [" " * (names + 2) + line for line in rest]
    colour("\n".join(shown), LISTING, to)


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
