"""Explanations as text."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from itertools import groupby
from pathlib import PurePath

from autojit.codegen.driver.timed import SHORT
from autojit.ir.tools.units import in_seconds, plural, three_digits

from .facts import TOO_GOOD, Facts, Line, Part, Reason, Step, Vectors

#: The narrowest and the widest text.
NARROW, WIDE = 60, 100
#: The most arrays of a step that are named.
MOST_NAMED = 8
_LABEL = 10
#: The longest path that is written out.
_PATH = 24


def text(e: Facts, width: int | None = None) -> str:
    """The summary in four lines, then a block for each step."""
    room = width or min(WIDE, max(NARROW, shutil.get_terminal_size((80, 24)).columns))
    lines = textwrap.wrap(f"{e.name}: {grouped(e.signature)}", room, subsequent_indent="  ")
    for label, words in summary(e):
        lines += _row(label, words, room, indent="")
    for step in e.steps:
        lines += ["", *_block(step, room)]
    lines.append("")
    if any(step.is_backward for step in e.steps):
        legend = "backward: the line's derivative is computed; ↔ both ways, in one step"
        lines += _row("←", legend, room, indent="")
    for label, words in foot(e):
        lines += _row(label, words, room, indent="")
    return "\n".join(lines)


def grouped(signature: str) -> str:
    """A signature in which a run of more than three equal types is written as one.

    >>> grouped("f64[2,3], f64[], f64[], f64[], f64[] -> f64[]")
    'f64[2,3], 4 × f64[] -> f64[]'
    """
    sides = []
    for side in signature.split(" -> "):
        words = []
        for type, group in groupby(side.split(", ")):
            several = list(group)
            words += [f"{len(several)} × {type}"] if len(several) > 3 else several
        sides.append(", ".join(words))
    return " -> ".join(sides)


# -- the summary ---------------------------------------------------------------------------


def summary(e: Facts) -> list[tuple[str, str]]:
    """The four lines: loops, bytes, time, bound."""
    kept = sum(each.bytes for each in e.stored)
    besides = f"{size(e.temporaries)} of temporaries" if e.temporaries else "no temporaries"
    reverse = f"; {size(kept)} stored for the reverse" if kept else ""
    return [
        ("loops", f"{_kinds(e)}, from {e.traced:,} operations"),
        (
            "bytes",
            f"{size(e.bytes_in_out)} in and out, {besides}{reverse}",
        ),
        ("time", _time(e)),
        ("bound", _bound(e)),
    ]


def _kinds(e: Facts) -> str:
    """How many steps of each kind there are.

    A loop nest is a kind, and so is each function of a library.
    """
    counts: dict[str, int] = {}
    for step in e.steps:
        counts[step.kind] = counts.get(step.kind, 0) + 1
    words = []
    for kind, count in counts.items():
        name = {"loops": "loop nest", "product": "matrix product"}.get(kind, kind)
        words.append(f"{count} {name}{'s' if count > 1 else ''}")
    return ", ".join(words) or "nothing to do"


def _time(e: Facts) -> str:
    if e.seconds is None:
        return "not measured"
    return f"{in_seconds(e.seconds)} a call, the fastest of {e.calls:,}; {count(e.flops)} flops"


def _bound(e: Facts) -> str:
    if not e.steps or not e.roofline_seconds:
        return "nothing is computed"
    longest = max(e.steps, key=lambda s: s.seconds or s.roofline_seconds)
    words = f"step {longest.number} takes longest, bound by {_BOUNDS[longest.bound]}"
    if longest.share is not None and not longest.in_turn:
        words += f": {_percent(longest.share)} of the machine's limit reached"
    if e.seconds is None:
        return words
    taken = [s.seconds for s in e.steps if s.seconds is not None]
    if taken and sum(taken) < e.seconds / 2:
        return f"the call itself: its steps take {measured(sum(taken))} of {in_seconds(e.seconds)}"
    return words


_BOUNDS = {
    "compute": "arithmetic",
    "memory": "memory",
    "order": "the order of its steps",
    "": "nothing",
}


# -- a block -------------------------------------------------------------------------------


def _block(step: Step, room: int) -> list[str]:
    took = "" if step.seconds is None else measured(step.seconds)
    head = f"{step.number}  {step.title}"
    if len(head) + len(took) + 2 > room:
        lines = textwrap.wrap(head, room, subsequent_indent="   ")
    else:
        lines = [f"{head}{took.rjust(room - len(head))}"]
    lines += _lines(step.lines, room)
    for label, words in rows(step):
        lines += _row(label, words, room)
    for part in step.inside:
        lines += _part(part, room)
    return lines


def _part(part: Part, room: int) -> list[str]:
    """A part of a body, indented."""
    took = "" if part.seconds is None else measured(part.seconds)
    head = f"   {part.number}  {part.title}, {times(part)}"
    lines = textwrap.wrap(head, room - len(took) - 2, subsequent_indent=" " * 8)
    lines[0] += took.rjust(room - len(lines[0]))
    if part.lines:
        lines += [f"     {line}" for line in _lines(part.lines, room - 5)]
    for label, words in part_rows(part):
        lines += _row(label, words, room, indent=" " * 8)
    return [line.rstrip() for line in lines]


def times(part: Part) -> str:
    """How often a part of a body runs, in words."""
    if part.runs is None:
        return "in each step"
    return f"{'at most ' if part.runs_at_most else ''}{plural(part.runs, 'time')}"


def part_rows(part: Part) -> Iterator[tuple[str, str]]:
    """The rows about a part of a body: a label and a text each."""
    yield from _vectors(part)
    each = ", each time" if part.runs != 1 else ""
    yield "work", f"{_flops(part)}{each}"


def _lines(found: list[Line], room: int) -> list[str]:
    """The user's lines, each once; lines of the forward pass come first."""
    if not found:
        return ["   an argument or a constant is copied: no line of yours"]
    lines = []
    for place, forward, backward in merged(found):
        mark = {(True, True): "↔", (True, False): " ", (False, True): "←"}[forward, backward]
        lines.append(f" {mark} {_place(place):<18}  {place.text}")
    return [line if len(line) <= room else line[: room - 2] + " …" for line in lines]


