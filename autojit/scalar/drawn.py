"""Notebook output of Values and tensors."""

from __future__ import annotations


class Drawn:
    """An object that a notebook shows as the graph that computed it, if the graph is small."""

    __slots__ = ()

    def _repr_svg_(self) -> str | None:
        from autojit.drawing.graphs.recorded import shown

        return shown(self)

    def _repr_html_(self) -> str | None:
        from autojit.notebook.html.blocks import pane

        svg = self._repr_svg_()
        return None if svg is None else pane(svg)
