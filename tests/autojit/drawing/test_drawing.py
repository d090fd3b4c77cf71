"""Drawings: DOT texts, layouts without overlap, and SVG that parses."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from autojit import Value, make_dot, torch
from autojit.drawing import Digraph
from autojit.drawing.graphs.layout import Box, place
from autojit.drawing.graphs.recorded import shown

SVG = "{http://www.w3.org/2000/svg}"


def texts(dot: Any) -> list[str | None]:
    return [t.text for t in ElementTree.fromstring(dot.svg()).iter(f"{SVG}text")]


@pytest.mark.parametrize("direction", ["TB", "LR", "BT", "RL"])
def test_boxes_do_not_overlap_and_edges_run_one_way(direction: str) -> None:
    rng = random.Random(1)
    names = [str(k) for k in range(40)]
    edges = [(names[rng.randrange(k)], names[k]) for k in range(1, 40) for _ in range(2)]
    boxes = {n: Box(rng.uniform(10, 90), rng.uniform(10, 40)) for n in names}
    paths = place(boxes, edges, {"rankdir": direction})
    for a, b in combinations(boxes.values(), 2):
        assert (
            abs(a.x - b.x) >= (a.width + b.width) / 2 - 1e-6
            or abs(a.y - b.y) >= (a.height + b.height) / 2 - 1e-6
        )
    sign = 1 if direction in ("TB", "LR") else -1
    for (a, b), path in zip(edges, paths, strict=True):
        axis = "x" if direction in ("LR", "RL") else "y"
        assert sign * getattr(boxes[a], axis) < sign * getattr(boxes[b], axis)
        assert len(path) >= 2


def test_circles_loops_and_long_chains_are_drawn() -> None:
    boxes = {n: Box(10, 10) for n in "abc"}
    paths = place(boxes, [("a", "b"), ("b", "c"), ("c", "a"), ("a", "a")], {})
    assert [len(p) for p in paths] == [2, 2, 3, 0]
    chain = {str(k): Box(10, 10) for k in range(5000)}
    place(chain, [(str(k), str(k + 1)) for k in range(4999)], {})
    assert place({}, [], {}) == []


def test_a_value_shows_its_numbers_and_operations() -> None:
    a, b = Value(2.0, label="a"), Value(-3.0, label="b")
    d = (a * b + a).tanh()
    d.backward()
    dot = make_dot(d)
    assert f"{id(d)} [label=" in dot.source
    found = texts(dot)
    assert {"a", "b", "data 2.0000", "data -4.0000", "*", "+", "tanh"} <= set(found)
    assert f"grad {a.grad:.4f}" in found
    assert dot.source.count("->") == 8


def test_a_tensor_shows_nodes_and_named_leaves() -> None:
    model = torch.nn.Linear(2, 1)
    y = model(torch.ones(1, 2)).sum()
    y.backward()
    dot = make_dot(y, params=model.named_parameters())
    found = texts(dot)
    assert {"weight", "bias", "(1, 2)", "AddmmBackward0", "grad [1, 1]"} <= set(found)
    assert y._repr_svg_() is not None
    assert y.detach()._repr_svg_() is None
    assert y.detach()._repr_html_() is None
    for html in (y._repr_html_(), dot._repr_html_()):
        root = ElementTree.fromstring(html)
        assert root.find(f".//{SVG}svg") is not None
    plain = [e for e in root.iter(f"{SVG}path") if e.get("class") == "aj-line"]
    assert len(plain) == dot.source.count("->")  # they follow the notebook's colours
    with pytest.raises(TypeError, match="make_dot draws what Values and tensors"):
        make_dot(3.0)


def test_large_graphs_stay_text_in_notebooks() -> None:
    v = Value(1.0)
    assert shown(v) is None
    w = v
    for _ in range(30):
        w = w + v
    assert str(shown(w)).startswith("<svg")
    for _ in range(100):
        w = w + v
    assert shown(w) is None


def test_texts_are_escaped() -> None:
    dot = Digraph("a graph", comment="why", node_attr={"shape": "box"})
    dot.node('say "x"', "<b> & more\nlines")
    dot.edge('say "x"', "node", "1 < 2")
    assert '"say \\"x\\""' in dot.source
    assert '"node"' in dot.source
    assert "// why" in dot.source
    assert texts(dot) == ["1 < 2", "<b> & more", "lines", "node"]


def test_records_have_fields() -> None:
    dot = Digraph(graph_attr={"rankdir": "LR"})
    dot.node("v", "{ x | data 1.0 | grad 2.0 }", shape="record")
    assert texts(dot) == ["x", "data 1.0", "grad 2.0"]
    lines = list(ElementTree.fromstring(dot.svg()).iter(f"{SVG}line"))
    assert len(lines) == 2


def test_files_are_written_beside_each_other(tmp_path: Path) -> None:
    dot = Digraph(format="svg")
    dot.edges(["ab", ("b", "c")])
    path = dot.render(str(tmp_path / "graph"), cleanup=True)
    assert [p.name for p in tmp_path.iterdir()] == ["graph.svg"]
    assert Path(path).read_text().startswith("<svg")
    assert dot.pipe("dot").decode() == dot.source == str(dot)
    with pytest.raises(ValueError, match="dot -Tpng"):
        dot.render(str(tmp_path / "graph"), format="png")
    with pytest.raises(ValueError, match="'graph', 'node' or 'edge'"):
        dot.attr("nodes", shape="box")
