"""``Digraph`` under the name that it has in graphviz: a program only needs to change its import.

It lays graphs out itself; see ``autojit.drawing``.

>>> from autojit.graphviz import Digraph
>>> graph = Digraph()
>>> graph.node("a", label="x")
"""

from autojit.drawing import Digraph

__all__ = ["Digraph"]
