"""The page of all stages: the user's code and the stages side by side, with linked lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from autojit.ir.core.program import Program
from autojit.ir.core.values import Source
from autojit.ir.tools.units import plural
from autojit.notebook.html.blocks import PYTHON, coloured, page, text_of

from .rows import Row, Section, Stage, stages_of
from .script import SCRIPT
from .style import STYLE
from .user_code import UserFile, files_of, key

#: Stages whose columns are narrow at first.
_SHUT = ("optimized", "LLVM")
#: Degrees between the hues of successive lines: neighbours look different.
_HUES = 137.5


def page_of(program: Program, derived: Program | None, what: str = "adjoint") -> str:
    """The page of a program, and of a program derived from it, which is called ``what``."""
    stages = stages_of(program, derived, what)
    places = dict.fromkeys(p for stage in stages for row in stage.rows for p in row.places)
    writer = _Writer(*files_of(places), places)
    columns = [writer.source(), *(writer.stage(stage) for stage in stages)]
    name = (derived or program).name
    title = f"{name}: from the trace to machine code"
    head = (
        f'<header class="aj-top"><h1><code>{text_of(name)}</code></h1>'
        '<p id="aj-said" aria-live="polite">Point at a line to see what it becomes; click, or '
        "press Enter, to keep it.</p>"
        '<p class="aj-keys"><kbd>↑</kbd> <kbd>↓</kbd> lines <kbd>←</kbd> <kbd>→</kbd> stages '
        "<kbd>n</kbd> <kbd>p</kbd> next, previous <kbd>Esc</kbd> let go</p></header>"
    )
    hues = "\n".join(f".l{k} {{ --h: {k * _HUES % 360:.0f}; }}" for k in range(len(writer.hues)))
    body = f'<style>{STYLE}{hues}</style>{head}<main class="aj-wall">{"".join(columns)}</main>'
    return page(title, body, script=SCRIPT)


class _Writer:
    """Writes columns; each of the user's lines that rows come from has a hue."""

    def __init__(
        self, files: Sequence[UserFile], numbers: dict[str, int], places: Iterable[Source]
    ) -> None:
        self.files, self.numbers = files, numbers
        used = set(self._keys(places))
        lines = (line.key for file in files for function in file.functions for line in function)
        self.hues = {key: k for k, key in enumerate(line for line in lines if line in used)}

    def source(self) -> str:
        """The column of the user's code."""
        parts = []
        for file in self.files:
            parts.append(f'<div class="aj-file">{text_of(file.name)}</div>')
            for function in file.functions:
                rows = (
                    self._row(
                        coloured(line.text, PYTHON),
                        [line.key] if line.key in self.hues else [],
                        str(line.number),
                    )
                    for line in function
                )
                parts.append(f'<div class="aj-rows">{"".join(rows)}</div>')
        return _column("your code", "", "line", "".join(parts), is_shut=False)

    def stage(self, stage: Stage) -> str:
        """The column of a stage."""
        is_code = stage.unit == "instruction"
        parts = [self._section(section, is_code=is_code) for section in stage.sections]
        shut = stage.name in _SHUT
        return _column(stage.name, stage.about, stage.unit, "".join(parts), is_shut=shut)

    def _section(self, section: Section, *, is_code: bool) -> str:
        rows = "".join(self._code(row, is_code=is_code) for row in section.rows)
        body = f'<div class="aj-rows">{rows}</div>'
        if not section.title:
            return body
        keys = self._keys(section.places)
        mark = ' open="open"' if section.opened else ""
        size = plural(len(section.rows), "row")
        return (
            f'<details{mark}><summary data-l="{" ".join(keys)}"><code>{text_of(section.title)}'
            f"</code> <small>{size}{_from(keys)}</small></summary>{body}</details>"
        )

    def _code(self, row: Row, *, is_code: bool) -> str:
        words = text_of(row.text) if is_code else coloured(row.text)
        keys = self._keys(row.places)
        number = keys[0] if len(keys) == 1 else f"{keys[0]}…" if keys else ""
        if keys and all(place.backward for place in row.places):
            number = f"←{number}"
        return self._row(words, keys, number)

    def _row(self, words: str, keys: Sequence[str], number: str) -> str:
        if not keys:
            return f'<div class="r"><b>{number}</b>{words}</div>'
        hue = f" l{self.hues[keys[0]]}" if len(keys) == 1 else " m"
        return f'<div class="r{hue}" data-l="{" ".join(keys)}"><b>{number}</b>{words}</div>'

    def _keys(self, places: Iterable[Source]) -> list[str]:
        return list(dict.fromkeys(key(self.numbers[p.file], p.line) for p in places))


def _from(keys: Sequence[str]) -> str:
    if not keys:
        return ""
    shown = ", ".join(keys[:8]) + (" …" if len(keys) > 8 else "")
    return f", from line{'s' if len(keys) > 1 else ''} {shown}"


def _column(name: str, about: str, unit: str, content: str, *, is_shut: bool) -> str:
    state, mark = ("false", " shut") if is_shut else ("true", "")
    return (
        f'<section class="aj-col{mark}" data-name="{name}" data-unit="{unit}">'
        f'<button class="aj-head" aria-expanded="{state}"><span>{name}</span>'
        f"<small>{about}</small><output></output></button>"
        f'<div class="aj-body" tabindex="0" role="region" aria-label="{name}">{content}</div>'
        "</section>"
    )
