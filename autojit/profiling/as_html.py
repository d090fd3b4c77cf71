"""A profile for notebooks: the table, the picture, and the lines in a folded section."""

from __future__ import annotations

from autojit.ir.tools.units import in_seconds
from autojit.notebook.html.blocks import PYTHON, card, coloured, folded, text_of

from .annotated import annotated
from .flame import flame_svg
from .recorder import Recorder
from .table import table


def html(recorder: Recorder) -> str:
    """The profile as HTML, with its style."""
    rows = table(recorder).partition("\n\n")[2]
    lines = f"<pre>{coloured(annotated(recorder), PYTHON)}</pre>"
    return card(
        f"profile of {text_of(in_seconds(recorder.seconds))}",
        f"<pre>{text_of(rows)}</pre>",
        f'<div class="aj-scroll">{flame_svg(recorder)}</div>',
        folded("your lines", lines),
    )
