"""A directed graph with the interface of the package ``graphviz``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from autojit.notebook.html.blocks import pane

from .layout import Box, place
from .svg import box_of, text_of

Attributes = dict[str, str]
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|-?(\.[0-9]+|[0-9]+(\.[0-9]*)?)")
_KEYWORDS = {"node", "edge", "graph", "digraph", "subgraph", "strict"}


def quoted(word: str) -> str:
    """A word as DOT writes it.

    >>> quoted("x1"), quoted("two words")
    ('x1', '"two words"')
    """
    if _PLAIN.fullmatch(word) and word.lower() not in _KEYWORDS:
        return word
    escaped = re.sub(r'(?<!\\)"', r"\"", word).replace("\n", "\\n")
    return f'"{escaped}"'


def _listed(attributes: Mapping[str, str]) -> str:
    words = " ".join(f"{quoted(k)}={quoted(v)}" for k, v in attributes.items())
    return f" [{words}]" if words else ""


class Digraph:
    """A directed graph.

    Args:
        name: the name in the DOT text.
        comment: a comment before it.
        filename: the default path for :meth:`render`.
        format: ``"svg"`` or ``"dot"``.
        graph_attr, node_attr, edge_attr: attributes of the graph, and of all nodes and edges.
        body: lines of DOT text, which are part of the source but are not drawn.
    """

    def __init__(self, name: str | None = None, comment: str | None = None,
                 filename: str | None = None, directory: str | None = None,
                 format: str | None = None, engine: str | None = None,
                 graph_attr: Mapping[str, str] | None = None,
                 node_attr: Mapping[str, str] | None = None,
                 edge_attr: Mapping[str, str] | None = None, body: Iterable[str] | None = None,
                 strict: bool = False, **_: Any) -> None:  # fmt: skip
        self.name: str | None = name
        self.comment: str | None = comment
        self.strict: bool = strict
        self.filename: str = filename or f"{name or 'Digraph'}.gv"
        self.directory: str | None = directory
        self.format: str = format or "svg"
        self.graph_attr: dict[str, str] = dict(graph_attr or {})
        self.node_attr: dict[str, str] = dict(node_attr or {})
        self.edge_attr: dict[str, str] = dict(edge_attr or {})
        self.body: list[str] = list(body or ())
        self.nodes: dict[str, Attributes] = {}
        self.links: list[tuple[str, str, Attributes]] = []

    def node(self, name: str, label: str | None = None, _attributes: Any = None,
             **attrs: Any) -> None:  # fmt: skip
        """Add a node, or add attributes to an existing one."""
        given = {k: str(v) for k, v in {**attrs, **(_attributes or {})}.items()}
        if label is not None:
            given = {"label": str(label), **given}
        self.nodes.setdefault(str(name), {}).update(given)

    def edge(self, tail_name: str, head_name: str, label: str | None = None,
             _attributes: Any = None, **attrs: Any) -> None:  # fmt: skip
        """Add an edge."""
        given = {k: str(v) for k, v in {**attrs, **(_attributes or {})}.items()}
        if label is not None:
            given = {"label": str(label), **given}
        self.links.append((str(tail_name), str(head_name), given))

    def edges(self, tail_head_iter: Iterable[Any]) -> None:
        """Add edges: pairs of names, or strings of two letters."""
        for tail, head in tail_head_iter:
            self.edge(tail, head)

    def attr(self, kw: str | None = None, _attributes: Any = None, **attrs: Any) -> None:
        """Set attributes of the graph, or of all nodes or edges."""
        tables = {"graph": self.graph_attr, "node": self.node_attr, "edge": self.edge_attr}
        if kw is not None and kw not in tables:
            raise ValueError(f"attr: {kw!r} is not 'graph', 'node' or 'edge'")
        tables[kw or "graph"].update(
            {k: str(v) for k, v in {**attrs, **(_attributes or {})}.items()}
        )

    @property
    def source(self) -> str:
        """The graph as DOT text."""
        head = "strict digraph" if self.strict else "digraph"
        lines = [f"// {self.comment}"] if self.comment else []
        lines.append(f"{head} {quoted(self.name)} {{" if self.name else f"{head} {{")
        tables = {"graph": self.graph_attr, "node": self.node_attr, "edge": self.edge_attr}
        lines += [f"\t{kind}{_listed(table)}" for kind, table in tables.items() if table]
        lines += [f"\t{line.strip()}" for line in self.body]
        lines += [f"\t{quoted(name)}{_listed(table)}" for name, table in self.nodes.items()]
        lines += [f"\t{quoted(a)} -> {quoted(b)}{_listed(table)}" for a, b, table in self.links]
        return "\n".join([*lines, "}", ""])

    def __str__(self) -> str:
        return self.source

    def svg(self) -> str:
        """The graph as an SVG drawing."""
        boxes: dict[str, Box] = {}
        looks: dict[str, Attributes] = {}
        across = self.graph_attr.get("rankdir", "TB") in ("LR", "RL")
        for name in [*self.nodes, *(n for a, b, _ in self.links for n in (a, b))]:
            if name not in boxes:
                look = {**self.node_attr, **self.nodes.get(name, {})}
                looks[name] = {"label": name, **look}
                boxes[name] = box_of(looks[name], across)
        paths = place(boxes, [(a, b) for a, b, _ in self.links], self.graph_attr)
        return text_of(boxes, looks, paths, [self.edge_attr | t for _, _, t in self.links], across)

    def _repr_svg_(self) -> str:
        return self.svg()

    def _repr_html_(self) -> str:
        return pane(self.svg())

    def pipe(self, format: str | None = None, encoding: str | None = None, **_: Any) -> Any:
        """The drawing as bytes, or as a string if an encoding is given."""
        made = self._made(format or self.format)
        return made if encoding else made.encode()

    def _made(self, format: str) -> str:
        if format == "svg":
            return self.svg()
        if format in ("dot", "gv"):
            return self.source
        raise ValueError(
            f"format={format!r} is not 'svg' or 'dot'. Graphviz makes others of the DOT text:\n"
            f"    dot.save('graph.gv')  # then: dot -T{format} graph.gv -o graph.{format}"
        )

    def save(self, filename: str | None = None, directory: str | None = None, **_: Any) -> str:
        """Write the DOT text, and return the path."""
        path = Path(directory or self.directory or ".") / (filename or self.filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.source, encoding="utf-8")
        return str(path)

    def render(self, filename: str | None = None, directory: str | None = None,
               view: bool = False, cleanup: bool = False, format: str | None = None,
               **_: Any) -> str:  # fmt: skip
        """Write the DOT text, and the drawing beside it; return the drawing's path.

        Args:
            filename: the path of the text; the drawing's path has the format appended.
            directory: the directory of both files.
            view: not covered: nothing is opened.
            cleanup: whether to remove the text afterwards.
            format: ``"svg"`` or ``"dot"``.
        """
        word = format or self.format
        made = self._made(word)
        text = Path(self.save(filename, directory))
        drawing = text.with_name(f"{text.name}.{word}")
        drawing.write_text(made, encoding="utf-8")
        if cleanup:
            text.unlink()
        return str(drawing)
