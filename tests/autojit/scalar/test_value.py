"""Numbers that record, against central differences, PyTorch and the tutorials' figures."""

from __future__ import annotations

import gc
import math
import random
import threading
import tracemalloc
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.scalar import MLP, Layer, Neuron, Value
from autojit.scalar import value as module
from autojit.scalar.sums import weighted_sum


def test_micrograds_sanity_check() -> None:
    pytorch: Any = pytest.importorskip("torch", reason="the witness is not installed")

    def run(x: Any) -> Any:
        z = 2 * x + 2 + x
        q = z.relu() + z * x
        h = (z * z).relu()
        return h + q + q * x

    x = Value(-4.0)
    y = run(x)
    y.backward()
    there = pytorch.tensor(-4.0, dtype=pytorch.double, requires_grad=True)
    want = run(there)
    want.backward()
    assert (y.data, x.grad) == (want.item(), there.grad.item())


def test_micrograds_more_operations() -> None:
    pytorch: Any = pytest.importorskip("torch", reason="the witness is not installed")

    def run(a: Any, b: Any) -> Any:
        c = a + b
        d = a * b + b**3
        c = c + c + 1
        c = c + 1 + c + (-a)
        d = d + d * 2 + (b + a).relu()
        d = d + 3 * d + (b - a).relu()
        e = c - d
        f = e**2
        g = f / 2.0
        return g + 10.0 / f

    a, b = Value(-4.0), Value(2.0)
    g = run(a, b)
    g.backward()
    there = [pytorch.tensor(v, dtype=pytorch.double, requires_grad=True) for v in (-4.0, 2.0)]
    want = run(*there)
    want.backward()
    assert g.data == pytest.approx(want.item(), 1e-12)
    assert [a.grad, b.grad] == pytest.approx([t.grad.item() for t in there], 1e-12)


