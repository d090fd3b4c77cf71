"""Explanations as a piece of HTML that needs nothing else: a summary, and a folded block a step."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .as_text import duration, foot, grouped, merged, rows, summary
from .facts import Facts, Line, Step

#: It follows the reader's light or dark scheme; all names begin alike, so that they meet no others.
STYLE = """
.autojit-explanation{font:14px/1.45 system-ui,sans-serif;max-width:60em;color-scheme:light dark}
.autojit-explanation h3{font-size:15px;margin:0 0 .4em;overflow-wrap:anywhere}
.autojit-explanation table{border-collapse:collapse;background:none}
.autojit-explanation th,.autojit-explanation td{text-align:left;vertical-align:top;
 padding:.05em .8em .05em 0;border:0;background:none}
.autojit-explanation th{font-weight:600;opacity:.65;white-space:nowrap}
.autojit-explanation details{border-top:1px solid color-mix(in srgb,currentColor 25%,transparent);
 padding:.4em 0}
.autojit-explanation summary{cursor:pointer}
.autojit-explanation .bar{display:inline-block;height:.6em;background:#4c8dd6;border-radius:2px}
.autojit-explanation .time{opacity:.8;margin:0 .6em}
.autojit-explanation code{font:13px ui-monospace,monospace;white-space:pre-wrap;background:none}
.autojit-explanation .way{opacity:.65;white-space:nowrap}
"""

_WAYS = {
    (True, True): "forward and backward",
    (True, False): "",
    (False, True): "backward",
    (False, False): "",
}


def html(e: Facts) -> str:
    """The piece of HTML."""
    longest = max((step.seconds or step.roofline_seconds for step in e.steps), default=0.0)
    return "\n".join(
        [
            '<div class="autojit-explanation">',
            f"<style>{STYLE}</style>",
            f"<h3><code>{escape(e.name)}: {escape(grouped(e.signature))}</code></h3>",
            _table(summary(e)),
            *(_block(step, longest) for step in e.steps),
            "<details><summary>The code, and this machine</summary>",
            _table(foot(e)),
            "</details></div>",
        ]
    )


def page(e: Facts) -> str:
    """A page of its own."""
    title = f"explain {escape(e.name)}"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" '
        f'content="light dark"></head>\n<body>\n{html(e)}\n</body></html>\n'
    )


def _block(step: Step, longest: float) -> str:
    took = step.seconds if step.seconds is not None else step.roofline_seconds
    words = duration(took) if step.seconds is not None else f"at best {duration(took)}"
    width = 120 * took / longest if longest else 0
    lines = "".join(_line(*each) for each in merged(step.lines))
    return (
        f"<details open><summary><b>{step.number}</b> {escape(step.title)}"
        f'<span class="time">{words}</span>'
        f'<span class="bar" style="width:{width:.0f}px"></span></summary>'
        f"<table>{lines}</table>{_table(rows(step))}</details>"
    )


def _line(line: Line, forward: bool, backward: bool) -> str:
    way = _WAYS[forward, backward]
    return (
        f"<tr><th>{escape(line.file)}:{line.number}</th><td><code>{escape(line.text)}</code></td>"
        f'<td class="way">{way}</td></tr>'
    )


def _table(found: Iterable[tuple[str, str]]) -> str:
    cells = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in found)
    return f"<table>{cells}</table>"