def _place(line: Line) -> str:
    """File and line; a long path is shortened to the file's name."""
    file = line.file if len(line.file) <= _PATH else f"…/{PurePath(line.file).name}"
    return f"{file}:{line.number}"


def merged(found: list[Line]) -> list[tuple[Line, bool, bool]]:
    """Each line once, with whether it is computed itself, and whether its derivative is."""
    ways: dict[tuple[str, int], tuple[Line, set[bool]]] = {}
    for line in found:
        ways.setdefault((line.file, line.number), (line, set()))[1].add(line.backward)
    return [(line, False in seen, True in seen) for line, seen in ways.values()]


def rows(step: Step) -> Iterator[tuple[str, str]]:
    """The rows about a step: a label and a text each."""
    if step.operations and step.kind == "loops":
        yield "fused", ", ".join(step.operations)
    for reason in step.not_fused if step.kind == "loops" else ():
        yield "apart", f"step {reason.about}: {_because(reason)}"
    yield from _vectors(step)
    yield "threads", _threads(step)
    yield "work", _work(step)
    if step.roofline_seconds:
        yield "at best", _roofline(step)
    found = [f"{name} {size(n)}" if n else name for name, n in step.temporaries.items()]
    found += [f"{name} where {other} will lie" for name, other in step.reused.items()]
    if len(found) > MOST_NAMED:
        bytes_in_all = size(sum(step.temporaries.values()))
        rest = f"and {len(found) - MOST_NAMED:,} more: {bytes_in_all} in all"
        found = [*found[:MOST_NAMED], rest]
    if found:
        yield "memory", ", ".join(found)
    for each in step.stored:
        at = f" of {each.line.file}:{each.line.number}" if each.line else ""
        words = f"{each.operation}{at}: {each.type}, {size(each.bytes)}"
        yield "stored", f"{words}, by the forward pass"
    if step.repeated:
        yield "again", f"{', '.join(step.repeated)}: computed once more, and not stored"