FUNCTIONS = {
    "exp": Value.exp, "log": Value.log, "tanh": Value.tanh, "sigmoid": Value.sigmoid,
    "relu": Value.relu, "sin": Value.sin, "cos": Value.cos, "tan": Value.tan, "sqrt": Value.sqrt,
    "abs": abs, "x**3": lambda x: x**3, "x**-2": lambda x: x**-2, "x**0.5": lambda x: x**0.5,
    "2**x": lambda x: 2**x, "x**x": lambda x: x**x, "1/x": lambda x: 1 / x,
    "3-x": lambda x: 3 - x, "x/4": lambda x: x / 4, "x*x": lambda x: x * x, "x**0": lambda x: x**0,
    "np.sin": np.sin, "np.float64": lambda x: np.float64(2.0) * x,
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivative_is_that_of_differences(name: str) -> None:
    f = FUNCTIONS[name]
    x = Value(0.7)
    f(x).backward()
    ends = [f(Value(0.7 + step)).data for step in (1e-6, -1e-6)]
    assert x.grad == pytest.approx((ends[0] - ends[1]) / 2e-6, 1e-8)


def test_relu_has_no_slope_at_zero() -> None:
    x = Value(0.0)
    x.relu().backward()
    assert x.grad == 0.0


def test_repr_label_and_graph() -> None:
    a, b = Value(2.0, label="a"), Value(3.0)
    c = a * b + a
    assert repr(c) == "Value(data=8.0, grad=0.0)"
    assert (a.label, c.label, c._op, a._op) == ("a", "", "+", "")
    c.label = "c"
    assert c.label == "c"
    assert a in c._prev
    assert len(c._prev) == 2
    assert ((a**2)._op, a.relu()._op, (a * a)._prev) == ("**2", "ReLU", {a})
    assert autojit.Value is Value


def test_gradients_are_right_however_often_one_asks() -> None:
    a = Value(3.0)
    c = a * 2
    d = c * 1
    d.backward()
    d.backward()
    assert (a.grad, c.grad) == (4.0, 2.0)
    (c * a).backward()  # of a graph that began before the last backward pass
    assert a.grad == 4.0 + 12.0
    e = c + 1
    c.grad = 100.0
    e.backward()
    assert a.grad == 18.0
    assert c.grad == 101.0


def test_zero_times_infinity_elsewhere_does_not_reach_a_gradient() -> None:
    x = Value(2.0)
    y = x * 3
    x * math.inf  # made later, and not asked for
    y.backward()
    assert x.grad == 3.0


def test_own_operations() -> None:
    x = Value(0.5)
    out = Value(math.log(x.data), (x,), "log")

    def _backward() -> None:
        x.grad += (1.0 / x.data) * out.grad

    out._backward = _backward
    y = out * 3 + out * out
    y.backward()
    assert x.grad == pytest.approx(2 * (3 + 2 * math.log(0.5)))
    y.backward()
    assert x.grad == pytest.approx(4 * (3 + 2 * math.log(0.5)))
    with pytest.raises(RuntimeError, match="has no _backward"):
        (Value(1.0, (x,), "sq") * 2).backward()


def test_own_backward_pass() -> None:
    a, b = Value(2.0), Value(3.0)
    c = a * b + a
    order: list[Value] = []

    def visit(v: Value) -> None:
        if v not in order:
            for child in v._prev:
                visit(child)
            order.append(v)

    visit(c)
    c.grad = 1.0
    for node in reversed(order):
        node._backward()
    assert (a.grad, b.grad) == (4.0, 2.0)


class Sub(Value):
    def square(self) -> Value:
        return self * self


def test_subclass_and_numbers() -> None:
    v = Sub(3.0)
    (v.square() + 1).backward()
    assert v.grad == 6.0
    with pytest.raises(TypeError):
        v + "1"
    assert v > 2
    assert sum([Value(5), 3]).data == 8


@pytest.mark.sampled(2)
@pytest.mark.parametrize("longest", [None, 100])
def test_deep_chain(longest: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if longest:  # the tape does not hold all of it
        monkeypatch.setattr(module, "LONGEST", longest)
        module._begin_tape()
    x = Value(0.5)
    y = x
    for _ in range(20_000):
        y = y * 1.00001 + 1e-6
    y.backward()
    assert x.grad == pytest.approx(1.00001**20_000)
    module._begin_tape()


@pytest.mark.slow
def test_memory_stays_flat() -> None:
    model = MLP(2, [3, 1])
    xs = [Value(0.5), Value(-1.0)]

    def step() -> None:
        model.zero_grad()
        model(xs).backward()

    step()
    gc.collect()
    tracemalloc.start()
    for _ in range(100):
        step()
    gc.collect()
    assert tracemalloc.get_traced_memory()[0] < 20_000
    tracemalloc.stop()


def test_threads_do_not_mix() -> None:
    wrong: list[Any] = []

    def work(k: int) -> None:
        for _ in range(200):
            x = Value(float(k))
            y = x
            for _ in range(5):
                y = y * x
            y.backward()
            if x.grad != 6.0 * k**5:
                wrong.append((k, x.grad))

    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def by_operators(weights: Any, inputs: Any, total: Value) -> Value:
    for w, x in zip(weights, inputs, strict=True):
        total = total + w * x
    return total


def graph_of(root: Value) -> tuple[Any, ...]:
    """The operations, numbers and gradients of a graph of sums and products, from its root."""
    parts = sorted((graph_of(v) for v in root._prev), key=repr)
    return root._op, root.data, root.grad, tuple(parts)


@pytest.mark.parametrize("passes", [0, 1, 2])
@pytest.mark.parametrize("when", ["at once", "after another pass", "after a change"])
def test_a_weighted_sum_is_the_operators(passes: int, when: str) -> None:
    def run(sum_of: Any) -> Any:
        w, b = [Value(0.3), Value(-1.5), Value(0.7)], Value(0.1)
        x = [Value(1.25), w[0] * 3.0, w[0]]
        if when == "after another pass":
            (x[1] * 1.0).backward()
        y = sum_of(w, x, b)
        z = y.tanh() * y + w[1]
        for _ in range(passes):
            z.backward()
        found = [v.grad for v in (*w, *x, b, y)]
        if when == "after a change":
            for p in w:
                p.data = 9.0
        return (
            found,
            sorted(map(graph_of, y._prev), key=repr),
            len(y._prev),
            (y._op, y.data, y.grad),
        )

    assert run(weighted_sum) == run(by_operators)


def test_a_pass_of_a_network_records_two_nodes_per_neuron() -> None:
    module._begin_tape()
    out = MLP(10, [100, 100, 1])([0.5] * 10)
    assert len(module._tape) == 2 * 201
    assert out._op == "tanh"


def test_an_operation_set_on_an_operand_afterwards_runs() -> None:
    x, w = Value(2.0), Value(3.0)
    y = weighted_sum([w], [x], Value(0.0))
    seen: list[float] = []
    x._backward = lambda: seen.append(x.grad)
    y.backward()
    assert seen == [3.0]


def test_network() -> None:
    random.seed(0)
    model = MLP(3, [4, 4, 1])
    assert len(model.parameters()) == 41
    xs = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
    ys = [1.0, -1.0, -1.0, 1.0]
    for _ in range(60):
        loss = sum((model(x) - y) ** 2 for x, y in zip(xs, ys, strict=True))
        model.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.data -= 0.1 * p.grad
    assert loss.data < 0.2
    assert repr(Neuron(2)) == "TanhNeuron(2)"
    assert repr(MLP(2, [1], activation="relu")) == "MLP of [Layer of [ReLUNeuron(2)]]"
    assert isinstance(model.layers[0], Layer)


def test_the_modules_of_micrograd_are_there() -> None:
    from autojit import micrograd
    from autojit.micrograd import engine, nn

    assert engine.Value is micrograd.Value is Value
    assert (nn.MLP, nn.Layer, nn.Neuron) == (MLP, Layer, Neuron)


def test_values_vanish_under_jit() -> None:
    def slope(x: Any) -> Any:
        v = Value(x)
        (v.tanh() * v + v.relu() + v.sigmoid() + 2 * v.exp()).backward()
        return v.grad

    assert autojit.jit(slope)(0.5) == pytest.approx(slope(0.5), 1e-12)
    assert autojit.jit(slope)(-0.5) == pytest.approx(slope(-0.5), 1e-12)


@pytest.mark.slow
def test_values_are_arguments_and_results_of_compiled_functions() -> None:
    def bent(v: Any) -> Any:
        if v > 0:
            return v * 2
        return v * 3

    made = autojit.jit(bent)(Value(2.0))
    assert isinstance(made, Value)
    assert made.data == 4.0
    assert autojit.jit(autojit.grad(bent))(Value(-2.0)).data == 3.0
    value, slope = autojit.value_and_grad(bent)(Value(2.0))
    assert (value.data, slope.data) == (4.0, 2.0)


@pytest.mark.slow
def test_what_a_trace_recorded_is_let_go() -> None:
    outer = Value(3.0) * 2
    assert autojit.jit(lambda x: (Value(x) * 2).data)(2.0) == 4.0  # never differentiated
    (outer * outer).backward()
    assert outer.grad == 12.0
