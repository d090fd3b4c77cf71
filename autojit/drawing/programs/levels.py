"""The inside of each box: its items, the edges between them, and ports.

An edge never crosses the rim of a box.  An edge into a box ends at the rim, and continues inside
from a port with the value's name; so each box is laid out by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from autojit.ir.tools.units import in_bytes

from .model import Drawing, Edge, Group, Item, walk

#: The most values with separate ports: more values share one port.
MOST_PORTS = 12


@dataclass
class Port:
    """A place where values enter or leave a box."""

    id: str
    #: ``from`` or ``to``.
    kind: str
    names: list[str] = field(default_factory=list)
    type: str = ""
    #: The titles of the items outside that make or read the values.
    others: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The text of the port."""
        if len(self.names) > 1:
            return f"{len(self.names)} values"
        return f"{self.names[0]} {self.type}"


@dataclass
class Link:
    """All values that go from one item of a box to another."""

    start: str
    end: str
    edges: list[Edge] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The kind of its edges."""
        return self.edges[0].kind

    @property
    def label(self) -> str:
        """Shape and bytes; for several values, their number and total bytes; empty for numbers in
        registers."""
        if all(e.kind == "scalar" for e in self.edges):
            return ""
        found = list({e.name: e for e in self.edges}.values())
        size = in_bytes(sum(e.nbytes for e in found))
        return f"{found[0].type} {size}" if len(found) == 1 else f"{len(found)} values {size}"

    @property
    def text(self) -> str:
        """A line for each value."""
        found = {e.name: e for e in self.edges}.values()
        return "\n".join(f"{e.name}: {e.type}, {in_bytes(e.nbytes)}" for e in found)


@dataclass
class Level:
    """The inside of a group."""

    group: Group
    items: dict[str, Item | Port] = field(default_factory=dict)
    links: dict[tuple[str, str], Link] = field(default_factory=dict)

    def link(self, start: str, end: str, edge: Edge) -> None:
        """Add a value that goes from one item to another."""
        if start != end:
            self.links.setdefault((start, end), Link(start, end)).edges.append(edge)


class Levels:
    """The levels of a drawing, by the ids of groups; and the links between its columns."""

    def __init__(self, drawing: Drawing) -> None:
        self.drawing = drawing
        self.of: dict[str, Level] = {}
        self.between: dict[tuple[str, str], Link] = {}
        self._around: dict[str, Group] = {}
        self._items: dict[str, Item] = {}
        #: The group, the kind, the item inside, the edge, the title of the item at its other end.
        self._ports: list[tuple[str, str, str, Edge, str]] = []
        for column in drawing.columns:
            self._add(column)
        for edge in drawing.edges:
            self._route(edge)
        self._add_ports()

    def _add(self, group: Group) -> None:
        self._items[group.id] = group
        for item in (group, *walk(group.members)):
            if not isinstance(item, Group):
                continue
            level = self.of[item.id] = Level(item)
            for member in item.members:
                self._around[member.id] = item
                self._items[member.id] = member
                if isinstance(member, Group) or not member.is_folded:
                    level.items[member.id] = member

    def _path(self, id: str) -> list[str]:
        """The ids of the groups around a node, from the column inwards, then the node's."""
        path = [id]
        while (group := self._around.get(path[-1])) is not None:
            path.append(group.id)
        return path[::-1]

    def _route(self, edge: Edge) -> None:
        start, end = self._items[edge.start], self._items[edge.end]
        if getattr(start, "is_folded", False):
            return
        a, b = self._path(edge.start), self._path(edge.end)
        same = 0
        while same < min(len(a), len(b)) and a[same] == b[same]:
            same += 1
        if same == 0:  # from one column to another
            first, second = a[1], b[1]
            link = self.between.setdefault((first, second), Link(first, second))
            link.edges.append(edge)
            same = 1
        elif same < len(a) and same < len(b):
            self.of[a[same - 1]].link(a[same], b[same], edge)
        for k in range(len(a) - 1, same, -1):
            self._port(a[k - 1], a[k], edge, "to", end.title)
        for k in range(same + 1, len(b)):
            self._port(b[k - 1], b[k], edge, "from", start.title)

    def _port(self, group: str, item: str, edge: Edge, kind: str, other: str) -> None:
        """Note that a value crosses the rim of a group, from or to an item in the group.

        Items that read or write memory name it themselves, and an input shows its name.
        """
        if edge.kind == "memory" or (kind == "to" and self._items[edge.start].kind == "input"):
            return
        self._ports.append((group, kind, item, edge, other))

    def _add_ports(self) -> None:
        """Make the ports: one for each value, or one shared port if there are many."""
        names: dict[tuple[str, str], set[str]] = {}
        for group, kind, _, edge, _ in self._ports:
            names.setdefault((group, kind), set()).add(edge.name)
        for group, kind, item, edge, other in self._ports:
            level, many = self.of[group], len(names[group, kind]) > MOST_PORTS
            own = f"{group}.{kind}" if many else f"{group}.{kind}.{edge.name}"
            port = level.items.setdefault(own, Port(own, kind, type=edge.type))
            assert isinstance(port, Port)
            if edge.name not in port.names:
                port.names.append(edge.name)
            if other not in port.others:
                port.others.append(other)
            level.link(*((own, item) if kind == "from" else (item, own)), edge)


def opened_at_first(levels: Levels, most: int) -> set[str]:
    """The groups that are open at first: all groups of each depth, from the outside inwards, as
    long as at most ``most`` boxes are visible."""
    groups = list(levels.drawing.columns)
    seen = sum(len(levels.of[group.id].items) for group in groups)
    opened: set[str] = set()
    while groups:
        opened.update(group.id for group in groups)
        groups = [m for g in groups for m in g.members if isinstance(m, Group)]
        seen += sum(len(levels.of[group.id].items) for group in groups)
        if seen > most:
            break
    return opened
