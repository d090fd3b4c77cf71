"""Recorded graphs of Values and tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .digraph import Digraph
from .numbers import numbers

#: The most nodes of a graph that a notebook shows instead of the text.
MOST_SHOWN = 100


def make_dot(
    var: Any, params: Mapping[str, Any] | Iterable[Any] | None = None, show_attrs: bool = False,
    show_saved: bool = False, max_attr_chars: int = 50,
) -> Digraph:  # fmt: skip
    """The graph that computed a Value or a tensor, with values and gradients.

    Args:
        var: a Value or a tensor, or a list of them.
        params: names for leaves: a dict, or pairs such as ``model.named_parameters()``.
        show_attrs, show_saved, max_attr_chars: accepted for compatibility with ``torchviz``; nodes
            show values and gradients in any case.

    >>> from autojit import Value, make_dot
    >>> a, b = Value(2.0, label="a"), Value(3.0, label="b")
    >>> c = a * b
    >>> c.backward()
    >>> dot = make_dot(c)
    >>> "{a | data 2.0000 | grad 3.0000}" in dot.source, dot.svg()[:4]
    (True, '<svg')
    """
    roots = list(var) if isinstance(var, (list, tuple)) else [var]
    names = {id(x): name for name, x in _pairs(params)}
    graph = Digraph(format="svg")
    if all(hasattr(x, "_prev") for x in roots):
        _draw_values(graph, roots, names)
    elif all(hasattr(x, "grad_fn") for x in roots):
        _draw_tensors(graph, roots, names)
    else:
        kinds = ", ".join(type(x).__name__ for x in roots)
        raise TypeError(f"make_dot draws what Values and tensors were computed by, not {kinds}")
    return graph


def shown(x: Any) -> str | None:
    """The graph that a notebook shows for a Value or a tensor; None, for the text, if there is no
    graph or it is too large."""
    found: set[int] = set()
    todo = [x if hasattr(x, "_prev") else x.grad_fn]
    while todo:
        node = todo.pop()
        if node is None or id(node) in found:
            continue
        found.add(id(node))
        if len(found) > MOST_SHOWN:
            return None
        todo += node._prev if hasattr(node, "_prev") else [n for n, _ in node.next_functions]
    return make_dot(x).svg() if len(found) > 1 else None


def _pairs(params: Any) -> list[tuple[str, Any]]:
    return list(params.items() if isinstance(params, Mapping) else params or ())


def _draw_values(graph: Digraph, roots: list[Any], names: dict[int, str]) -> None:
    graph.attr(rankdir="LR")
    seen: set[int] = set()
    todo = list(roots)
    while todo:
        v = todo.pop()
        if id(v) in seen:
            continue
        seen.add(id(v))
        own = str(id(v))
        word = names.get(id(v), v.label)
        start = f"{word} | " if word else ""
        graph.node(own, f"{{{start}data {_short(v.data)} | grad {_short(v.grad)}}}", shape="record")
        if v._op:
            graph.node(f"{own}_op", v._op)
            graph.edge(f"{own}_op", own)
            for child in v._prev:
                graph.edge(str(id(child)), f"{own}_op")
        todo += v._prev


def _short(x: Any) -> str:
    return f"{x:.4f}" if isinstance(x, (int, float, np.floating)) else str(x)


def _draw_tensors(graph: Digraph, roots: list[Any], names: dict[int, str]) -> None:
    graph.attr("node", style="filled", shape="box", fillcolor="lightgrey")
    seen: set[int] = set()
    todo = []
    for x in roots:
        graph.node(f"out{id(x)}", _tensor_text(x, names), fillcolor="darkolivegreen1")
        if x.grad_fn is not None:
            graph.edge(str(id(x.grad_fn)), f"out{id(x)}")
            todo.append(x.grad_fn)
    while todo:
        node = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        own = str(id(node))
        graph.node(own, node.name())
        if hasattr(node, "variable"):
            leaf = node.variable
            graph.node(f"leaf{id(leaf)}", _tensor_text(leaf, names), fillcolor="lightblue")
            graph.edge(f"leaf{id(leaf)}", own)
        for before, _ in node.next_functions:
            if before is not None:
                graph.edge(str(id(before)), own)
                todo.append(before)


def _tensor_text(x: Any, names: dict[int, str]) -> str:
    """The name, shape, value and gradient of a tensor."""
    lines = [names[id(x)]] if id(x) in names else []
    lines.append(f"{tuple(x.shape)}")
    lines.append(f"data {numbers(x.detach().numpy())}")
    if x.grad is not None:
        lines.append(f"grad {numbers(x.grad.detach().numpy())}")
    return "\n".join(line for line in lines if line not in ("data ", "grad "))
