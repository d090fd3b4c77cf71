"""What ``jit(f).explain(*args)`` returns."""

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
    """What ``jit(f).explain(*args)`` returns: print it, or ask for ``text()``, ``html()``,
    ``json()``.

    Times are in seconds, sizes in bytes.  ``flops`` are operations on floats: sums, products,
    comparisons and elementary functions count one each, a matrix product two for each of its
    multiplications.
    """

    def text(self, width: int | None = None) -> str:
        """The text, in lines of at most so many characters (by default those of the terminal, from
        60 to 100)."""
        return Text(text(self, width), "words")

    def html(self) -> str:
        """A piece of HTML that needs nothing else."""
        return html(self)

    def page(self) -> str:
        """A page of its own."""
        return page(self)

    def json(self) -> str:
        """All that is known, as JSON."""
        return json.dumps(self.as_dict(), indent=2)

    def as_dict(self) -> dict[str, Any]:
        """The same as objects, with what follows from it."""
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
