"""Layout of a graph: nodes are placed in layers, so that edges run one way.

Sugiyama, Tagawa and Toda, "Methods for visual understanding of hierarchical system structures",
1981: layers by longest paths, invisible nodes where edges cross layers, orders by barycenters.
Edges from one node share their invisible nodes, so a value that is read in many places is drawn as
one line with branches.  The longest edges of large graphs have no invisible nodes and are drawn
straight: 2,000 nodes take about a second.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

#: The number of sweeps, from above and from below, that improve orders and then places.
SWEEPS = 8
#: The distances between neighbours and between layers, in pixels.
BESIDE, BETWEEN = 18.0, 36.0
#: The most invisible nodes: so many for each node, plus a constant.
HIDDEN, ANYHOW = 4, 400

Point = tuple[float, float]


class Box:
    """A rectangle: its size, and the place of its centre."""

    __slots__ = ("height", "width", "x", "y")

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.x = self.y = 0.0


def place(
    boxes: Mapping[str, Box], edges: Sequence[tuple[str, str]], attributes: Mapping[str, str],
    between: float = BETWEEN,
) -> list[list[Point]]:  # fmt: skip
    """Set the places of boxes, with layers ``between`` pixels apart; return each edge's points.

    >>> boxes = {name: Box(10, 10) for name in "ab"}
    >>> place(boxes, [("a", "b")], {})
    [[(5.0, 10.0), (5.0, 46.0)]]
    """
    direction = attributes.get("rankdir", "TB")
    across = direction in ("LR", "RL")
    names: dict[Any, Box] = dict(boxes)
    if across:
        names = {n: Box(b.height, b.width) for n, b in boxes.items()}
    forward = _without_cycles(list(boxes), edges)
    rank = _ranks(list(boxes), forward)
    chains = _chains(names, forward, rank)
    layers = _layers(names, rank)
    above, below = _neighbours(chains, rank)
    _order(layers, above, below)
    _spread(layers, names, above, below)
    _stack(layers, names, between)
    depth = max((b.y + b.height / 2 for b in names.values()), default=0.0)
    if direction in ("BT", "RL"):
        for b in names.values():
            b.y = depth - b.y
    for name, b in boxes.items():
        found = names[name]
        b.x, b.y = (found.y, found.x) if across else (found.x, found.y)
    return [_path(edge, chain, names, across) for edge, chain in zip(edges, chains, strict=True)]


def _without_cycles(
    names: Sequence[str], edges: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """The edges, with those reversed that close a cycle."""
    out = defaultdict(list)
    for a, b in edges:
        out[a].append(b)
    state: dict[str, int] = {}
    back = set()
    for root in names:
        todo = [(root, iter(out[root]))] if root not in state else []
        state.setdefault(root, 1)
        while todo:
            node, following = todo[-1]
            for other in following:
                if other not in state:
                    state[other] = 1
                    todo.append((other, iter(out[other])))
                    break
                if state[other] == 1:
                    back.add((node, other))
            else:
                state[node] = 2
                todo.pop()
    return [(b, a) if (a, b) in back else (a, b) for a, b in edges]


def _ranks(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[Any, int]:
    """The layer of each node: one below the lowest node that leads to it."""
    out, missing = defaultdict(list), dict.fromkeys(names, 0)
    for a, b in edges:
        if a != b:
            out[a].append(b)
            missing[b] += 1
    rank: dict[Any, int] = dict.fromkeys(names, 0)
    ready = [n for n in names if missing[n] == 0]
    while ready:
        a = ready.pop()
        for b in out[a]:
            rank[b] = max(rank[b], rank[a] + 1)
            missing[b] -= 1
            if missing[b] == 0:
                ready.append(b)
    reached = {b for _, b in edges}
    for a in names:  # sources are placed directly above their first successor
        if out[a] and a not in reached:
            rank[a] = min(rank[b] for b in out[a]) - 1
    return rank


def _chains(
    names: dict[Any, Box], edges: Sequence[tuple[str, str]], rank: dict[Any, int]
) -> list[list[Any]]:
    """The nodes of each edge, layer by layer, with invisible nodes between; as these are limited,
    the shortest edges get theirs first."""
    left = HIDDEN * len(names) + ANYHOW
    chains: list[list[Any]] = [[a, b] for a, b in edges]
    by_length = sorted(range(len(edges)), key=lambda k: rank[edges[k][1]] - rank[edges[k][0]])
    for k in by_length:
        a, b = edges[k]
        left -= max(rank[b] - rank[a] - 1, 0)
        if left < 0:
            break
        hidden = [(a, r) for r in range(rank[a] + 1, rank[b])]
        for h in hidden:
            names.setdefault(h, Box(2.0, 2.0))
            rank[h] = h[1]
        chains[k] = [a, *hidden, b]
    return chains


def _layers(names: dict[Any, Box], rank: dict[Any, int]) -> list[list[Any]]:
    layers: list[list[Any]] = [[] for _ in range(max(rank.values(), default=-1) + 1)]
    for name in names:
        layers[rank[name]].append(name)
    return layers


def _neighbours(
    chains: Sequence[list[Any]], rank: dict[Any, int]
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The neighbours of each node in the layer above, and in the layer below."""
    above, below = defaultdict(list), defaultdict(list)
    for a, b in dict.fromkeys(pair for chain in chains for pair in itertools.pairwise(chain)):
        if rank[b] == rank[a] + 1:
            above[b].append(a)
            below[a].append(b)
    return above, below


