"""The style sheet of pages, notebooks and pictures, in light and dark."""

from __future__ import annotations

_LIGHT = {
    "paper": "#ffffff", "ink": "#1f2328", "faint": "#656d76", "line": "#d0d7de", "soft": "#f6f8fa",
    "box": "#ffffff", "edge": "#8c959f", "kept": "#8250df", "input": "#ddf4ff", "output": "#dafbe1",
    "call": "#fff1e5", "memory": "#f3f0ff", "group": "#eff2f5", "opened": "#8c959f14",
    "keyword": "#cf222e", "name": "#0550ae", "type": "#116329", "number": "#953800",
    "comment": "#656d76", "warm": "#9a6700",
}  # fmt: skip
_DARK = {
    "paper": "#0d1117", "ink": "#e6edf3", "faint": "#9198a1", "line": "#3d444d", "soft": "#151b23",
    "box": "#1c2128", "edge": "#7d8590", "kept": "#bc8cff", "input": "#12314d", "output": "#12361f",
    "call": "#43290f", "memory": "#2b2346", "group": "#262c36", "opened": "#9198a11a",
    "keyword": "#ff7b72", "name": "#79c0ff", "type": "#7ee787", "number": "#ffa657",
    "comment": "#9198a1", "warm": "#d29922",
}  # fmt: skip

#: The marks by which notebooks state their themes.
_THEMES = {
    '[data-jp-theme-light="true"]': _LIGHT, '[data-jp-theme-light="false"]': _DARK,
    "body.vscode-light": _LIGHT, "body.vscode-dark": _DARK,
}  # fmt: skip

_RULES = """
.autojit { color: var(--aj-ink); font: 13px/1.45 system-ui, "Helvetica Neue", Arial, sans-serif; }
.autojit pre, .autojit code { font: 12px/1.5 ui-monospace, "DejaVu Sans Mono", Menlo, monospace;
  color: inherit; background: none; }
.autojit pre { margin: 4px 0; padding: 8px 10px; overflow-x: auto; background: var(--aj-soft);
  border: 1px solid var(--aj-line); border-radius: 6px; }
.autojit .aj-card { display: block; border: 1px solid var(--aj-line); border-radius: 8px;
  padding: 8px 12px; margin: 4px 0; background: var(--aj-paper); max-width: 1000px; }
.autojit .aj-title { font-weight: 600; font-size: 14px; }
.autojit .aj-faint { color: var(--aj-faint); }
.autojit .aj-warm { color: var(--aj-warm); }
.autojit table.aj-table { border-collapse: collapse; margin: 4px 0; font-size: 12px;
  background: none; color: inherit; }
.autojit .aj-card table.aj-table tr, .autojit .aj-card code { background: none; color: inherit;
  padding: 0; border: none; }
.autojit .aj-card code { font-size: 12px; }
.autojit .aj-title code { font-size: 13px; font-weight: 600; }
.autojit table.aj-table th, .autojit table.aj-table td { text-align: left; padding: 2px 14px 2px 0;
  border: none; vertical-align: baseline; background: none; color: inherit; }
.autojit table.aj-table th { font-weight: 500; color: var(--aj-faint); white-space: nowrap; }
.autojit table.aj-table td.aj-number { text-align: right;
  font-variant-numeric: tabular-nums; }
.autojit details { margin: 4px 0; }
.autojit summary { cursor: pointer; color: var(--aj-faint); }
.autojit .aj-bar { display: inline-block; height: 0.6em; border-radius: 2px;
  background: var(--aj-name); }
.autojit .aj-framed { border: 1px solid var(--aj-line); border-radius: 6px; margin: 6px 0;
  padding: 0 10px; }
.autojit .aj-framed > summary { color: var(--aj-ink); font-weight: 600; margin: 0 -10px;
  padding: 4px 10px; border-radius: 6px; background: var(--aj-soft); }
.autojit .aj-framed > summary small { font-weight: 400; font-size: 12px; margin-left: 8px; }
.autojit .aj-framed table.aj-table th { min-width: 6em; }
.autojit summary:hover { color: var(--aj-ink); }
.autojit .aj-scroll { overflow: auto; max-height: 640px; border: 1px solid var(--aj-line);
  border-radius: 6px; padding: 6px; background: var(--aj-paper); }
.autojit .aj-k { color: var(--aj-keyword); } .autojit .aj-v { color: var(--aj-name); }
.autojit .aj-t { color: var(--aj-type); } .autojit .aj-n { color: var(--aj-number); }
.autojit .aj-c { color: var(--aj-comment); font-style: italic; }
"""

