"""Minimum cuts, by Dinic's algorithm (E. A. Dinic, Soviet Math. Doklady 11, 1970).

networkx has it too, but importing it takes 65 ms, as long as compiling the gradient of a small
loop. The tests compare the two.

Legal where every path has an edge that may be cut; otherwise there is no cut, and ValueError is
raised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Sequence


def source_side(
    edges: Iterable[tuple[Hashable, Hashable, int | None]], source: Hashable, sink: Hashable
) -> set[Hashable]:
    """The source's side of a minimum cut, with as many nodes as possible.

    Args:
        edges: from, to, and the capacity (None: the edge is never cut).
        source, sink: every path between them has an edge that may be cut.

    >>> edges = [("s", "a", 3), ("a", "b", 1), ("b", "t", 3), ("s", "b", None)]
    >>> sorted(source_side(edges, "s", "t"))
    ['a', 'b', 's']
    """
    flow = _Flow(list(edges), source, sink)
    flow.run()
    return flow.before_sink()


class _Flow:
    def __init__(
        self,
        edges: list[tuple[Hashable, Hashable, int | None]],
        source: Hashable,
        sink: Hashable,
    ) -> None:
        self.number: dict[Hashable, int] = {source: 0, sink: 1}
        self.unlimited = unlimited = 1 + sum(capacity or 0 for *_, capacity in edges)
        #: By edge: its target and its remaining capacity; edge ``e ^ 1`` is its reverse.
        self.to: list[int] = []
        self.room: list[int] = []
        self.leaving: list[list[int]] = [[], []]
        for a, b, capacity in edges:
            room = unlimited if capacity is None else capacity
            self._edge(self._node(a), self._node(b), room)
        self.level: list[int] = []

    def _node(self, name: Hashable) -> int:
        found = self.number.setdefault(name, len(self.number))
        if found == len(self.leaving):
            self.leaving.append([])
        return found

    def _edge(self, a: int, b: int, room: int) -> None:
        for start, end, capacity in ((a, b, room), (b, a, 0)):
            self.leaving[start].append(len(self.to))
            self.to.append(end)
            self.room.append(capacity)

    def run(self) -> None:
        """Fill the shortest paths to the sink as long as there are any."""
        flow = 0
        while self._measure():
            untried = [iter(edges) for edges in self.leaving]
            while path := self._path(untried):
                least = min(self.room[e] for e in path)
                flow += least
                if flow >= self.unlimited:
                    raise ValueError("there is no cut: no edge of a path may be cut")
                for e in path:
                    self.room[e] -= least
                    self.room[e ^ 1] += least

    def _measure(self) -> bool:
        """The distances from the source; whether the sink can be reached."""
        self.level = [-1] * len(self.leaving)
        self.level[0] = 0
        pending = deque([0])
        while pending:
            node = pending.popleft()
            for e in self.leaving[node]:
                if self.room[e] and self.level[self.to[e]] < 0:
                    self.level[self.to[e]] = self.level[node] + 1
                    pending.append(self.to[e])
        return self.level[1] >= 0

    def _path(self, untried: Sequence[Iterable[int]]) -> list[int]:
        """The edges of a shortest path with remaining capacity; dead ends are not tried again."""
        path: list[int] = []
        node = 0
        while node != 1:
            for e in untried[node]:
                if self.room[e] and self.level[self.to[e]] == self.level[node] + 1:
                    path.append(e)
                    node = self.to[e]
                    break
            else:
                if not path:
                    return []
                node = self.to[path.pop() ^ 1]
        return path

    def before_sink(self) -> set[Hashable]:
        """All nodes except those that still reach the sink after the paths are full."""
        reaching = {1}
        pending = [1]
        while pending:
            for e in self.leaving[pending.pop()]:
                if self.room[e ^ 1] and self.to[e] not in reaching:
                    reaching.add(self.to[e])
                    pending.append(self.to[e])
        return {name for name, node in self.number.items() if node not in reaching}
