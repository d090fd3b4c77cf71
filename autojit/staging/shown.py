"""Notebook output, by the pages of ``autojit.notebook`` in a layer above."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from autojit.ir.core.program import views
from autojit.tracing.hooks import hooks


class Shown:
    """An object that a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return hooks.html(self)

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, Any]:
        return bundle(self, include, exclude)


class Text(str):
    """A text of many lines, which a notebook and IPython show as it is printed.

    ``language`` is ``"program"``, ``"python"`` or ``"words"``.
    """

    language: str

    def __new__(cls, text: str, language: str = "program") -> Text:
        made = super().__new__(cls, text)
        made.language = language
        return made

    def _repr_html_(self) -> str:
        return hooks.html(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def bundle(
    x: Any, include: Container[str] | None, exclude: Container[str] | None
) -> dict[str, str]:
    """What a notebook may show: those MIME types that are wanted, and are not unwanted."""
    makers = {"text/plain": repr, "text/html": hooks.html}
    return {
        kind: make(x)
        for kind, make in makers.items()
        if (include is None or kind in include) and (exclude is None or kind not in exclude)
    }


views.html, views.bundle = hooks.html, bundle
