"""Sizes and places of boxes: each level is laid out by itself, from the inside outwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from autojit.drawing.graphs.layout import BESIDE, Box, Point, place

from .levels import Level, Levels, Link, Port
from .model import Group, Item

#: The widths of a letter in titles, lines, code and labels of edges, in pixels.
TITLE, SMALL, CODE, LABEL = 7.3, 5.9, 6.0, 5.6
#: The heights of title lines, other lines and heads of open boxes; the room around texts and inside
#: boxes.
HEAD_LINE, LINE, HEAD, ROOM, INSIDE = 17.0, 14.0, 24.0, 9.0, 14.0
#: The distances between layers with labels, between layers without labels, and between columns.
BETWEEN, CLOSER, APART = 46.0, 28.0, 190.0
#: The least distance between labels of links between columns.
LEAST = 12.0
#: The most values with labels that leave a box; if more leave it, labels are tooltips.
LABELLED = 3


@dataclass
class Route:
    """A link, and the points that it goes through."""

    link: Link
    points: list[Point]
    #: The place of its label; None if another link of the same value has one, or if there are many.
    label: Point | None = None


@dataclass
class PlacedLevel:
    """The inside of a group after layout; the origin is its upper left corner."""

    level: Level
    is_upward: bool
    width: float = 0.0
    height: float = 0.0
    boxes: dict[str, Box] = field(default_factory=dict)
    routes: list[Route] = field(default_factory=list)


class Placement:
    """The layout of a drawing, with some groups open.

    With ``closed``, the levels in closed boxes are laid out as well, so that a script can open
    them.
    """

    def __init__(self, levels: Levels, opened: AbstractSet[str], *, closed: bool) -> None:
        self.levels, self.opened = levels, opened
        self.of: dict[str, PlacedLevel] = {}
        self.closed = closed
        for number, column in enumerate(levels.drawing.columns):
            self._place(column, is_upward=number == 1)

    def _place(self, group: Group, *, is_upward: bool) -> PlacedLevel:
        level = self.levels.of[group.id]
        made = self.of[group.id] = PlacedLevel(level, is_upward)
        for id, item in level.items.items():
            width, height = size(item)
            if isinstance(item, Group) and (self.closed or item.id in self.opened):
                inner = self._place(item, is_upward=is_upward)
                if item.id in self.opened:
                    width, height = open_size(item, inner)
            made.boxes[id] = Box(width, height)
        _widen(made)
        direction = {"rankdir": "BT" if is_upward else "TB"}
        links = list(level.links.values())
        between = BETWEEN if any(k.label for k in links) else CLOSER
        paths = place(made.boxes, [(k.start, k.end) for k in links], direction, between)
        paths = _along_boxes(made, paths)
        made.routes = [Route(k, path) for k, path in zip(links, paths, strict=True) if path]
        _spread(made)
        _bound(made)
        return made

    def inside(self, group: Group) -> PlacedLevel:
        """The level inside a group."""
        return self.of[group.id]

    def between(self) -> list[Route]:
        """The links from one column to the other: horizontal up to the rim of the column, where
        their labels are listed, and then across."""
        columns = self.levels.drawing.columns
        if len(columns) < 2:
            return []
        first, second = (self.of[c.id] for c in columns)
        (_, top), (x, other) = self.corners()
        found = list(self.levels.between.values())
        found.sort(key=lambda link: first.boxes[link.start].y)
        made, last = [], -LEAST
        for link in found:
            start, end = first.boxes[link.start], second.boxes[link.end]
            last = y = max(top + start.y, last + LEAST)
            points = [
                (start.x + start.width / 2, top + start.y), (first.width + 12, y),
                (x + end.x - end.width / 2, other + end.y),
            ]  # fmt: skip
            made.append(Route(link, points, (first.width + 14, y - 3)))
        return made

    @property
    def size(self) -> tuple[float, float]:
        """The width and height of all columns."""
        columns = [self.of[c.id] for c in self.levels.drawing.columns]
        width = sum(c.width for c in columns) + APART * (len(columns) - 1)
        return width, max(c.height for c in columns)

    def corners(self) -> list[Point]:
        """The upper left corners of the columns, whose lower edges are aligned."""
        _, height = self.size
        found, x = [], 0.0
        for column in self.levels.drawing.columns:
            placed = self.of[column.id]
            found.append((x, height - placed.height))
            x += placed.width + APART
        return found


def size(item: Item | Port) -> tuple[float, float]:
    """The size of a closed box."""
    if isinstance(item, Port):
        return len(item.title) * SMALL + 2 * ROOM, LINE + 4
    lines = lines_of(item)
    width = max([len(item.title) * TITLE, *(len(line) * SMALL for line in lines)])
    return width + 2 * ROOM, HEAD_LINE + len(lines) * LINE + ROOM


def lines_of(item: Item) -> list[str]:
    """The lines below a title."""
    lines = list(item.lines)
    if item.value is not None:
        lines.append(f"= {item.value}")
    if item.gradient is not None:
        lines.append(f"grad {item.gradient}")
    return lines


def head(group: Group) -> float:
    """The width of the head of an open box."""
    return len(group.title) * TITLE + len(group.head) * CODE + 4 * ROOM


def open_size(group: Group, inner: PlacedLevel) -> tuple[float, float]:
    """The size of an open box."""
    return max(inner.width + 2 * INSIDE, head(group)), inner.height + HEAD + 2 * INSIDE


def _leaving(made: PlacedLevel) -> dict[str, dict[tuple[str, ...], list[Link]]]:
    """The links that leave each box, by their values."""
    found: dict[str, dict[tuple[str, ...], list[Link]]] = defaultdict(dict)
    for link in made.level.links.values():
        key = tuple(sorted({e.name for e in link.edges}))
        found[link.start].setdefault(key, []).append(link)
    return found


def _widen(made: PlacedLevel) -> None:
    """Make boxes as wide as the labels below them."""
    for id, values in _leaving(made).items():
        if len(values) <= LABELLED:
            if isinstance(made.level.items[id], Port):
                continue  # a port shows its own text
            labels = [len(links[0].label) * LABEL + 8 for links in values.values()]
            box = made.boxes[id]
            box.width = max(box.width, len(labels) * max(labels) - BESIDE)


def _along_boxes(made: PlacedLevel, paths: list[list[Point]]) -> list[list[Point]]:
    """The paths, made straight where they pass the boxes of a layer."""
    half: dict[int, float] = {}
    for box in made.boxes.values():
        layer = round(box.y)
        half[layer] = max(half.get(layer, 0.0), box.height / 2)
    sign = -1 if made.is_upward else 1
    found = []
    for path in paths:
        inner = [
            (x, y + end * sign * half.get(round(y), 0.0)) for x, y in path[1:-1] for end in (-1, 1)
        ]
        found.append([*path[:1], *inner, *path[-1:]] if len(path) > 1 else path)
    return found


def _spread(made: PlacedLevel) -> None:
    """Spread the points at which values leave a box, and at which links arrive, along its edge."""
    routes = {(r.link.start, r.link.end): r for r in made.routes}
    for id, values in _leaving(made).items():
        groups = [
            [r for k in links if (r := routes.get((k.start, k.end)))] for links in values.values()
        ]
        groups = sorted((g for g in groups if g), key=lambda g: g[0].points[1][0])
        for (x, _), found in zip(_along(made.boxes[id], len(groups)), groups, strict=True):
            for r in found:
                r.points[0] = (x, r.points[0][1])
            named = found[0].link.label and len(groups) <= LABELLED
            if named and not isinstance(made.level.items[id], Port):
                y = found[0].points[0][1] + (-12 if made.is_upward else 17)
                found[0].label = (x, y)
    arriving = defaultdict(list)
    for r in made.routes:
        arriving[r.link.end].append(r)
    for id, found in arriving.items():
        found.sort(key=lambda r: r.points[-2][0])
        for (x, _), r in zip(_along(made.boxes[id], len(found)), found, strict=True):
            r.points[-1] = (x, r.points[-1][1])


def _along(box: Box, count: int) -> list[Point]:
    """``count`` evenly spaced places along a box."""
    left = box.x - box.width / 2
    return [(left + box.width * (k + 0.5) / count, box.y) for k in range(count)]


def _bound(made: PlacedLevel) -> None:
    """Shift the level so that its corner is at the origin, and set its size."""
    spans = [(b.x - b.width / 2, b.x + b.width / 2) for b in made.boxes.values()]
    spans += [(x, x) for r in made.routes for x, _ in r.points]
    for r in made.routes:
        if r.label is not None:
            half = len(r.link.label) * LABEL / 2
            spans.append((r.label[0] - half, r.label[0] + half))
    left = min((a for a, _ in spans), default=0.0)
    made.width = max((b for _, b in spans), default=0.0) - left
    made.height = max((b.y + b.height / 2 for b in made.boxes.values()), default=0.0)
    for box in made.boxes.values():
        box.x -= left
    for r in made.routes:
        r.points = [(x - left, y) for x, y in r.points]
        r.label = r.label and (r.label[0] - left, r.label[1])
