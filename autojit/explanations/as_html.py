"""Explanations as HTML: a summary, and a folded block for each step."""

from __future__ import annotations

from collections.abc import Iterable

from autojit.ir.tools.units import in_seconds
from autojit.notebook.html import blocks
from autojit.notebook.html.blocks import card, code, facts, folded, text_of

from .as_text import foot, grouped, measured, merged, part_rows, rows, summary, times
from .facts import Facts, Line, Part, Step

#: The width in pixels of the bar of the longest step.
WIDEST = 120


def html(e: Facts) -> str:
    """An explanation as an HTML fragment, with its style."""
    return card(*_parts(e))


def page(e: Facts) -> str:
    """An explanation as a complete page."""
    title, *content = _parts(e)
    return blocks.article(f"explain {e.name}", f"<h1>{title}</h1>", *content)


def _parts(e: Facts) -> list[str]:
    """The title, and the parts below it."""
    longest = max((step.seconds or step.roofline_seconds for step in e.steps), default=0.0)
    return [
        code(f"{e.name}: {grouped(e.signature)}"),
        _facts(summary(e)),
        *(_block(step, longest) for step in e.steps),
        folded("The code, and this machine", _facts(foot(e))),
    ]


def _block(step: Step, longest: float) -> str:
    took = step.seconds if step.seconds is not None else step.roofline_seconds
    words = measured(took) if step.seconds is not None else f"at best {in_seconds(took)}"
    width = WIDEST * took / longest if longest else 0
    lines = _lines(step.lines)
    return folded(
        f"{step.number}. {step.title}",
        facts(lines) + _facts(rows(step)) + "".join(map(_part, step.inside)),
        opened=True,
        beside=f'<small>{text_of(words)} <span class="aj-bar" style="width:{width:.0f}px"></span>'
        "</small>",
        framed=True,
    )


def _part(part: Part) -> str:
    """A part of the body of a sequential loop, as HTML."""
    took = "" if part.seconds is None else f" {measured(part.seconds)}"
    beside = f"<small>{text_of(times(part) + took)}</small>"
    content = facts(_lines(part.lines)) + _facts(part_rows(part))
    return folded(f"{part.number}  {part.title}", content, opened=True, beside=beside, framed=True)


def _lines(found: list[Line]) -> list[tuple[str, str]]:
    return [
        (f"{line.file}:{line.number}", _line(line, forward, backward))
        for line, forward, backward in merged(found)
    ]


def _line(line: Line, forward: bool, backward: bool) -> str:
    ways = ["forward"] * forward + ["backward"] * backward
    way = f' <span class="aj-faint">{" and ".join(ways)}</span>' if backward else ""
    return code(line.text) + way


def _facts(found: Iterable[tuple[str, str]]) -> str:
    return facts((name, text_of(words)) for name, words in found)
