"""Drawings of recorded graphs: DOT texts, and SVG without an installed Graphviz.

>>> from autojit.drawing import Digraph
>>> dot = Digraph(graph_attr={"rankdir": "LR"})
>>> dot.node("x", "an input")
>>> dot.edge("x", "y")
>>> dot.source.split()
['digraph', '{', 'graph', '[rankdir=LR]', 'x', '[label="an', 'input"]', 'x', '->', 'y', '}']
>>> dot.svg().startswith("<svg")
True
"""

from .digraph import Digraph
from .recorded import make_dot

__all__ = ["Digraph", "make_dot"]
