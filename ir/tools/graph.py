"""The graph of a program, for analysis and drawing."""

from __future__ import annotations

from typing import Any

from autojit.ir.core.program import Program, Value


def to_networkx(program: Program) -> Any:
    """Return the program as a ``networkx.DiGraph``.

    Nodes are ``"in0"``, ``"in1"``, … for inputs, ``0``, ``1``, … for ops in program order, and
    ``"out0"``, … for outputs. A node of an op has its name as ``op`` and its parameters as
    ``params``; an edge has the ``type`` of the value that flows along it.

    >>> import networkx
    >>> p = autojit.trace(lambda x, y: np.sum(x * y) + np.sum(x))(np.ones(3), np.ones(3))
    >>> g = to_networkx(p)
    >>> [g.nodes[n]["op"] for n in networkx.shortest_path(g, "in1", "out0")[1:-1]]
    ['mul', 'sum', 'add']
    """
    import networkx

    graph = networkx.DiGraph(name=program.name)
    makers: dict[Value, Any] = {}
    for i, value in enumerate(program.inputs):
        makers[value] = f"in{i}"
        graph.add_node(f"in{i}", op="input", type=str(value.type))
    for i, op in enumerate(program.ops):
        graph.add_node(i, op=op.kind.name, params=op.params)
        for value in op.operands:
            graph.add_edge(makers[value], i, type=str(value.type))
        makers.update((value, i) for value in op.results)
    for i, value in enumerate(program.outputs):
        graph.add_edge(makers[value], f"out{i}", type=str(value.type))
        graph.nodes[f"out{i}"].update(op="output", type=str(value.type))
    return graph
