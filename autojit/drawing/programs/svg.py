"""Drawings with a layout as SVG text.

A box is a ``<g>`` with its centre at the origin, moved to its place; so is the inside of an open
box.  If the layout has ``closed`` levels, ``data-`` attributes hold the places and sizes that a
script needs to open and close boxes.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.drawing.graphs.layout import Box, Point
from autojit.drawing.graphs.svg import curve
from autojit.notebook.html.blocks import text_of
from autojit.notebook.html.style import picture_style

from .levels import Port
from .model import Group, Item
from .placed import (
    HEAD,
    HEAD_LINE,
    INSIDE,
    LINE,
    ROOM,
    PlacedLevel,
    Placement,
    Route,
    head,
    lines_of,
    open_size,
    size,
)

MARGIN, CAPTION = 16.0, 30.0


def svg(placement: Placement, *, style: bool = True) -> str:
    """The whole drawing; with ``style`` it is self-contained."""
    width, height = placement.size
    caption = placement.levels.drawing.caption
    width = max(width, len(caption) * 6.6)
    box = f"{-MARGIN:g} {-MARGIN - CAPTION:g} {width + 2 * MARGIN:.0f}"
    full = height + 2 * MARGIN + CAPTION
    sheet = f"<style>{text_of(picture_style())}</style>" if style else ""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="autojit-picture" role="img" '
        f'width="{width + 2 * MARGIN:.0f}" height="{full:.0f}" viewBox="{box} {full:.0f}">{sheet}',
        f"<title>{text_of(caption)}</title>",
        f'<text class="aj-caption" x="0" y="{-CAPTION + 6:g}">{text_of(caption)}</text>',
        '<g class="aj-all">',
    ]
    corners = placement.corners()
    parts += _between(placement)
    for column, corner in zip(placement.levels.drawing.columns, corners, strict=True):
        placed = placement.inside(column)
        parts.append(f'<g class="aj-column" transform="translate({_pair(corner)})">')
        parts += _level(placement, placed, is_seen=True)
        parts.append("</g>")
    return "\n".join([*parts, "</g>", "</svg>"])


def _pair(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _level(placement: Placement, placed: PlacedLevel, *, is_seen: bool) -> list[str]:
    """The edges and the boxes of a level, in a ``<g>`` whose origin is its corner.

    If the level is not visible, the script draws its edges later.
    """
    parts = [
        f'<g class="aj-level" data-up="{int(placed.is_upward)}" '
        f'data-size="{placed.width:.1f},{placed.height:.1f}">'
    ]
    sign = -1 if placed.is_upward else 1
    for r in placed.routes:
        parts.append(_edge(r, drawn(r.points, across=False, sign=sign) if is_seen else ""))
    for id, item in placed.level.items.items():
        parts += _box(placement, id, item, placed.boxes[id], is_seen=is_seen)
    return [*parts, "</g>"]


# -- edges ----------------------------------------------------------------------------


def drawn(points: Sequence[Point], *, across: bool, sign: int) -> str:
    """The path data of an edge with an arrowhead at its end."""
    x, y = points[-1]
    tip = f" M{x - 6 * sign:.1f},{y - 3.5:.1f} L{x:.1f},{y:.1f} L{x - 6 * sign:.1f},{y + 3.5:.1f}"
    if not across:
        tip = (
            f" M{x - 3.5:.1f},{y - 6 * sign:.1f} L{x:.1f},{y:.1f} L{x + 3.5:.1f},{y - 6 * sign:.1f}"
        )
    return curve(points, across) + tip


def _edge(route: Route, path: str) -> str:
    link = route.link
    points = " ".join(map(_pair, route.points))
    label = ""
    if route.label is not None:
        x, y = route.label
        label = f'<text class="aj-label" x="{x:.1f}" y="{y:.1f}">{text_of(link.label)}</text>'
    return (
        f'<g class="aj-edge aj-{link.kind}" data-from="{text_of(link.start)}" '
        f'data-to="{text_of(link.end)}" data-points="{points}"><title>{text_of(link.text)}</title>'
        f'<path d="{path}"/>{label}</g>'
    )


def _between(placement: Placement) -> list[str]:
    """The edges from one column to the other."""
    parts = []
    for route in placement.between():
        path = drawn(route.points, across=True, sign=1)
        parts.append(_edge(route, path).replace("aj-edge", "aj-edge aj-between", 1))
    return parts


# -- boxes ----------------------------------------------------------------------------


def _box(placement: Placement, id: str, item: Item | Port, box: Box, *, is_seen: bool) -> list[str]:
    place = f'transform="translate({_pair((box.x, box.y))})"'
    data = f'data-id="{text_of(id)}" data-at="{_pair((box.x, box.y))}"'
    width, height = size(item)
    if isinstance(item, Port):
        return [
            f'<g class="aj-box aj-port" {data} {place} data-size="{box.width:.1f},{height:.1f}">'
            f"<title>{text_of(_port_text(item))}</title>{_rect(box.width, height, height / 2)}"
            f'<text y="4">{text_of(item.title)}</text></g>'
        ]
    tooltip = _tooltip(item)
    if not isinstance(item, Group):
        shut = _rect(box.width, height, 4) + _texts(item, height)
        return [
            f'<g class="aj-box aj-{item.kind}" {data} {place} '
            f'data-size="{box.width:.1f},{height:.1f}">{tooltip}{shut}</g>'
        ]
    is_open = item.id in placement.opened
    closed_width = width if is_open else box.width
    parts = [
        f'<g class="aj-box aj-group aj-{item.kind}" {data} {place} '
        f'data-size="{box.width:.1f},{box.height:.1f}" data-open="{int(is_open)}" '
        f'data-shut="{closed_width:.1f},{height:.1f}">'
    ]
    if not is_open or placement.closed:
        hidden = ' display="none"' if is_open else ""
        parts.append(
            f'<g class="aj-shut"{hidden}>{tooltip}{_rect(closed_width, height, 8)}'
            f"{_texts(item, height)}</g>"
        )
    if is_open or placement.closed:
        parts += _opened(placement, item, box, is_open=is_open, is_seen=is_seen and is_open)
    return [*parts, "</g>"]


def _opened(
    placement: Placement, group: Group, box: Box, *, is_open: bool, is_seen: bool
) -> list[str]:
    """The rim, the head and the inside of an open box."""
    inner = placement.inside(group)
    width, height = (box.width, box.height) if is_open else open_size(group, inner)
    hidden = "" if is_open else ' display="none"'
    corner = (-inner.width / 2, -height / 2 + HEAD + INSIDE)
    return [
        f'<g class="aj-opened"{hidden} data-least="{head(group):.1f}">{_tooltip(group)}'
        f"{_rect(width, height, 8)}"
        f'<text class="aj-name" y="{-height / 2 + 17:.1f}">{_head(group)}</text>'
        f'<g class="aj-inside" transform="translate({_pair(corner)})">',
        *_level(placement, inner, is_seen=is_seen),
        "</g></g>",
    ]


def _head(group: Group) -> str:
    """The title, and the text after it."""
    words = text_of(group.head)
    behind = f'<tspan class="aj-code" dx="12">{words}</tspan>' if words else ""
    return text_of(group.title) + behind


def _rect(width: float, height: float, corner: float) -> str:
    return (
        f'<rect x="{-width / 2:.1f}" y="{-height / 2:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="{corner:g}"/>'
    )


def _texts(item: Item, height: float) -> str:
    """The title and the lines of a closed box."""
    y = -height / 2 + ROOM / 2 + HEAD_LINE - 5
    parts = [f'<text class="aj-name" y="{y:.1f}">{text_of(item.title)}</text>']
    known = len(lines_of(item)) - len(item.lines)
    for k, line in enumerate(lines_of(item)):
        y += LINE
        is_known = k >= len(item.lines) and known
        is_code = isinstance(item, Group) and item.kind in ("line", "loop") and k == 0
        name = "known" if is_known else "code" if is_code else "small"
        parts.append(f'<text class="aj-{name}" y="{y:.1f}">{text_of(line)}</text>')
    return "".join(parts)


def _tooltip(item: Item) -> str:
    words = [item.text or item.title]
    if item.source is not None:
        inside = f" in {item.source.function}" if item.source.function else ""
        words.append(f"{item.source.described}{inside}")
    return f"<title>{text_of(chr(10).join(words))}</title>"


def _port_text(port: Port) -> str:
    names = ", ".join(port.names)
    return f"{names}: {port.kind} {', '.join(port.others)}"
