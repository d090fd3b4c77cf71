"""Graphs with a layout, as SVG text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import sqrt

from .layout import Box, Point

#: The width of a letter, the height of a line, the room around texts and the margin, in pixels.
LETTER, LINE, ROOM, MARGIN = 6.7, 15.0, 8.0, 8.0

#: Items without their own colour follow the reader's colour scheme, by default black on white.
_STYLE = """
.autojit-graph .aj-line { stroke: var(--aj-edge, #555); }
.autojit-graph .aj-tip { fill: var(--aj-edge, #555); }
.autojit-graph .aj-plain { fill: var(--aj-box, white); stroke: var(--aj-edge, #333); }
.autojit-graph .aj-plain ~ text, .autojit-graph .aj-words { fill: var(--aj-ink, black); }
@media (prefers-color-scheme: dark) {
  .autojit-graph .aj-line { stroke: var(--aj-edge, #999); }
  .autojit-graph .aj-tip { fill: var(--aj-edge, #999); }
  .autojit-graph .aj-words { fill: var(--aj-ink, #999); }
}
"""
Attributes = Mapping[str, str]
_COLOURS = {"lightgrey": "#e4e4e4", "lightgray": "#e4e4e4", "lightblue": "#cfe5f2",
            "darkolivegreen1": "#d9f2b4", "darkolivegreen3": "#b9d98a"}  # fmt: skip


def _lines(label: str) -> list[str]:
    return label.replace("\\n", "\n").replace("\\l", "\n").strip("\n").split("\n")


def fields_of(look: Attributes, across: bool) -> tuple[list[list[str]], bool]:
    """The lines of each field of a label, and whether the fields lie side by side.

    >>> fields_of({"label": "{x | 1.0}", "shape": "record"}, across=True)
    ([['x'], ['1.0']], True)
    """
    label = look["label"]
    if look.get("shape") not in ("record", "Mrecord"):
        return [_lines(label)], True
    turned = label.strip().startswith("{") and label.strip().endswith("}")
    parts = label.strip().strip("{}").split("|")
    return [[line.strip() for line in _lines(p)] for p in parts], turned == across


def _size(lines: Sequence[str]) -> tuple[float, float]:
    return max(map(len, lines)) * LETTER + 2 * ROOM, len(lines) * LINE + ROOM


def box_of(look: Attributes, across: bool) -> Box:
    """A box with room for a label."""
    fields, beside = fields_of(look, across)
    sizes = [_size(f) for f in fields]
    widths, heights = [w for w, _ in sizes], [h for _, h in sizes]
    width, height = (sum(widths), max(heights)) if beside else (max(widths), sum(heights))
    if look.get("shape") == "circle":
        width = height = sqrt(width * width + height * height) * 0.8
    elif look.get("shape", "ellipse") in ("ellipse", "oval"):
        width, height = width * 1.15, height * 1.2
    return Box(width, height)


def text_of(
    boxes: Mapping[str, Box], looks: Mapping[str, Attributes], paths: Sequence[list[Point]],
    edges: Sequence[Attributes], across: bool,
) -> str:  # fmt: skip
    """The drawing as SVG text."""
    width = max((b.x + b.width / 2 for b in boxes.values()), default=0.0) + 2 * MARGIN
    height = max((b.y + b.height / 2 for b in boxes.values()), default=0.0) + 2 * MARGIN
    for path in paths:
        width = max([width, *(x + 2 * MARGIN for x, _ in path)])
        height = max([height, *(y + 2 * MARGIN for _, y in path)])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="{-MARGIN:g} {-MARGIN:g} {width:.0f} {height:.0f}" class="autojit-graph" '
        'font-family="Helvetica,Arial,sans-serif" font-size="12">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" '
        'markerHeight="7" orient="auto"><path class="aj-tip" d="M0,0 L10,5 L0,10 z"/></marker>'
        "</defs>",
    ]
    for path, look in zip(paths, edges, strict=True):
        parts += _edge(path, look, across)
    for name, b in boxes.items():
        parts += _node(name, b, looks[name], across)
    return "\n".join([*parts, "</svg>"])


def curve(path: Sequence[Point], across: bool) -> str:
    """The SVG path data of a smooth line through points.

    >>> curve([(0.0, 0.0), (10.0, 20.0)], across=False)
    'M0.0,0.0 C0.0,10.0 10.0,10.0 10.0,20.0'
    """
    (x, y), *others = path
    words = f"M{x:.1f},{y:.1f}"
    for a, b in others:
        if across:
            m = (x + a) / 2
            words += f" C{m:.1f},{y:.1f} {m:.1f},{b:.1f} {a:.1f},{b:.1f}"
        else:
            m = (y + b) / 2
            words += f" C{x:.1f},{m:.1f} {a:.1f},{m:.1f} {a:.1f},{b:.1f}"
        x, y = a, b
    return words


def _edge(path: list[Point], look: Attributes, across: bool) -> list[str]:
    if not path:
        return []
    colour = escape(look.get("color", "#555"))
    mark = "" if "color" in look else ' class="aj-line"'
    found = [
        f'<path{mark} d="{curve(path, across)}" fill="none" stroke="{colour}" '
        'marker-end="url(#tip)"/>'
    ]
    if look.get("label"):
        p, q = path[len(path) // 2 - 1], path[len(path) // 2]
        found.append(_text(look["label"], (p[0] + q[0]) / 2 + 4, (p[1] + q[1]) / 2, "start"))
    return found


def _text(line: str, x: float, y: float, anchor: str = "middle") -> str:
    mark = ' class="aj-words"' if anchor == "start" else ""
    return f'<text{mark} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(line)}</text>'


def _node(name: str, b: Box, look: Attributes, across: bool) -> list[str]:
    shape, style = look.get("shape", "ellipse"), look.get("style", "")
    fill = look.get("fillcolor", look.get("color", "lightgrey")) if "filled" in style else "white"
    fill = escape(_COLOURS.get(fill, fill))
    stroke = escape(look.get("color", "#333")) if "filled" not in style else "#333"
    colours = f'fill="{fill}" stroke="{stroke}"'
    if "filled" not in style and "color" not in look:
        colours += ' class="aj-plain"'
    left, top = b.x - b.width / 2, b.y - b.height / 2
    parts = [f"<g><title>{escape(name)}</title>"]
    if shape in ("ellipse", "oval", "circle"):
        parts.append(
            f'<ellipse cx="{b.x:.1f}" cy="{b.y:.1f}" rx="{b.width / 2:.1f}" '
            f'ry="{b.height / 2:.1f}" {colours}/>'
        )
    elif shape not in ("plaintext", "none"):
        corner = 6 if shape == "Mrecord" or "rounded" in style else 0
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{b.width:.1f}" height="{b.height:.1f}" '
            f'rx="{corner}" {colours}/>'
        )
    else:
        parts[0] = parts[0].replace("<g>", '<g class="aj-words">')
    return [*parts, *_label(b, look, across), "</g>"]


def _label(b: Box, look: Attributes, across: bool) -> list[str]:
    fields, beside = fields_of(look, across)
    sizes = [_size(f) for f in fields]
    parts = []
    x, y = b.x - b.width / 2, b.y - b.height / 2
    for k, (lines, (w, h)) in enumerate(zip(fields, sizes, strict=True)):
        if len(fields) == 1:
            w, h = b.width, b.height
        else:
            w, h = (w, b.height) if beside else (b.width, h)
        if k > 0:
            end = (x, y + h) if beside else (x + w, y)
            parts.append(
                f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}" '
                'stroke="#333" class="aj-line"/>'
            )
        first = y + h / 2 - (len(lines) - 1) * LINE / 2 + 4
        parts += [_text(line, x + w / 2, first + i * LINE) for i, line in enumerate(lines)]
        x, y = (x + w, y) if beside else (x, y + h)
    return parts
