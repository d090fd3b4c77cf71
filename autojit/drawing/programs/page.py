"""Pictures as pages: a click opens or closes a box, and the mouse pans and zooms."""

from __future__ import annotations

from autojit.notebook.html.blocks import page, text_of

from .placed import Placement
from .script import script
from .svg import svg

_STYLE = """<style>
.aj-view { position: fixed; inset: 0; overflow: hidden; cursor: grab; touch-action: none; }
.aj-view svg { width: 100%; height: 100%; display: block; }
.aj-view .aj-shut { cursor: zoom-in; } .aj-view .aj-opened > rect { cursor: zoom-out; }
.aj-tools { position: fixed; top: 8px; right: 10px; display: flex; gap: 6px; z-index: 1; }
.aj-tools button { font: inherit; font-size: 12px; color: var(--aj-ink); background: var(--aj-soft);
  border: 1px solid var(--aj-line); border-radius: 6px; padding: 3px 9px; cursor: pointer; }
.aj-tools button:hover { background: var(--aj-group); }
.aj-hint { position: fixed; bottom: 6px; left: 8px; padding: 1px 5px; font-size: 11px;
  border-radius: 4px;
  color: var(--aj-faint); background: var(--aj-paper); }
</style>"""
_BAR = (
    '<div class="aj-tools"><button id="aj-fit">fit</button><button id="aj-all">open all</button>'
    '<button id="aj-none">shut all</button></div>'
)
_HINT = (
    '<div class="aj-hint">click a box to open or shut it; drag to move, wheel to zoom; rest on a '
    "box or an edge for its text</div>"
)


def page_of(placement: Placement) -> str:
    """The page of a drawing."""
    drawing = placement.levels.drawing
    body = f'{_STYLE}{_BAR}<div class="aj-view">{svg(placement, style=False)}</div>{_HINT}'
    return page(text_of(drawing.caption), body, script=script())
