"""Graphs of nodes, as ``autograd.tracer.trace`` builds them, from autojit's programs."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

import autojit
from autojit.ir.core.program import Op, Value
from autojit.ir.tools.interpreter import values_of


def trace(start_node: Any, fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """The value of ``fun(x)``, and its node: None if the value does not depend on x.

    Each operation that depends on x makes a node of the class of ``start_node``, from its value,
    its function, its arguments, and the positions and nodes of the arguments that have nodes.
    """
    program = autojit.trace(fun)(np.asarray(x, float)[()])
    values = values_of(program, [np.asarray(x, float), *program.captured])
    nodes: dict[Value, Any] = {program.inputs[0]: start_node}
    for op in program.ops:
        places = [i for i, v in enumerate(op.operands) if v in nodes]
        if places:
            nodes[op.result] = _node(type(start_node), op, places, values, nodes)
    (end,) = program.outputs
    return values[end], nodes.get(end)


def _node(
    kind: Any, op: Op, places: list[int], values: dict[Value, Any], nodes: dict[Value, Any]
) -> Any:
    function = types.SimpleNamespace(__name__=op.kind.name)
    arguments = tuple(values[v] for v in op.operands)
    parents = tuple(nodes[op.operands[i]] for i in places)
    return kind(values[op.result], function, arguments, op.params, tuple(places), parents)
