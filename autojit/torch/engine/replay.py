"""Backward passes of graphs that occur repeatedly: one compiled program replaces many nodes.

The structure of a graph is its key: the rules of its nodes, the edges between them, which saved
arrays are the same array, and the types of leaves (if a leaf is a root, no rule knows its type).
The rules' programs are joined to one, from saved arrays to the gradients of leaves, which is
optimised and compiled like any other program.  Graphs that can be observed during the pass, for
example by hooks, are visited node by node.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.core.declaration import full
from autojit.ir.core.locks import Lock
from autojit.ir.core.program import Builder, Program, Value, building
from autojit.ir.core.types import Type
from autojit.session.watching import state as watching
from autojit.tracing.context import current_trace

from .modes import modes
from .nodes import AccumulateGrad, Edge, Node
from .rules import VERY_OFTEN, Rule, runner, times_before

#: The most nodes of a graph that is compiled.  Code generation takes 10 to 30 ms per node.
LARGEST = 256
#: The most structures that are kept.
_MOST = 256


class Graph(NamedTuple):
    """The graph behind the roots of a backward pass."""

    key: tuple[Any, ...]
    #: The nodes, each before its operands' nodes; otherwise in no particular order.
    nodes: list[Node]
    #: The arrays that the rules read, each once.
    arrays: list[Any]


def graph_of(roots: Sequence[Edge]) -> Graph | None:
    """The graph behind roots; None if it cannot be compiled.

    Raises:
        RuntimeError: if a saved array has been freed, or changed in place.
    """
    places: dict[Node, int] = {}
    nodes: list[Node] = []
    key: list[Any] = []
    arrays: list[Any] = []
    known: dict[int, int] = {}
    _add_links([x for edge in roots for x in edge], places, nodes, key)
    key += [tuple(node.out_types()) for node in nodes if node.rule is None]
    for node in nodes:  # it grows
        if len(nodes) > LARGEST or not _is_plain(node):
            return None
        rule = node.rule
        key.append(id(rule))
        if rule is not None:
            for array in _read(node, rule):
                place = known.setdefault(id(array), len(arrays))
                if place == len(arrays):
                    arrays.append(array)
                key.append(place)
            _add_links(node.links, places, nodes, key)
    return Graph(tuple(key), nodes, arrays)


def _is_plain(node: Node) -> bool:
    """Whether a node only runs its rule's program, or is the node of a leaf."""
    if node.extras is not None and node.extras.is_watched():
        return False
    rule = node.rule
    if rule.__class__ is Rule:
        return rule.program is not None
    return node.__class__ is AccumulateGrad


def _read(node: Node, rule: Rule) -> list[Any]:
    """The saved arrays of a node that its rule reads."""
    saved = node.saved
    if saved and rule.read < len(saved):
        saved = saved[: rule.read]
    if saved is None:
        node.check_saved(saved)  # which raises
    arrays = []
    for array, counter, version in saved:
        if counter[0] != version:
            node.check_saved(saved)
        arrays.append(array)
    return arrays


def _add_links(
    links: Sequence[Any], places: dict[Node, int], nodes: list[Node], key: list[Any]
) -> None:
    """Add the nodes that edges lead to if they are new, and add their positions to the key."""
    for node, k in zip(links[::2], links[1::2]):  # noqa: B905 - it is asked for each node
        if node is None:
            key.append(None)
            continue
        place = places.setdefault(node, len(nodes))
        if place == len(nodes):
            nodes.append(node)
        key.append(place)
        key.append(k)


class _Met:
    """A known structure: how often it occurred, and the function that runs it."""

    def __init__(self, graph: Graph, roots: Sequence[Edge]) -> None:
        self.times = 0
        #: Keeps the rules alive, because the key contains their ids.
        self.rules = [node.rule for node in graph.nodes]
        self.program = joined(graph, roots)
        # For a pass of little work, compiled code saves about 5 us per node.
        self.often: int = times_before(self.program) or VERY_OFTEN
        self.run = runner(self.program, at_once=True)


#: Structures by key: None until a structure occurs a second time.
_met: OrderedDict[tuple[Any, ...], _Met | None] = OrderedDict()
_lock = Lock()