def _vectors(step: Step | Part) -> Iterator[tuple[str, str]]:
    if step.library:
        yield "by", step.library
        return
    if isinstance(step, Part) and not step.is_nest:
        return
    if not step.vectors:
        yield "vectors", "no inner loop is left in the machine code"
        return
    for (lanes, reason), group in groupby(step.vectors, key=lambda v: (v.lanes, v.reason)):
        yield "vectors", _vector_words(list(group), lanes, reason, len(step.vectors))


def _vector_words(group: list[Vectors], lanes: int, reason: Reason | None, all_: int) -> str:
    several = f"{len(group)} inner loops: " if all_ > 1 and len(group) > 1 else ""
    one = f"{group[0].loop}: " if all_ > 1 and len(group) == 1 else ""
    if lanes > 1:
        return f"{several or one}{lanes} elements at a time"
    because = f": {_because(reason)}" if reason else ""
    return f"{several or one}none{because}"


def _because(reason: Reason) -> str:
    way_out = f" -> {reason.way_out}." if reason.way_out else ""
    return f"{reason.reason}{'.' if way_out else ''}{way_out}"


def _threads(step: Step) -> str:
    if step.tasks:
        return f"{step.tasks} tasks{', if that turns out faster' if step.tasks_measured else ''}"
    if "BLAS" in step.library:
        return "as many as the BLAS takes"
    return f"one: {_because(step.no_tasks)}" if step.no_tasks else "one"


def _work(step: Step) -> str:
    most = "at most " if step.bytes_at_most else ""
    each = " for each step or branch" if step.is_open else ""
    return (
        f"{_flops(step)}{each}; {most}{size(step.bytes_read)} read, "
        f"{size(step.bytes_written)} written"
    )


def _flops(step: Step | Part) -> str:
    functions = ", ".join(f"{count(n)} {name}" for name, n in step.functions.items())
    of = f" ({functions})" if functions else ""
    return f"{count(step.flops)} {'flop' if step.flops == 1 else 'flops'}{of}"


def _roofline(step: Step) -> str:
    sides = (
        f"{in_seconds(step.compute_seconds)} to compute, {in_seconds(step.memory_seconds)} to move"
    )
    if step.in_turn:
        return f"{sides}; but its steps wait for each other"
    reached = ""
    if step.share is not None:
        reached = f"; {_percent(step.share)} of that is reached"
    if step.share is not None and step.share > TOO_GOOD:
        reached += ": more than the measured limit, which other work may have disturbed"
    return f"{sides}: bound by {_BOUNDS[step.bound]}{reached}"


# -- the foot ------------------------------------------------------------------------------


def foot(e: Facts) -> Iterator[tuple[str, str]]:
    """The rows about the cache, compilation times, the machine, and Python's loops."""
    for reason in e.python_loops:
        yield "Python", f"{reason.about}: {_because(reason)}"
    yield "code", {"memory": "in memory", "disk": "on disk"}.get(e.cache, e.cache)
    yield "made in", ", ".join(f"{in_seconds(s)} {name}" for name, s in e.times.items())
    yield "machine", e.machine


def _row(label: str, words: str, room: int, indent: str = "   ") -> list[str]:
    margin = indent + " " * _LABEL
    return textwrap.wrap(
        words, room, initial_indent=f"{indent}{label:<{_LABEL}}", subsequent_indent=margin,
        break_on_hyphens=False,
    )  # fmt: skip


# -- numbers -------------------------------------------------------------------------------


def size(n: float) -> str:
    """A number of bytes in words.

    >>> size(8), size(4096), size(3.5e6)
    ('8 B', '4 KiB', '3.34 MiB')
    """
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{three_digits(n)} {unit}"
        n /= 1024
    return f"{three_digits(n)} GiB"


def count(n: float) -> str:
    """A count; large counts are rounded to three digits.

    >>> count(2000), count(1_234_567)
    ('2,000', '1.23 million')
    """
    if n < 1e6:
        return f"{n:,.0f}"
    return f"{three_digits(n / 1e6)} million" if n < 1e9 else f"{three_digits(n / 1e9)} billion"


def measured(seconds: float) -> str:
    """Measured seconds in words; times too short for the clock are written as one bound."""
    return "< 50 ns" if seconds < SHORT * 1e-9 else in_seconds(seconds)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %" if share >= 0.02 else f"{100 * share:.2g} %"
