"""Drawings as DOT text: all nodes, with groups as clusters."""

from __future__ import annotations

from collections.abc import Iterator

from autojit.drawing.graphs.digraph import Digraph, quoted
from autojit.ir.tools.units import in_bytes

from .model import Drawing, Group
from .placed import lines_of

_SHAPES = {"input": "oval", "output": "oval", "constant": "plaintext", "call": "component"}


def dot(drawing: Drawing) -> str:
    """The DOT text of a drawing."""
    graph = Digraph(drawing.name, node_attr={"shape": "box"}, graph_attr={"compound": "true"})
    graph.attr(label=drawing.caption)
    for node in drawing.nodes():
        label = "\n".join([node.title, *lines_of(node)])
        graph.node(node.id, label, shape=_SHAPES.get(node.kind, "box"), tooltip=node.text)
    inner = {g.id: g for g in drawing.groups()}
    for edge in drawing.edges:
        more = {"style": "dashed"} if edge.kind == "kept" else {}
        start, end = _ends(inner, edge.start), _ends(inner, edge.end)
        if start != edge.start:
            more["ltail"] = f"cluster_{edge.start}"
        if end != edge.end:
            more["lhead"] = f"cluster_{edge.end}"
        graph.edge(start, end, f"{edge.type} {in_bytes(edge.nbytes)}", **more)
    graph.body = [line for column in drawing.columns for line in _cluster(column)]
    return graph.source


def _ends(groups: dict[str, Group], id: str) -> str:
    """The node at which an edge to a group ends: the group's first node."""
    group = groups.get(id)
    return next((n.id for n in group.nodes()), id) if group else id


def _cluster(group: Group) -> Iterator[str]:
    yield f"subgraph {quoted(f'cluster_{group.id}')} {{"
    yield f"label={quoted(group.title)}"
    for member in group.members:
        if isinstance(member, Group):
            yield from _cluster(member)
        else:
            yield quoted(member.id)
    yield "}"