def _entry(graph: Graph, roots: Sequence[Edge]) -> _Met | None:
    """The entry of a structure; None if it occurs for the first time."""
    with _lock:
        if graph.key not in _met:
            _met[graph.key] = None
            if len(_met) > _MOST:
                _met.popitem(last=False)
            return None
        found = _met[graph.key]
        _met.move_to_end(graph.key)
    if found is None:
        found = _Met(graph, roots)
        with _lock:
            _met[graph.key] = found
    return found


def replayed(
    roots: Sequence[Edge], cotangents: Sequence[Any], *, retain: bool
) -> list[tuple[AccumulateGrad, Any]] | None:
    """The gradients of the leaves by compiled code; None unless graphs of this structure occur
    often.  The nodes are then released unless ``retain`` is set."""
    if watching.watchers or modes.anomaly or current_trace() is not None:
        return None
    if any([c.__class__ is not np.ndarray for c in cotangents]):
        return None
    graph = graph_of(roots)
    if graph is None:
        return None
    entry = _entry(graph, roots)
    if entry is None:
        return None
    entry.times += 1
    if entry.times <= entry.often:
        return None
    results = entry.run([*cotangents, *graph.arrays])
    leaves = [node for node in graph.nodes if node.__class__ is AccumulateGrad]
    found = list(zip(leaves, results, strict=True))
    if not retain:
        for node in graph.nodes:
            node.release()
    return found


def joined(graph: Graph, roots: Sequence[Edge]) -> Program:
    """A program that computes the gradients of a graph's leaves from the cotangents of the roots
    and the saved arrays; arrays that the rules hold are captured."""
    types = [node.out_types() for node in graph.nodes]
    places = {node: k for k, node in enumerate(graph.nodes)}
    given = [Value(Type(np.dtype(d), tuple(s))) for s, d in (types[places[n]][k] for n, k in roots)]
    saved = [Value(Type(a.dtype, a.shape)) for a in graph.arrays]
    numbers = {id(a): v for a, v in zip(graph.arrays, saved, strict=True)}
    captured: list[Any] = []
    constants: list[Value] = []
    held: list[dict[int, Value]] = [{} for _ in graph.nodes]

    def add(edge: Edge, cotangent: Value) -> None:
        place, k = places[edge[0]], edge[1]
        before = held[place].get(k)
        held[place][k] = cotangent if before is None else before + cotangent

    builder = Builder()
    with building(builder):
        for edge, value in zip(roots, given, strict=True):
            add(edge, value)
        for place in _in_order(graph.nodes):
            node, rule = graph.nodes[place], graph.nodes[place].rule
            arrays = iter(node.saved)
            operands = [
                _cotangent(held[place], k, types[place][k])
                if kind == "cotangent"
                else numbers[id(next(arrays)[0])]
                for kind, k in rule.sources
            ]
            bound = [Value(t) for t in rule.program.in_types[len(operands) :]]
            captured += rule.program.captured
            constants += bound
            results = builder.inline(rule.program, [*operands, *bound])
            for k, result in zip(rule.wrt, results, strict=True):
                edge = node.edges[k]
                if edge is not None:
                    add(edge, result)
        leaves = [k for k, node in enumerate(graph.nodes) if node.__class__ is AccumulateGrad]
        outputs = [_cotangent(held[k], 0, types[k][0]) for k in leaves]
    inputs = [*given, *saved, *constants]
    return Program(inputs, builder.ops, outputs, name="backward", captured=captured)


def _cotangent(held: dict[int, Value], k: int, type: Any) -> Value:
    """The cotangent of a result; zeros if it received none."""
    if k in held:
        return held[k]
    shape, dtype = type
    return full(0, Type(np.dtype(dtype), tuple(shape)))


def _in_order(nodes: Sequence[Node]) -> list[int]:
    """The positions of operations' nodes in the order of the backward pass: the latest first."""
    found = [k for k, node in enumerate(nodes) if node.__class__ is not AccumulateGrad]
    return sorted(found, key=lambda k: -nodes[k].number)
