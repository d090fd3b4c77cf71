"""The user's source, annotated with the time of each line."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence

from autojit.ir.core.values import shown_file
from autojit.ir.tools.units import in_seconds

from .lines import Line
from .recorder import Recorder
from .report import report
from .table import share

#: The number of lines shown before and after a line that took time.
AROUND = 3


def annotated(recorder: Recorder, files: Sequence[str] | None = None) -> str:
    """The files in which time was spent, in order of decreasing time."""
    found = report(recorder).lines
    total = sum(line.seconds for line in found.values())
    by_file: dict[str, dict[int, Line]] = {}
    for (file, number), line in found.items():
        if files is None or any(file.endswith(name) for name in files):
            by_file.setdefault(file, {})[number] = line
    if not by_file:
        where = "" if files is None else f" in {', '.join(files)}"
        return f"no line{where} took time in compiled code or in single operations\n"
    ordered = sorted(by_file, key=lambda f: -sum(line.seconds for line in by_file[f].values()))
    return "\n".join("\n".join(_file(file, by_file[file], total)) + "\n" for file in ordered)


def _file(file: str, lines: dict[int, Line], total: float) -> Iterator[str]:
    seconds = sum(line.seconds for line in lines.values())
    yield (
        f"{shown_file(file)}: {in_seconds(seconds)}, {share(seconds, total)} of the time of all "
        "lines"
    )
    yield f"{'forward':>9} {'backward':>9} {'share':>6}  line"
    before = 0
    last = len(linecache.getlines(file))
    for number in _shown(lines, last):
        if before and number > before + 1:
            yield f"{'':>26}  …"
        yield _line(number, linecache.getline(file, number).rstrip(), lines.get(number), total)
        before = number
    if any(line.is_estimated for line in lines.values()):
        yield "~ computed together with other lines; the shares are estimates"


def _shown(lines: dict[int, Line], last: int) -> list[int]:
    """The lines that took time and those around them, within the file."""
    around = {n + k for n in lines for k in range(-AROUND, AROUND + 1)}
    return sorted(n for n in around if n in lines or 0 < n <= last)


def _line(number: int, text: str, line: Line | None, total: float) -> str:
    times = " " * 26
    if line is not None:
        forward, backward = (in_seconds(t) if t else "" for t in (line.forward, line.backward))
        mark = "~" if line.is_estimated else " "
        times = f"{forward:>9} {backward:>9} {share(line.seconds, total):>5}{mark}"
    return f"{times} {number:>5}  {text}".rstrip()
