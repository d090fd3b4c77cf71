"""Minimum cuts, compared with networkx."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest

from autojit.ir.autodiff.min_cut import source_side

Edges = list[tuple[Any, Any, int | None]]


def capacity_between(edges: Edges, side: set[Any]) -> int:
    crossing = [capacity for a, b, capacity in edges if a in side and b not in side]
    assert None not in crossing
    return sum(c for c in crossing if c is not None)


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, count = int(rng.integers(2, 25)), int(rng.integers(1, 90))
    ends = rng.integers(0, n, size=(count, 2))
    edges: Edges = [
        (int(a), int(b), int(rng.integers(0, 9)) if rng.random() < 0.8 else None)
        for a, b in ends
        if a != b and (a, b) != (0, n - 1)
    ]
    # networkx keeps only one of several edges between the same nodes.
    edges = [(a, b, c) for (a, b), c in {(a, b): c for a, b, c in edges}.items()]
    graph = networkx.DiGraph()
    graph.add_nodes_from((0, n - 1))
    for a, b, c in edges:
        graph.add_edge(a, b, **({} if c is None else {"capacity": c}))
    try:
        least, _ = networkx.minimum_cut(graph, 0, n - 1)
    except networkx.NetworkXUnbounded:
        return
    side = source_side(edges, 0, n - 1)
    assert 0 in side
    assert n - 1 not in side
    assert capacity_between(edges, side) == least


def test_as_many_nodes_as_there_can_be() -> None:
    chain: Edges = [("s", 1, None), (1, 2, 5), (2, 3, 5), (3, "t", None)]
    assert source_side(chain, "s", "t") == {"s", 1, 2}


def test_nothing_between() -> None:
    assert source_side([("a", "t", 3)], "s", "t") == {"s"}


def test_long_chains_of_many_paths() -> None:
    """The search must be neither recursive nor path by path."""
    edges: Edges = []
    for k in range(200):
        edges += [("s", (k, 0), None), ((k, 50), "t", None)]
        edges += [((k, i), (k, i + 1), 1 + i % 7) for i in range(50)]
    assert capacity_between(edges, source_side(edges, "s", "t")) == 200
