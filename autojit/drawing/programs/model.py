"""The model of a picture: nodes and edges in nested groups.

Groups are ranges of the order of execution, so edges between them run one way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from autojit.ir.core.program import Source


@dataclass
class Node:
    """An operation, an input, an output, a library call, or an access to memory."""

    id: str
    #: ``op``, ``constant``, ``input``, ``output``, ``call``, ``load``, ``store`` or ``reduce``.
    kind: str
    title: str
    #: More lines below the title.
    lines: list[str] = field(default_factory=list)
    #: The whole text, as in the program's text.
    text: str = ""
    source: Source | None = None
    #: The value, and the gradient of the result with respect to it, if known.
    value: str | None = None
    gradient: str | None = None
    #: Whether it is shown in the labels of its readers instead of being drawn.
    is_folded: bool = False
    #: Further attributes for JSON.
    about: dict[str, Any] = field(default_factory=dict)


@dataclass
class Group:
    """Nodes and groups that are drawn in one box, which can be closed."""

    id: str
    #: ``line``, ``loop``, ``step``, ``call``, ``block``, ``kernel``, ``body``, ``half`` or ``all``.
    kind: str
    title: str
    lines: list[str] = field(default_factory=list)
    #: The text after the title when it is open.
    head: str = ""
    members: list[Node | Group] = field(default_factory=list)
    text: str = ""
    source: Source | None = None
    value: str | None = None
    gradient: str | None = None
    about: dict[str, Any] = field(default_factory=dict)

    def nodes(self) -> Iterator[Node]:
        """All nodes inside, at any depth."""
        for member in walk(self.members):
            if isinstance(member, Node):
                yield member


Item = Node | Group


@dataclass(frozen=True)
class Edge:
    """A value that is made at ``start`` and read at ``end``."""

    start: str
    end: str
    #: The value's name in the program's text.
    name: str
    type: str
    nbytes: int
    #: ``value``; ``kept`` for a value that the reverse pass reads from the forward pass; ``seed``;
    #: in loops ``memory``, and ``scalar`` for a number in a register.
    kind: str = "value"


@dataclass
class Drawing:
    """A picture before layout: one or two columns of groups, and the edges."""

    #: ``program``, ``adjoint`` or ``loops``.
    kind: str
    name: str
    caption: str
    columns: list[Group]
    edges: list[Edge]

    def nodes(self) -> list[Node]:
        """All nodes, in the order of the program."""
        return [node for column in self.columns for node in column.nodes()]

    def groups(self) -> list[Group]:
        """All groups, outer groups first."""
        return [g for c in self.columns for g in (c, *_groups_in(c))]


def walk(items: Iterable[Item]) -> Iterator[Item]:
    """All nodes and groups; a group comes before its members."""
    for item in items:
        yield item
        if isinstance(item, Group):
            yield from walk(item.members)


def _groups_in(group: Group) -> Iterator[Group]:
    return (item for item in walk(group.members) if isinstance(item, Group))