def _order(layers: list[list[Any]], above: dict[Any, Any], below: dict[Any, Any]) -> None:
    """Sort each layer by the barycenters of its nodes' neighbours."""
    for sweep in range(SWEEPS):
        is_down = sweep % 2 == 0
        near = above if is_down else below
        at = {n: float(k) for layer in layers for k, n in enumerate(layer)}
        for layer in layers if is_down else layers[::-1]:
            middle = {n: _mean([at[m] for m in near[n]], at[n]) for n in layer}
            layer.sort(key=middle.__getitem__)
            at.update((n, float(k)) for k, n in enumerate(layer))


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _spread(
    layers: list[list[Any]], names: dict[Any, Box], above: dict[Any, Any], below: dict[Any, Any]
) -> None:
    """Move nodes towards the barycenters of their neighbours, without overlap."""
    for layer in layers:
        x = 0.0
        for n in layer:
            names[n].x = x + names[n].width / 2
            x += names[n].width + BESIDE
    for sweep in range(SWEEPS):
        near = above if sweep % 2 == 0 else below
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            wanted = [_mean([names[m].x for m in near[n]], names[n].x) for n in layer]
            for n, x in zip(layer, _apart(wanted, [names[n].width for n in layer]), strict=True):
                names[n].x = x
    left = min((b.x - b.width / 2 for b in names.values()), default=0.0)
    for b in names.values():
        b.x -= left


def _apart(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones, in the same order: neighbours that touch move as
    one."""
    groups: list[list[float]] = []  # sum of wanted offsets, count, and start of each group
    offsets, total = [], 0.0
    for k, width in enumerate(widths):
        total += 0.0 if k == 0 else (widths[k - 1] + width) / 2 + BESIDE
        offsets.append(total)
    for w, offset in zip(wanted, offsets, strict=True):
        groups.append([w - offset, 1])
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            total, count = groups.pop()
            groups[-1][0] += total
            groups[-1][1] += count
    starts = [total / count for total, count in groups for _ in range(int(count))]
    return [s + offset for s, offset in zip(starts, offsets, strict=True)]


def _stack(layers: list[list[Any]], names: dict[Any, Box], between: float) -> None:
    y = 0.0
    for layer in layers:
        tallest = max((names[n].height for n in layer), default=0.0)
        for n in layer:
            names[n].y = y + tallest / 2
        y += tallest + between


def _path(
    edge: tuple[str, str], chain: list[Any], names: dict[Any, Box], across: bool
) -> list[Point]:
    """The points of an edge, from the rim of its first box to the rim of its last."""
    order = chain if chain[0] == edge[0] else chain[::-1]
    first, *middle, last = (names[n] for n in order)
    if first is last:
        return []
    sign = 1.0 if last.y >= first.y else -1.0
    points = [
        (first.x, first.y + sign * first.height / 2), *((b.x, b.y) for b in middle),
        (last.x, last.y - sign * last.height / 2),
    ]  # fmt: skip
    return [(y, x) for x, y in points] if across else points
