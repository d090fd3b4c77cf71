"""The result of ``jit(f).explain(*args)``."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from autojit.ir.tools.units import plural
from autojit.staging.shown import Text

from .as_html import html, page
from .as_text import text
from .facts import Facts


@dataclasses.dataclass
class Explanation(Facts):
    """The result of ``jit(f).explain(*args)``: print it, or call ``text()``, ``html()`` or
    ``json()``.

    Times are in seconds, sizes in bytes.  ``flops`` are floating-point operations: sums, products,
    comparisons and elementary functions count as one each, each multiplication in a matrix product
    as two.
    """

    def text(self, width: int | None = None) -> str:
        """The text, in lines of at most ``width`` characters (by default the width of the terminal,
        between 60 and 100)."""
        return Text(text(self, width), "words")

    def html(self) -> str:
        """A self-contained HTML fragment."""
        return html(self)

    def page(self) -> str:
        """A complete HTML page."""
        return page(self)

    def json(self) -> str:
        """All facts, as JSON."""
        return json.dumps(self.as_dict(), indent=2)

    def as_dict(self) -> dict[str, Any]:
        """All facts as objects, with the values derived from them."""
        made = dataclasses.asdict(self)
        made.update(flops=self.flops, roofline_seconds=self.roofline_seconds)
        for step, each in zip(self.steps, made["steps"], strict=True):
            each.update(bound=step.bound, share=step.share, roofline_seconds=step.roofline_seconds)
        return made

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<explanation of {self.name}: {plural(len(self.steps), 'step')}>"

    def _repr_html_(self) -> str:
        return self.html()
