"""A profile as a flame graph: SVG, or a page on which a click zooms into a frame.

Time runs to the right, and callers are above their callees.  The width of a frame is its share of
the time; its colour shows its kind.  Pages load nothing from elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape

from autojit.ir.tools.units import in_seconds
from autojit.notebook.html.blocks import article

from .annotated import annotated
from .lines import PartTime, part_times
from .recorder import Node, Recorder
from .report import report
from .table import share, table

#: In pixels: the width of the picture, a row's height, a letter's width, and the narrowest frame.
WIDTH, ROW, LETTER, NARROWEST = 1200, 20, 6.7, 0.4
#: Space above the frames.
_TOP = 30

_COLOURS = {
    "tracing": "#e6a04c", "transforming": "#d9804a", "compiling": "#b78ad6", "pass": "#cbb2e6",
    "phase": "#cbb2e6", "run": "#5aa9d6", "forward": "#7ac3a5", "backward": "#e58a9a",
    "both": "#b9b37a", "interpreting": "#8fb0c9", "operation": "#7ac3a5", "call": "#9fb7c7",
    "arguments": "#a9a9a9", "annotation": "#c9c9a0", "all": "#cfcfcf",
}  # fmt: skip
_LEGEND = (
    ("trace", "tracing"), ("transform", "transforming"), ("compile", "compiling"),
    ("passes", "pass"), ("run", "run"), ("forward", "forward"), ("backward", "backward"),
    ("both", "both"),
)  # fmt: skip

_STYLE = """
.flame { font: 11px ui-monospace, Menlo, Consolas, monospace; background: var(--aj-paper, #fff);
  display: block; max-width: 100%; min-width: 800px; height: auto; }
.flame text { fill: #1b1b1b; pointer-events: none; }
.flame .head { fill: var(--aj-faint, #333); }
.flame rect { stroke: var(--aj-paper, #fff); stroke-width: 0.6; }
.flame g.frame { cursor: pointer; }
.flame g.frame:hover rect { stroke: #000; stroke-width: 1.2; }
@media (prefers-color-scheme: dark) {
  .flame { background: var(--aj-paper, #16181b); } .flame .head { fill: var(--aj-faint, #ddd); }
  .flame rect { stroke: var(--aj-paper, #16181b); }
  .flame g.frame:hover rect { stroke: #fff; }
}"""


@dataclass
class Frame:
    """A frame; its time is in seconds."""

    name: str
    kind: str
    seconds: float
    about: str = ""
    children: list[Frame] = field(default_factory=list)


def frames(recorder: Recorder) -> Frame:
    """The tree of frames of the whole profile."""
    r = report(recorder)
    children = list(_merged(r.tree))
    whole = Frame("all", "all", sum(c.seconds for c in children), "", children)
    return whole


def _merged(node: Node) -> Iterator[Frame]:
    for child in node.children.values():
        made = _frame(child)
        if made is not None:
            yield made


def _frame(node: Node) -> Frame | None:
    if node.kind == "watching" or not node.count:
        return None
    children = list(_merged(node))
    if node.kind == "run":
        for sums in node.sums.values():
            children += map(_part, part_times(sums))
    for ops in node.ops.values():
        for op, seconds in zip(ops.program.ops, ops.seconds, strict=False):
            children.append(Frame(op.kind.name, "interpreting", seconds, str(op.source or "")))
    seconds = node.net
    if node.kind == "call":  # other work in it is slower while profiling
        seconds = sum(c.seconds for c in children)
    seconds = max(seconds, sum(c.seconds for c in children))
    about = f"{node.count:,} times" if node.count > 1 else ""
    if node.source is not None:
        about = f"{node.source.described} {about}"
    return Frame(_label(node), node.kind, seconds, about, children)


def _label(node: Node) -> str:
    words = {"tracing": "trace", "transforming": "transform", "compiling": "compile"}
    if node.kind in ("call", "pass", "phase", "operation", "backward", "annotation"):
        return node.name
    return f"{words.get(node.kind, node.kind)} {node.name}"


def _part(part: PartTime) -> Frame:
    t = part.time
    lines = ", ".join(dict.fromkeys(s.described for s in part.sources))
    name = part.what
    first = part.sources[0] if part.sources else None
    if first is not None:
        name += f" {os.path.basename(str(first))}"
    about = f"{t.count:,} times; {lines or 'no line of yours'}"
    children = list(map(_part, part.inside))
    seconds = max(t.seconds, sum(c.seconds for c in children))
    return Frame(name, part.direction or "run", seconds, about, children)


# -- drawing ---------------------------------------------------------------------------


def flame_svg(recorder: Recorder) -> str:
    """The flame graph as SVG."""
    whole = frames(recorder)
    depth = _depth(whole)
    height = _TOP + ROW * depth + 8
    title = f"autojit: {in_seconds(whole.seconds)} of {in_seconds(recorder.seconds)}"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flame" width="{WIDTH}" '
        f'height="{height}" viewBox="0 0 {WIDTH} {height}">',
        f"<style>{_STYLE}</style>",
        f'<text class="head" x="4" y="18">{escape(title)}</text>',
        *_legend(),
        *_drawn(whole, whole.seconds, 0.0, float(WIDTH), 0),
        "</svg>",
    ]) + "\n"  # fmt: skip


def _legend() -> Iterator[str]:
    x = WIDTH - sum(len(name) * LETTER + 24 for name, _ in _LEGEND)
    for name, kind in _LEGEND:
        yield f'<rect x="{x:.1f}" y="9" width="11" height="11" fill="{_COLOURS[kind]}"/>'
        yield f'<text class="head" x="{x + 14:.1f}" y="18">{name}</text>'
        x += len(name) * LETTER + 24


def _depth(frame: Frame) -> int:
    return 1 + max(map(_depth, frame.children), default=0)


def _drawn(f: Frame, whole: float, x: float, width: float, row: int) -> Iterator[str]:
    if width < NARROWEST:
        return
    y = _TOP + ROW * row
    about = f"{f.name}: {in_seconds(f.seconds)}, {share(f.seconds, whole)}"
    about = f"{about}; {f.about}" if f.about else about
    letters = int((width - 6) / LETTER)
    name = f.name if len(f.name) <= letters else f"{f.name[: letters - 1]}…" if letters > 2 else ""
    colour = _COLOURS.get(f.kind, "#bbbbbb")
    yield (
        f'<g class="frame" data-x="{x:.3f}" data-w="{width:.3f}" data-name="{escape(f.name)}">'
        f"<title>{escape(about)}</title>"
        f'<rect x="{x:.3f}" y="{y}" width="{width:.3f}" height="{ROW}" fill="{colour}" rx="2"/>'
        f'<text x="{x + 3:.3f}" y="{y + 14}">{escape(name)}</text></g>'
    )
    for child in sorted(f.children, key=lambda c: -c.seconds):
        part = width * child.seconds / f.seconds if f.seconds else 0.0
        yield from _drawn(child, whole, x, part, row + 1)
        x += part


_SCRIPT = """
const frames = [...document.querySelectorAll("g.frame")], width = __WIDTH__, letter = __LETTER__;
for (const g of frames) g.addEventListener("click", () => zoom(g));
function zoom(to) {
  const x0 = +to.dataset.x, w0 = +to.dataset.w;
  for (const g of frames) {
    let x = (+g.dataset.x - x0) * width / w0, w = +g.dataset.w * width / w0;
    const shown = x < width && x + w > 0;
    if (x < 0) { w += x; x = 0; }
    w = Math.min(w, width - x);
    g.style.display = shown && w > 0.4 ? "" : "none";
    const [rect, text] = [g.querySelector("rect"), g.querySelector("text")];
    rect.setAttribute("x", x); rect.setAttribute("width", Math.max(w, 0));
    text.setAttribute("x", x + 3);
    const room = Math.floor((w - 6) / letter), name = g.dataset.name;
    text.textContent = name.length <= room ? name : room > 2 ? name.slice(0, room - 1) + "…" : "";
  }
}
""".replace("__WIDTH__", str(WIDTH)).replace("__LETTER__", str(LETTER))

_HOW = (
    "The width of a frame is its share of the time. Click a frame to zoom in; click the first "
    "frame to zoom out."
)


def flame_html(recorder: Recorder) -> str:
    """The page with the flame graph, the table, and the lines."""
    texts = (table(recorder), annotated(recorder))
    blocks = "".join(f"<pre>{escape(t)}</pre>" for t in texts)
    picture = f'<div class="aj-scroll">{flame_svg(recorder)}</div>'
    return article("profile", f"<p>{_HOW}</p>", picture, blocks, script=_SCRIPT)