_PICTURE = """
.autojit-picture { font-family: "Helvetica Neue", Helvetica, Arial, sans-serif;
  background: var(--aj-paper); }
.autojit-picture text { fill: var(--aj-ink); text-anchor: middle; font-size: 11px; }
.autojit-picture .aj-name { font-size: 12.5px; font-weight: 600; }
.autojit-picture .aj-code { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, monospace;
  font-size: 9.8px; fill: var(--aj-faint); }
.autojit-picture .aj-name .aj-code { font-weight: 400; }
.autojit-picture .aj-small { font-size: 10.5px; fill: var(--aj-faint); }
.autojit-picture .aj-known { font-size: 10.5px; fill: var(--aj-number); }
.autojit-picture .aj-caption { font-size: 13px; text-anchor: start; fill: var(--aj-faint); }
.autojit-picture .aj-label { font-size: 9.5px; fill: var(--aj-faint); stroke: var(--aj-paper);
  stroke-width: 4px; paint-order: stroke; }
.autojit-picture rect { fill: var(--aj-box); stroke: var(--aj-edge); }
.autojit-picture .aj-input > rect { fill: var(--aj-input); }
.autojit-picture .aj-output > rect { fill: var(--aj-output); }
.autojit-picture .aj-call > rect { fill: var(--aj-call); }
.autojit-picture .aj-load > rect, .autojit-picture .aj-store > rect { fill: var(--aj-memory); }
.autojit-picture .aj-port > rect { fill: none; stroke-dasharray: 2 3; }
.autojit-picture .aj-port > text { font-size: 10.5px; fill: var(--aj-faint); }
.autojit-picture .aj-shut > rect { fill: var(--aj-group); stroke-width: 1.4px; }
.autojit-picture .aj-opened > rect { fill: var(--aj-opened); stroke: var(--aj-line); }
.autojit-picture .aj-edge path { fill: none; stroke: var(--aj-edge); stroke-width: 1.1px; }
.autojit-picture .aj-kept path { stroke: var(--aj-kept); stroke-dasharray: 5 3; }
.autojit-picture .aj-kept .aj-label { fill: var(--aj-kept); }
.autojit-picture .aj-between .aj-label { text-anchor: start; }
.autojit-picture .aj-edge:hover path { stroke-width: 2.4px; }
"""

_PAGE = """
html, body { margin: 0; height: 100%; background: var(--aj-paper); }
body { color: var(--aj-ink); }
.aj-article { box-sizing: border-box; max-width: 1260px; margin: 0 auto; padding: 14px 20px 40px; }
.aj-article h1 { font-size: 17px; margin: 4px 0 10px; } .aj-article h1 code { font-size: 17px; }
"""


def _variables(colours: dict[str, str]) -> str:
    return " ".join(f"--aj-{name}: {colour};" for name, colour in colours.items())


def style_sheet(*, notebook: bool = False) -> str:
    """The text of the style sheet.

    Colours follow the reader's system, or the theme of a notebook if it states one.
    """
    both = ".autojit, .autojit-picture, .aj-page"
    text = (
        f"{both} {{ {_variables(_LIGHT)} color-scheme: light dark; }}\n"
        f"@media (prefers-color-scheme: dark) {{ {both} {{ {_variables(_DARK)} }} }}\n"
    )
    if notebook:
        for theme, colours in _THEMES.items():
            names = ", ".join(f"{theme} {name}" for name in both.split(", "))
            text += f"{names} {{ {_variables(colours)} }}\n"
    return text + _RULES + _PICTURE


def picture_style() -> str:
    """The style of a picture that stands alone."""
    return (
        f".autojit-picture {{ {_variables(_LIGHT)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ .autojit-picture {{ {_variables(_DARK)} }} }}\n"
        f"{_PICTURE}"
    )


def page_style() -> str:
    """The style sheet of a page."""
    return style_sheet() + _PAGE
