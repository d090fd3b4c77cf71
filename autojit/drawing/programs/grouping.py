"""Groups nodes by the user's lines, by unrolled Python loops, and by calls.

A group is a contiguous range of the program's order, so no edge between groups runs backward.
"""

from __future__ import annotations

import ast
import linecache
import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import count, groupby, pairwise
from typing import Any

from autojit.ir.core.program import Source
from autojit.ir.core.values import shown_file
from autojit.ir.tools.units import in_bytes, plural

from .model import Group, Item, Node

#: How nodes may be grouped.
BY = ("line", "loop", "call", "none")
#: The most items in a box: longer ranges are split into blocks.
MOST = 40
#: The fewest items of a block, and the most inputs or outputs that are not put into a box.
LEAST, ALONE = 8, 12
#: The deepest level of nested loops that are searched for.
DEEPEST = 8
#: The most letters of the user's line that a box shows.
LETTERS = 46


class Grouping:
    """Makes groups with unique ids."""

    def __init__(self, by: str, prefix: str = "g") -> None:
        self.by = by
        self._ids = (f"{prefix}{n}" for n in count(1))

    def group(self, kind: str, title: str, members: Sequence[Item], **more: Any) -> Group:
        """A group with a new id."""
        return Group(next(self._ids), kind, title, members=list(members), **more)

    def grouped(self, items: Sequence[Item]) -> list[Item]:
        """The items in groups; no list of items is longer than ``MOST``."""
        if self.by == "none":
            return list(items)
        made = self._calls(items) if self.by == "call" else self._loops(list(items), 0)
        return self.in_blocks(made)

    def in_blocks(self, items: Sequence[Item]) -> list[Item]:
        """The items; many items are put into blocks, and many blocks into blocks of blocks."""
        found = list(items)
        while len(found) > MOST:
            size = min(MOST, max(LEAST, -(-len(found) // MOST)))
            found = [self._block(found[k : k + size]) for k in range(0, len(found), size)]
        return found

    def gathered(self, nodes: Sequence[Node], words: str) -> list[Item]:
        """Inputs or outputs; many of them are put into one box."""
        if self.by == "none" or len(nodes) <= ALONE:
            return list(nodes)
        title = f"{len(nodes):,} {words}"
        size = in_bytes(sum(node.about["bytes"] for node in nodes))
        return [self.group("block", title, self.in_blocks(nodes), lines=[size])]

    def _block(self, items: list[Item]) -> Item:
        if len(items) == 1:
            return items[0]
        title = f"{_plain(items[0])} … {_plain(items[-1])}"
        return self.group("block", title, items, lines=[inside(items)])

    def _calls(self, items: Sequence[Item]) -> list[Item]:
        """Group each range of items from one function."""
        made: list[Item] = []
        for function, stretch in groupby(items, _function):
            members = list(stretch)
            if function is None:
                made += members
                continue
            file, name = function
            inner = self.in_blocks(self._loops(members, 0))
            title = f"{name}()" if name and name[0] != "<" else name or "call"
            lines = [os.path.basename(shown_file(file)), inside(members)]
            made.append(self.group("call", title, inner, lines=lines, source=members[0].source))
        return made

    def _loops(self, items: list[Item], depth: int) -> list[Item]:
        """Group ranges in which lines recur as loops; each step begins with the loop's first
        line."""
        if depth >= DEEPEST:
            return self._lines(items)
        made: list[Item] = []
        done = 0
        for start, stop in _repeated([_place(item) for item in items]):
            made += self._lines(items[done:start])
            made.append(self._loop(items[start:stop], depth))
            done = stop
        return made + self._lines(items[done:])

    def _loop(self, items: list[Item], depth: int) -> Group:
        steps = list(_steps(items))
        members: list[Item] = []
        for number, step in enumerate(steps, 1):
            inner = self.in_blocks(self._loops(step, depth + 1))
            if len(inner) == 1:
                members += inner
                continue
            title = f"{number} of {len(steps)}"
            members.append(self.group("step", title, inner, lines=[inside(step)]))
        sources = [item.source for item in items if item.source]
        lines = [code(sources[0]), inside(items)]
        title = f"{_range(sources)}, {len(steps)} times"
        found = self.in_blocks(members)
        return self.group("loop", title, found, lines=lines, head=lines[0], source=sources[0])

    def _lines(self, items: Sequence[Item]) -> list[Item]:
        """Group each range of items from one line."""
        if self.by == "loop":
            return list(items)
        made: list[Item] = []
        for place, stretch in groupby(items, _place):
            members = list(stretch)
            if place is None or len(members) == 1:
                made += members
                continue
            source = members[0].source
            assert source is not None
            inner = self.in_blocks(members)
            lines = [code(source), inside(members)]
            title = os.path.basename(str(source))
            made.append(self.group("line", title, inner, lines=lines, head=lines[0], source=source))
        return made


def _range(sources: Sequence[Source]) -> str:
    """The lines of a loop, in words."""
    if len({source.file for source in sources}) > 1:
        return f"{len({(s.file, s.line) for s in sources})} lines"
    first, last = min(s.line for s in sources), max(s.line for s in sources)
    file = os.path.basename(shown_file(sources[0].file))
    return f"{file}:{first}" if first == last else f"{file}:{first}-{last}"


def inside(items: Sequence[Item]) -> str:
    """The number of operations in a group, in words."""
    number = sum(_operations(item) for item in items)
    if not number:
        return f"{len(items)} items"
    return plural(number, "operation")


def code(source: Source) -> str:
    """The first line of the user's statement, truncated to ``LETTERS``."""
    line = linecache.getline(source.file, _statement(source.file, source.line)).strip()
    return line if len(line) <= LETTERS else f"{line[: LETTERS - 2]} …"


def _operations(item: Item) -> int:
    if not isinstance(item, Group):
        return item.kind not in ("input", "output")
    return item.kind == "body" or sum(_operations(member) for member in item.members)


def _plain(item: Item) -> str:
    """A short name of an item; for a block, the name of its first item."""
    words = item.title.partition(" … ")
    return words[0] if item.kind == "block" else item.title


def _place(item: Item) -> Any:
    """The file, and the line in which the user's statement begins."""
    source = item.source
    return (source.file, _statement(source.file, source.line)) if source else None


@lru_cache(maxsize=4096)
def _statement(file: str, line: int) -> int:
    """The first line of the innermost statement that a line belongs to; the line if its file cannot
    be read."""
    return _statements(file).get(line, line)


@lru_cache(maxsize=64)
def _statements(file: str) -> dict[int, int]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return {}
    found: dict[int, int] = {}
    for node in ast.walk(tree):  # inner statements come after outer ones
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            last = node.end_lineno or node.lineno
            found.update((line, node.lineno) for line in range(node.lineno, last + 1))
    return found


def _function(item: Item) -> Any:
    return (item.source.file, item.source.function) if item.source else None


def _repeated(places: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """The ranges of a list in which lines recur; overlapping ranges are merged."""
    runs = [(place, list(stretch)) for place, stretch in groupby(range(len(places)), _at(places))]
    first: dict[Any, int] = {}
    last: dict[Any, int] = {}
    for number, (place, _) in enumerate(runs):
        if place is not None:
            first.setdefault(place, number)
            last[place] = number
    start = stop = -1
    for number, (place, _) in enumerate(runs):
        if place is None or first[place] != number or last[place] == number:
            continue
        if number > stop:
            if start >= 0:
                yield runs[start][1][0], runs[stop][1][-1] + 1
            start, stop = number, last[place]
        stop = max(stop, last[place])
    if start >= 0:
        yield runs[start][1][0], runs[stop][1][-1] + 1


def _at(places: Sequence[Any]) -> Callable[[int], Any]:
    return lambda k: places[k]


def _steps(items: list[Item]) -> Iterator[list[Item]]:
    """The steps of a loop: each begins where the loop's first line recurs."""
    head, step = _place(items[0]), [items[0]]
    for before, item in pairwise(items):
        if _place(item) == head and _place(before) != head:
            yield step
            step = []
        step.append(item)
    yield step
