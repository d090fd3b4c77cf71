"""The nodes of a graph that lead to each other: its strongly connected components.

R. Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

Node = TypeVar("Node", bound=Hashable)


class Cycles(Generic[Node]):
    """The components of a graph, found from one node on, and kept."""

    def __init__(self, following: Callable[[Node], Iterable[Node]]) -> None:
        self._following = following
        self._found: dict[Node, frozenset[Node]] = {}
        #: Of each node on the present path and its side paths: its number, and the lowest number
        #: that it leads to.
        self._numbers: dict[Node, int] = {}
        self._lowest: dict[Node, int] = {}
        self._open: list[Node] = []
        self._count = itertools.count()

    def around(self, node: Node) -> frozenset[Node]:
        """The nodes that a node leads to and that lead back to it, with itself.

        >>> from autojit.capture.groups.cycles import Cycles
        >>> sorted(Cycles({1: [2], 2: [3], 3: [2]}.__getitem__).around(2))
        [2, 3]
        """
        if node not in self._found:
            self._search(node)
        return self._found[node]

    def forget(self, node: Node) -> None:
        """Forget the component of a node that is gone."""
        self._found.pop(node, None)

    def _search(self, first: Node) -> None:
        path: list[tuple[Node, Iterator[Node]]] = [self._begun(first)]
        while path:
            node, left = path[-1]
            following = next((x for x in left if x not in self._found), None)
            if following is None:
                path.pop()
                self._end(node)
                if path:
                    self._note(path[-1][0], self._lowest.get(node))
            elif following in self._numbers:
                self._note(node, self._numbers[following])
            else:
                path.append(self._begun(following))

    def _begun(self, node: Node) -> tuple[Node, Iterator[Node]]:
        self._numbers[node] = self._lowest[node] = next(self._count)
        self._open.append(node)
        return node, iter(self._following(node))

    def _note(self, node: Node, number: int | None) -> None:
        if number is not None:
            self._lowest[node] = min(self._lowest[node], number)

    def _end(self, node: Node) -> None:
        """Close the component of a node that leads to no earlier one."""
        if self._lowest[node] < self._numbers[node]:
            return
        k = self._open.index(node)
        component, self._open[k:] = frozenset(self._open[k:]), []
        for each in component:
            self._found[each] = component
            del self._numbers[each], self._lowest[each]
