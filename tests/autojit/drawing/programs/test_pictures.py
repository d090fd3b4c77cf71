"""Pictures of programs, of adjoints and of loops: what is in them, and how they are grouped."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.codegen.driver.executable import Executable
from autojit.codegen.lowering.lower import lower
from autojit.drawing import picture
from autojit.drawing.programs.grouping import MOST
from autojit.drawing.programs.levels import Levels, Port
from autojit.drawing.programs.model import Group
from autojit.drawing.programs.whole import draw, gradients_of
from autojit.errors import NonScalarGradientError, StructureError
from autojit.ir.core.program import Builder, Program, Source, Value, building
from autojit.ir.core.types import Type
from autojit.ir.ops import arithmetic, elementary

SVG = "{http://www.w3.org/2000/svg}"
X, Y = np.array([0.5, -1.0, 2.0]), np.array([1.0, 3.0, -2.0])


def product(x: Any, y: Any) -> Any:
    a = np.sin(x) * y
    b = np.exp(a) + x
    return np.sum(b * 0.5)


def cross_entropy(w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    z = z - np.max(z, axis=1, keepdims=True)
    logs = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(np.sum(logs * y, axis=1))


def data(f: Any, *args: Any, **settings: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(picture(f, *args, format="json", **settings))
    return found


def boxes(text: str, kind: str) -> list[ElementTree.Element]:
    """The boxes of a kind in an SVG text."""
    marks = [g.get("class", "").split() for g in ElementTree.fromstring(text).iter(f"{SVG}g")]
    groups = ElementTree.fromstring(text).iter(f"{SVG}g")
    return [
        g
        for g, mark in zip(groups, marks, strict=True)
        if "aj-box" in mark and f"aj-{kind}" in mark
    ]


def long_program(size: int) -> Program:
    """A program of so many operations, on the lines of a loop of five."""
    builder, type = Builder(), Type(np.dtype(float), (8,))
    inputs = [Value(type), Value(type)]
    values, total = list(inputs), inputs[0]
    with building(builder):
        for k in range(size):
            with builder.at(Source("model.py", 10 + k % 5, "model")):
                if k % 5 == 4:
                    total = elementary.tanh(values[-1] + total) if k % 10 == 4 else total
                    values.append(arithmetic.add(values[-2], total))
                else:
                    values.append(arithmetic.mul(values[-1], values[max(0, len(values) - 7)]))
    return Program(inputs, builder.ops, [values[-1]], name="model")


# -- programs ----------------------------------------------------------------------------


def test_every_operation_and_every_operand_is_in_the_json() -> None:
    program = autojit.trace(product)(X, Y)
    found = data(program)
    assert found["schema"] == "autojit.picture/1"
    assert found["kind"] == "program"
    kinds = Counter(node["kind"] for node in found["nodes"])
    constants = sum(not op.operands for op in program.ops)
    assert kinds == {
        "input": 2, "output": 1, "constant": constants, "op": len(program.ops) - constants,
    }  # fmt: skip
    edges = sum(len(set(op.operands)) for op in program.ops) + len(program.outputs)
    assert len(found["edges"]) == edges
    ids = {item["id"] for item in (*found["nodes"], *found["groups"])}
    assert len(ids) == len(found["nodes"]) + len(found["groups"])
    assert {e[end] for e in found["edges"] for end in ("from", "to")} <= ids
    assert {i["parent"] for i in (*found["nodes"], *found["groups"])} <= {*ids, None}
    sizes = {(e["type"], e["bytes"]) for e in found["edges"]}
    assert sizes == {("f64[3]", X.nbytes), ("f64[]", 8)}
    sine = next(node for node in found["nodes"] if node.get("op") == "sin")
    assert sine["results"] == [{"name": "%2", "type": "f64[3]", "bytes": 24}]
    assert sine["source"]["function"] == "product"
    assert sine["source"]["file"] == __file__


def test_svg_has_a_box_for_each_operation_but_folded_constants() -> None:
    program = autojit.trace(product)(X, Y)
    text = picture(program, opened=1000)
    assert len(boxes(text, "op")) == sum(bool(op.operands) for op in program.ops)
    assert len(boxes(text, "input")) == 2
    assert len(boxes(text, "output")) == 1
    words = [t.text for t in ElementTree.fromstring(text).iter(f"{SVG}text")]
    assert {"sin", "mul", "exp", "sum", "f64[3] 24 B", "f64[] 8 B"} <= set(words)
    assert any(w and "0.5" in w for w in words)  # the constant, in the label of its reader
    shut = picture(program, opened=0)
    assert boxes(shut, "op") == []
    assert len(boxes(shut, "group")) >= 3


def test_dot_has_every_node_and_every_edge() -> None:
    found = data(product, X, Y, stage="trace")
    text = picture(product, X, Y, stage="trace", format="dot")
    assert text.count(" -> ") == len(found["edges"])
    for node in found["nodes"]:
        assert re.search(rf"^\t{node['id']} \[label=", text, re.M)
    assert text.count("subgraph") == len(found["groups"])
    assert text.count("{") == text.count("}")


def test_values_and_gradients_are_those_of_numpy() -> None:
    found = data(product, X, Y, stage="trace")
    values = {node["title"]: node.get("value") for node in found["nodes"]}
    assert values["sin"] == "[0.4794, -0.8415, 0.9093]"
    assert values["result"] == f"{product(X, Y):.4g}"
    assert values["x"] == "[0.5, -1, 2]"
    without = data(product, X, Y, stage="trace", values=False)
    assert not any("value" in node for node in without["nodes"])
    program = autojit.trace(lambda x, y: np.sum(np.sin(x) * y))(X, Y)
    by = gradients_of(program, [X, Y])
    sine, *_ = program.ops
    np.testing.assert_allclose(by[sine.result], Y)
    np.testing.assert_allclose(by[program.inputs[0]], np.cos(X) * Y)
    np.testing.assert_allclose(by[program.outputs[0]], 1.0)


def test_large_values_are_ranges_and_nan_is_counted() -> None:
    x = np.linspace(-1.0, 2.0, 10)
    with np.errstate(invalid="ignore"):
        nodes = data(lambda x: np.sum(np.sqrt(x)), x, stage="trace")["nodes"]
    values = {node["title"]: node.get("value") for node in nodes}
    assert values["x"] == "-1 to 2"
    assert values["sqrt"] == "0 to 1.414, 3 NaN"


def test_bodies_of_loops_are_inside_of_their_operation() -> None:
    def total(x: Any) -> Any:
        return autojit.scan(lambda c, v: (c + v * v, None), 0.0, x)[0]

    program = autojit.trace(total)(np.ones(5))
    found = data(program)
    (loop,) = [g for g in found["groups"] if g["kind"] == "body"]
    (op,) = [op for op in program.ops if op.programs]
    inside = [n for n in found["nodes"] if n["id"].startswith(f"{loop['id']}.")]
    (body,) = op.programs
    assert len(inside) == len(body.inputs) + len(body.ops) + len(body.outputs)
    assert loop["lines"] == ["5 steps"]
    assert any(e["to"] == loop["id"] for e in found["edges"])
    assert len(boxes(picture(program, opened=1000), "op")) == len(body.ops)


# -- groups ------------------------------------------------------------------------------


@pytest.mark.parametrize("by", ["line", "loop", "call"])
def test_no_edge_between_groups_runs_backward(by: str) -> None:
    drawing = draw(long_program(700), by, (), ())
    levels = Levels(drawing)
    for level in levels.of.values():
        order = {id: k for k, id in enumerate(level.items)}
        own = [id for id, item in level.items.items() if not isinstance(item, Port)]
        assert len(own) <= MOST
        for start, end in level.links:
            if start in own and end in own:
                assert order[start] < order[end]


def test_steps_of_an_unrolled_loop_are_groups_of_lines() -> None:
    drawing = draw(long_program(60), "line", (), ())
    (loop,) = [g for g in drawing.groups() if g.kind == "loop"]
    assert loop.title == "model.py:10-14, 12 times"
    steps = [m for m in loop.members if isinstance(m, Group)]
    assert [s.title for s in steps] == [f"{k} of 12" for k in range(1, 13)]
    assert all(len(s.members) >= 5 for s in steps)


def test_a_statement_of_several_lines_is_no_loop() -> None:
    def f(x: Any) -> Any:
        return np.sum(
            np.sin(x)
            * np.cos(x)
            + np.exp(
                x
            )
        )  # fmt: skip

    drawing = draw(autojit.trace(f)(X), "line", (), ())
    assert [g.kind for g in drawing.groups()] == ["all", "line"]


def test_calls_are_groups() -> None:
    def helper(x: Any) -> Any:
        y = np.sin(x)
        return y * np.cos(y)

    def f(x: Any) -> Any:
        return np.sum(helper(x + 1.0))

    drawing = draw(autojit.trace(f)(X), "call", (), ())
    titles = [g.title for g in drawing.groups() if g.kind == "call"]
    assert titles == ["f()", "helper()", "f()"]


@pytest.mark.slow
def test_two_thousand_operations_are_drawn_soon_and_few_boxes_are_seen() -> None:
    program = long_program(2000)
    assert len(program.ops) >= 2000
    start = time.perf_counter()
    text = picture(program)
    page = picture(program, format="html")
    flat = picture(program, by="none")
    assert time.perf_counter() - start < 30  # a second or two each on a machine that is not busy
    seen = len(boxes(text, "group")) + len(boxes(text, "op"))
    assert 3 <= seen <= 60
    assert len(boxes(flat, "op")) == len(program.ops)
    assert page.count('class="aj-box aj-op"') == len(program.ops)


# -- pages -------------------------------------------------------------------------------


def test_pages_parse_and_need_nothing_from_elsewhere() -> None:
    page = picture(product, X, Y, format="html", opened=0)
    root = ElementTree.fromstring(page.partition("\n")[2])
    assert root.tag == "html"
    (svg,) = root.iter(f"{SVG}svg")
    groups = [g for g in svg.iter(f"{SVG}g") if "aj-group" in g.get("class", "").split()]
    assert groups
    for group in groups:  # each can be opened
        inner = [child.get("class") for child in group]
        assert inner == ["aj-shut", "aj-opened"]
        assert group.get("data-open") == "0"
    outside = page.replace("http://www.w3.org/2000/svg", "")
    assert "http" not in outside
    assert "src=" not in outside
    assert "href" not in outside
    assert "prefers-color-scheme: dark" in page
    (script,) = root.iter("script")
    used = re.findall(r'getElementById\("([\w-]+)"\)', script.text or "")
    assert used
    assert set(used) <= {e.get("id") for e in root.iter()}


def test_texts_are_escaped() -> None:
    program = autojit.parse("program p(%0: f64[3]) {\n  %1: f64[3] = sin %0\n  return %1\n}")
    odd = Program(program.inputs, program.ops, program.outputs, name="<a> & \x00b")
    for format in ("svg", "html"):
        text = picture(odd, format=format)
        body = text.partition("\n")[2] if format == "html" else text
        assert "<a> & b: 1 operation" in "".join(ElementTree.fromstring(body).itertext())


def test_pictures_show_themselves_in_notebooks() -> None:
    bundle = picture(product, X, Y)._repr_mimebundle_()
    assert 'aj-scroll"><svg' in bundle["text/html"]
    assert bundle["text/plain"].startswith("<picture, ")
    frame = picture(product, X, Y, format="html")._repr_mimebundle_()["text/html"]
    assert frame.startswith("<iframe srcdoc=")
    assert "<script>" not in frame


# -- adjoints ----------------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["trace", "optimized"])
def test_the_adjoint_has_both_passes_and_what_is_kept(stage: str) -> None:
    found = data(product, X, Y, adjoint=True, argnums=(0, 1), stage=stage)
    assert found["kind"] == "adjoint"
    halves = [g["title"] for g in found["groups"] if g["kind"] == "half"]
    assert halves == ["forward", "reverse"]
    nodes = {node["id"]: node for node in found["nodes"]}
    kept = [e for e in found["edges"] if e["kind"] == "kept"]
    assert kept
    assert all(e["from"].startswith("f.") and e["to"].startswith("r.") for e in kept)
    crossing = {
        e["kind"] for e in found["edges"] if e["from"].split(".")[0] != e["to"].split(".")[0]
    }
    assert crossing == {"kept", "seed"}
    stored = {
        e["name"]: e["bytes"] for e in kept if nodes[e["from"]]["kind"] not in ("input", "constant")
    }  # fmt: skip
    words = f"{len(stored)} value{'s' * (len(stored) != 1)} ({sum(stored.values())} B) kept"
    assert words in found["caption"]
    results = {n["title"]: n["value"] for n in found["nodes"] if n["title"].startswith("d ")}
    for name, gradient in zip("xy", grad(product, argnums=(0, 1))(X, Y), strict=True):
        assert results[f"d {name}"] == f"[{', '.join(f'{v:.4g}' for v in gradient)}]"
    gradients = {n["title"]: n.get("gradient") for n in found["nodes"]}
    assert gradients["x"] == results["d x"]
    assert gradients["result"] == "1"


def test_an_adjoint_in_svg_has_dashed_edges_from_half_to_half() -> None:
    text = picture(product, X, Y, adjoint=True)
    between = [
        g for g in ElementTree.fromstring(text).iter(f"{SVG}g")
        if "aj-between" in g.get("class", "").split()
    ]  # fmt: skip
    kinds = Counter(g.get("class", "").split()[-1] for g in between)
    assert kinds["aj-kept"] >= 1
    assert kinds["aj-seed"] == 1


def test_the_adjoint_of_an_argument_without_influence_is_zero() -> None:
    found = data(lambda x, y: np.sum(x), X, Y, adjoint=True, argnums=1)
    (result,) = [n for n in found["nodes"] if n["title"] == "d y"]
    assert result["value"] == "[0, 0, 0]"
    assert not [e for e in found["edges"] if e["kind"] in ("kept", "seed")]


# -- loops -------------------------------------------------------------------------------


def batch() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(20, 10)), rng.normal(size=(64, 20)), rng.normal(size=(64, 10))


@pytest.mark.parametrize("f", [cross_entropy, grad(cross_entropy)], ids=["value", "gradient"])
def test_loops_have_a_box_for_each_kernel_loop_and_call(f: Callable[..., Any]) -> None:
    found = data(f, *batch(), stage="loops")
    loops = lower(Executable(jit(f).lower(*batch()).program).optimized)
    text = str(loops)
    kinds = Counter(g["kind"] for g in found["groups"])
    assert kinds["kernel"] == len(re.findall(r"^  kernel ", text, re.M))
    assert kinds["loop"] == len(re.findall(r"^ +for ", text, re.M))
    nodes = Counter(n["kind"] for n in found["nodes"])
    assert nodes["call"] == len(re.findall(r" @ \[", text))
    assert nodes["reduce"] == len(re.findall(r"^ +a\d+ (\+|maximum)= ", text, re.M))
    memory = {e["name"]: e["bytes"] for e in found["edges"] if e["kind"] == "memory"}
    temps = dict(re.findall(r"^  temp (\w+): f64\[(\d+)\] at", text, re.M))
    assert {name: memory[name] for name in temps} == {n: 8 * int(s) for n, s in temps.items()}
    kernels = [g for g in found["groups"] if g["kind"] == "kernel"]
    assert any(__file__ in line for g in kernels for line in g["lines_of_user"])
    svg = picture(f, *batch(), stage="loops", opened=1000)
    assert len(boxes(svg, "call")) == nodes["call"]
    assert len(boxes(svg, "loop")) == kinds["loop"]


def test_what_is_written_is_read_later_and_never_before() -> None:
    found = data(grad(cross_entropy), *batch(), stage="loops")
    steps = [n["id"] for n in found["nodes"]]
    order = {id: k for k, id in enumerate(steps)}
    for e in found["edges"]:
        if e["from"] in order and e["to"] in order:
            assert order[e["from"]] < order[e["to"]], e
    outputs = {n["id"] for n in found["nodes"] if n["kind"] == "output"}
    assert outputs <= {e["to"] for e in found["edges"]}


@pytest.mark.parametrize("f", [
    lambda x: np.sort(x)[::-1] + np.cumsum(x),
    lambda x: np.linalg.solve(np.outer(x, x) + np.eye(8), x),
    lambda x: np.fft.fft(x).real,
    lambda x: autojit.while_loop(lambda c: c.sum() < 100.0, lambda c: c * 1.5, x),
    lambda x: autojit.cond(x[0] > 0, np.sin, np.cos, x),
    lambda x: np.where(x > 0, x, 0.0)[np.argsort(x)],
])  # fmt: skip
def test_loops_of_every_sort_are_drawn(f: Callable[..., Any]) -> None:
    x = np.linspace(0.1, 1.0, 8)
    for stage in ("trace", "optimized", "loops"):
        ElementTree.fromstring(picture(f, x, stage=stage, opened=1000))
        json.loads(picture(f, x, stage=stage, format="json"))


# -- what is refused ---------------------------------------------------------------------


def test_mistakes_are_named() -> None:
    with pytest.raises(StructureError, match="format is one of 'svg', 'html', 'dot', 'json'"):
        picture(product, X, Y, format="png")
    with pytest.raises(StructureError, match="by is one of"):
        picture(product, X, Y, by="lines")
    with pytest.raises(StructureError, match=r"picture\(product, x, y\)"):
        picture(product)
    with pytest.raises(StructureError, match="make_dot"):
        picture(3.0)  # type: ignore[arg-type]
    with pytest.raises(StructureError, match="takes 2 inputs, got 1"):
        picture(autojit.trace(product)(X, Y), X)
    with pytest.raises(StructureError, match='stage="loops"'):
        picture(product, X, Y, adjoint=True, stage="loops")
    with pytest.raises(NonScalarGradientError, match="Sum it"):
        picture(lambda x: x * 2.0, X, adjoint=True)
    with pytest.raises(StructureError, match="argnums=2, but there are 2 arguments"):
        picture(product, X, Y, adjoint=True, argnums=2)
