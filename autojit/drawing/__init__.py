"""Drawings of recorded graphs and programs, without Graphviz.

>>> from autojit.drawing import Digraph
>>> dot = Digraph(graph_attr={"rankdir": "LR"})
>>> dot.node("x", "an input")
>>> dot.edge("x", "y")
>>> dot.source.split()
['digraph', '{', 'graph', '[rankdir=LR]', 'x', '[label="an', 'input"]', 'x', '->', 'y', '}']
>>> dot.svg().startswith("<svg")
True
"""

from .graphs.digraph import Digraph
from .graphs.recorded import make_dot
from .programs.picture import Picture, picture

__all__ = ["Digraph", "Picture", "make_dot", "picture"]
