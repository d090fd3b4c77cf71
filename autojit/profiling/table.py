"""A profile as a table of 60 columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from autojit.ir.core.values import Source
from autojit.ir.tools.units import in_seconds

from .lines import PartTime
from .recorder import Recorder
from .report import FunctionTime, Report, report

WIDTH = 60
#: The most rows of each kind; the others are summed up in one row.
MOST_FUNCTIONS, MOST_PARTS, MOST_LINES, MOST_OPS = 8, 10, 12, 12
#: The widths of time, share and count; the rest of a row is for words.
_NUMBERS = (9, 7, 9)
_WORDS = WIDTH - sum(_NUMBERS)
_ARROWS = {"forward": "→", "backward": "←", "both": "↔", "": " "}


def table(recorder: Recorder) -> str:
    """The phases, then the functions with their parts, then the lines that took the most time."""
    found = report(recorder)
    return "\n".join(line.rstrip() for line in _rows(found)) + "\n"


def _rows(r: Report) -> Iterator[str]:
    yield f"profile of {in_seconds(r.seconds)}"
    if not (r.phases or r.functions):
        yield "autojit traced, compiled and ran nothing in this block"
        return
    yield ""
    yield _row("phase", "time", "share", "count")
    for p in r.phases:
        yield _row(p.name, in_seconds(p.seconds), share(p.seconds, r.counted), f"{p.count:,}")
    yield "-" * WIDTH
    yield _row("all of these", in_seconds(r.counted))
    yield _row("elsewhere: Python, NumPy", in_seconds(r.elsewhere))
    yield _row("the profile itself", in_seconds(r.own))
    for function in r.functions[:MOST_FUNCTIONS]:
        yield from _function(function, r)
    if len(r.functions) > MOST_FUNCTIONS:
        rest = r.functions[MOST_FUNCTIONS:]
        yield ""
        seconds = sum(f.seconds for f in rest)
        words = f"{len(rest)} more functions"
        yield _row(words, in_seconds(seconds), share(seconds, r.counted))
    yield from _ops(r)
    yield from _lines(r)


def _function(f: FunctionTime, r: Report) -> Iterator[str]:
    yield ""
    times = f"{f.count:,}x"
    yield _row(f.title, in_seconds(f.seconds), share(f.seconds, r.counted), times)
    ordered = sorted(f.parts, key=lambda p: -p.time.seconds)
    for part in ordered[:MOST_PARTS]:
        yield from _part(part, f, 1)
    if len(ordered) > MOST_PARTS:
        rest = ordered[MOST_PARTS:]
        seconds = sum(p.time.seconds for p in rest)
        yield _row(f" {len(rest)} more parts", in_seconds(seconds), share(seconds, f.seconds))
    if f.parts:
        yield _row(" arguments, results", in_seconds(f.rest), share(f.rest, f.seconds))


def _part(part: PartTime, f: FunctionTime, depth: int) -> Iterator[str]:
    t = part.time
    words = f"{' ' * depth}{_ARROWS[part.direction]} {part.what}"
    lines = places(part.sources, _WORDS - len(words) - 2)
    words = f"{words}  {lines}" if lines else words
    if t.is_short:
        yield _row(words, "short", "", f"{t.count:,}x")
    else:
        yield _row(words, in_seconds(t.seconds), share(t.seconds, f.seconds), f"{t.count:,}x")
    for inner in part.inside:
        yield from _part(inner, f, depth + 2)


def _ops(r: Report) -> Iterator[str]:
    if not r.ops:
        return
    yield ""
    yield _row("single operations", "time", "share", "count")
    for op in r.ops[:MOST_OPS]:
        arrow = _ARROWS["backward" if op.kind == "backward" else "forward"]
        words = f" {arrow} {op.name}"
        line = _fitting(op.line, _WORDS - len(words) - 3)
        words = f"{words}  {line}" if line else words
        yield _row(words, in_seconds(op.seconds), share(op.seconds, r.counted), f"{op.count:,}x")
    if len(r.ops) > MOST_OPS:
        seconds = sum(op.seconds for op in r.ops[MOST_OPS:])
        words = f" {len(r.ops) - MOST_OPS} more"
        yield _row(words, in_seconds(seconds), share(seconds, r.counted))


def _lines(r: Report) -> Iterator[str]:
    if not r.lines:
        return
    total = sum(line.seconds for line in r.lines.values())
    ordered = sorted(r.lines.items(), key=lambda item: -item[1].seconds)
    yield ""
    yield _row("line", "forward", "share", "backward")
    for (file, number), line in ordered[:MOST_LINES]:
        mark = "~" if line.is_estimated else " "
        words = f"{mark}{_fitting(str(Source(file, number)), _WORDS - 3)}"
        back = in_seconds(line.backward) if line.backward else ""
        ahead = in_seconds(line.forward) if line.forward else ""
        yield _row(words, ahead, share(line.seconds, total), back)
    if len(ordered) > MOST_LINES:
        rest = sum(line.seconds for _, line in ordered[MOST_LINES:])
        yield _row(f" {len(ordered) - MOST_LINES} more lines", in_seconds(rest), share(rest, total))
    if any(line.is_estimated for _, line in ordered):
        yield ""
        yield "~ computed together with others: shares are estimated"


def places(sources: Sequence[Source], room: int) -> str:
    """The first of several lines, cut to the available room, and the number of the others.

    >>> places([Source("/home/me/model.py", 7), Source("/home/me/model.py", 9)], 20)
    'model.py:7 +1'
    """
    found = list(dict.fromkeys(str(s) for s in sources))
    if not found:
        return ""
    more = f" +{len(found) - 1}" if len(found) > 1 else ""
    return _fitting(found[0], room - len(more)) + more


def _fitting(place: str, room: int) -> str:
    """A file's name without its folder, and the line, cut to the available room."""
    name = os.path.basename(place)
    return name if len(name) <= room else f"…{name[-max(1, room - 1) :]}"


def _row(words: str, *numbers: str) -> str:
    if len(words) > _WORDS - 1:
        words = f"{words[: _WORDS - 2]}…"
    cells = [number.rjust(width) for number, width in zip(numbers, _NUMBERS, strict=False)]
    return f"{words:<{_WORDS}}{''.join(cells)}"


def share(part: float, whole: float) -> str:
    """A part as a percentage of the whole.

    >>> share(1, 3), share(1, 3000), share(0, 0)
    ('33 %', '<1 %', '')
    """
    if whole <= 0:
        return ""
    percent = 100 * part / whole
    return f"{percent:.0f} %" if percent >= 0.5 or part == 0 else "<1 %"
