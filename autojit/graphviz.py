"""``graphviz.Digraph`` by that name, so that programs that draw graphs run by changing an import.

It lays graphs out itself; see ``autojit.drawing``.

>>> from autojit.graphviz import Digraph
>>> graph = Digraph()
>>> graph.node("a", label="x")
"""

from autojit.drawing import Digraph

__all__ = ["Digraph"]
