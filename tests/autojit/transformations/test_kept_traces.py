"""Without `jit` a trace serves later calls if the next one would certainly be the same."""

from __future__ import annotations

import functools
import gc
import random
import sys
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy import sin as imported_sin

import autojit
from autojit import disable_jit, grad, jacfwd, jvp, value_and_grad, vjp
from autojit.staging import trace_function
from autojit.transformations import derivatives, gradients, jacobians, kept_traces
from autojit.transformations.outer_values import MOST_BYTES, outer_values

RATES = np.array([0.5, 2.0, -1.0])
TABLE: dict[str, Any] = {"scale": 2.0, "parts": [1.0, (2.0, 3)]}
SCALE = 3.0
counter = 0


class Setting:
    scale = 2.0

    def scaled(self, x: Any) -> Any:
        return x * self.scale


SETTING = Setting()


def helper(x: Any, power: int = 2) -> Any:
    return x**power


def with_note(x: Any) -> Any:
    return x * 2


with_note.calls = 0  # type: ignore[attr-defined]


@functools.cache
def cached(n: int) -> float:
    return n * 2.0


def uses_a_loop(x: Any) -> Any:
    s = 0.0
    for k in range(len(RATES)):
        s = s + RATES[k] * np.sin(x) * SCALE
    return s


def uses_a_nest(x: Any) -> Any:
    s = 0.0
    for i in range(2):
        for j in range(2):
            for k in range(len(RATES)):
                s = s + RATES[k] * np.sin(x) * (i + j)
    return s


def uses_a_helper(x: Any, *, more: Any = (1.0, 2.0)) -> Any:
    return sum([helper(x, p) for p in (1, 2, 3)]) + more[0]


def uses_a_table(x: Any) -> Any:
    return x * TABLE["scale"] + TABLE["parts"][1][0] * x**2


def uses_matrices(x: Any) -> Any:
    a = np.eye(2) * x + np.array([[0.0, 0.1], [0.2, 0.0]])
    return np.linalg.slogdet(np.linalg.inv(a) @ a * x)[1] + np.pi * x


def uses_inner_functions(x: Any) -> Any:
    found = []

    def add(y: Any) -> None:
        nonlocal x
        x = x + y
        found.append(x)

    for k in range(3):
        add(k * SCALE)
    return functools_free(found)


def functools_free(values: Any) -> Any:
    return max(values[:1]) if len(values) == 1 else sum(v * v for v in values)


KEPT: dict[str, Callable[..., Any]] = {
    "a loop": uses_a_loop,
    "a nest of loops": uses_a_nest,
    "helpers, and defaults": uses_a_helper,
    "a table": uses_a_table,
    "matrices": uses_matrices,
    "inner functions": uses_inner_functions,
    "an imported name": lambda x: imported_sin(x) * 2,
    "a place in an array": lambda x: np.zeros(3)[0] + np.array([x, x * 2])[1],
}


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """Collect the functions that are traced."""
    found: list[Any] = []

    def counted(function: Any, *rest: Any, **named: Any) -> Any:
        found.append(function)
        return trace_function.trace_function(function, *rest, **named)

    for module in (derivatives, gradients, jacobians):
        monkeypatch.setattr(module, "trace_function", counted)
    monkeypatch.setattr(kept_traces, "_traces", weakref.WeakKeyDictionary())
    with disable_jit():
        yield found


def difference(f: Callable[[float], Any], x: float) -> Any:
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


@pytest.mark.parametrize("name", KEPT)
def test_a_trace_serves_the_next_calls(name: str, traces: list[Any]) -> None:
    f = KEPT[name]
    for x in (0.5, 0.75, 1.25):
        assert grad(f)(x) == pytest.approx(difference(f, x), rel=1e-6)
    assert len(traces) == 1
    assert value_and_grad(f)(0.5)[0] == pytest.approx(f(0.5))
    assert len(traces) == 1


def test_each_transformation_keeps_its_own(traces: list[Any]) -> None:
    def f(x: Any) -> Any:
        return np.sum(RATES * x**3)

    x = np.array([1.0, 2.0, 3.0])
    for run in (
        grad(f), jacfwd(f), lambda x: jvp(f, (x,), (x,))[1], lambda x: vjp(f, x)[1](1.0)[0]
    ):  # fmt: skip
        first, count = run(x), len(traces)
        again = run(x * 2)
        assert len(traces) == count
        np.testing.assert_allclose(run(x), first)
        assert not np.allclose(again, first)


def test_other_arguments_are_compared(traces: list[Any]) -> None:
    def loss(w: Any, batch: Any, *, scale: Any = 1.0) -> Any:
        return np.sum((batch["x"] @ w - batch["y"]) ** 2) * scale

    w = np.array([1.0, 2.0])
    batch = {"x": np.eye(2), "y": np.zeros(2)}
    first = grad(loss)(w, batch)
    np.testing.assert_array_equal(grad(loss)(w, {"x": np.eye(2), "y": np.zeros(2)}), first)
    assert len(traces) == 1
    batch["y"][0] = 1.0
    np.testing.assert_allclose(grad(loss)(w, batch), [0.0, 4.0])
    np.testing.assert_allclose(grad(loss)(w, batch, scale=2.0), [0.0, 8.0])
    np.testing.assert_allclose(grad(loss)(w.astype(np.float32), batch), [0.0, 4.0])
    assert len(traces) == 4


# -- what changes the trace ------------------------------------------------------------


def _set_global(name: str, value: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setitem(globals(), name, value)


CHANGES: dict[str, tuple[Callable[..., Any], Callable[[pytest.MonkeyPatch], None]]] = {
    "a number": (uses_a_loop, _set_global("SCALE", 4.0)),
    "its type": (lambda x: x * (SCALE if isinstance(SCALE, float) else 7), _set_global("SCALE", 3)),
    "the sign of a zero": (lambda x: np.arctan2(ZERO, x), _set_global("ZERO", -0.0)),
    "an array": (uses_a_loop, _set_global("RATES", RATES * 2)),
    "an element": (uses_a_loop, lambda patch: RATES.__setitem__(0, RATES[0] + 1)),
    "a function": (uses_a_helper, _set_global("helper", lambda x, power=2: x * power)),
    "its code": (uses_a_helper, lambda patch: patch.setattr(
        helper, "__code__", (lambda x, power=2: x * power * 5).__code__)),
    "its defaults": (lambda x: helper(x), lambda patch: patch.setattr(
        helper, "__defaults__", (3,))),
    "defaults by name": (uses_a_helper, lambda patch: patch.setattr(
        uses_a_helper, "__kwdefaults__", {"more": (5.0, 2.0)})),
    "an element of a list": (uses_a_table, lambda patch: TABLE["parts"].__setitem__(1, (4.0, 3))),
    "a key": (uses_a_table, lambda patch: patch.setitem(TABLE, "scale", 5.0)),
    "a function of NumPy": (lambda x: np.sin(x) * 2, lambda patch: patch.setattr(
        np, "sin", np.cos)),
    "a builtin": (lambda x: max(1.0, 2.0) * x, _set_global("max", min)),
}  # fmt: skip
ZERO = 0.0


@pytest.mark.parametrize("name", CHANGES)
def test_what_has_changed_is_traced_again(
    name: str, traces: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    f, change = CHANGES[name]
    rates, parts = RATES.copy(), list(TABLE["parts"])
    run = value_and_grad(f)
    try:
        run(-0.75), run(-0.75)
        assert len(traces) == 1
        change(monkeypatch)
        value, slope = run(-0.75)
        assert len(traces) == 2
        assert value == pytest.approx(f(-0.75))
        assert slope == pytest.approx(difference(f, -0.75), rel=1e-6)
    finally:
        monkeypatch.undo()
        RATES[:], TABLE["parts"][:] = rates, parts


def test_cells_are_compared(traces: list[Any]) -> None:
    scale = 2.0

    def set_scale(value: float) -> None:
        nonlocal scale
        scale = value

    run = grad(lambda x: scale * x)
    assert (run(1.0), run(2.0), len(traces)) == (2.0, 2.0, 1)
    set_scale(5.0)
    assert (run(1.0), len(traces)) == (5.0, 2)


# -- what is traced at each call ----------------------------------------------------------


def counts(x: Any) -> Any:
    global counter
    counter += 1
    return x * 2


def branches(x: Any) -> Any:
    return x * 2 if x > 0 else x * 3


def prints(x: Any) -> Any:
    print("called")
    return x * 2


def imports(x: Any) -> Any:
    import math

    return x * math.pi


def defines(x: Any) -> Any:
    class Local:
        scale = 2.0

    return x * Local.scale


def in_a_context(x: Any) -> Any:
    with np.errstate(over="ignore"):
        return x * 2


def by_an_alias(x: Any) -> Any:
    module = np
    return x * module.random.random()


def walks_a_set(x: Any) -> Any:
    return sum(x * k for k in {SCALE, SCALE + 1})


seen: list[int] = []
seen_places = np.zeros(3)


def appends(x: Any) -> Any:
    seen.append(1)
    return x * 2


def writes(x: Any) -> Any:
    seen_places[0] += 1
    return x * 2


TRACED: dict[str, Callable[..., Any]] = {
    "it sets a global variable": counts,
    "it asks for a value": branches,
    "it prints": prints,
    "it imports": imports,
    "it defines a class": defines,
    "it enters a context": in_a_context,
    "it draws": lambda x: x * np.random.random(),
    "it draws by an alias": by_an_alias,
    "Python draws": lambda x: x * random.random(),
    "it reads a clock": lambda x: x + time.time(),
    "it makes a text": lambda x: x * float(f"{SCALE}"),
    "it walks a set": walks_a_set,
    "it appends to a list from outside": appends,
    "it writes to an array from outside": writes,
    "it reads an attribute": lambda x: x * SETTING.scale,
    "it calls a method": lambda x: SETTING.scaled(x),
    "a function has attributes": lambda x: with_note(x),
    "a function has a memory": lambda x: cached(2) * x,
    "it reads a dunder": lambda x: x * len(helper.__defaults__ or ()),
    "it evaluates": lambda x: eval("x * 2"),
    "it reads a module": lambda x: x * len(vars(np)),
    "it reads NumPy's state": lambda x: x * len(np.geterr()),
    "it is transformed": lambda x: grad(helper)(x),
}


@pytest.mark.parametrize("name", TRACED)
def test_other_functions_are_traced_at_each_call(name: str, traces: list[Any]) -> None:
    f = TRACED[name]
    run = grad(f)
    for _ in range(3):
        run(0.5)
    assert sum(each is f for each in traces) == 3


def test_methods_and_objects_are_traced_at_each_call(traces: list[Any]) -> None:
    for f in (SETTING.scaled, functools.partial(helper, power=3), autojit.checkpoint(helper)):
        count = len(traces)
        grad(f)(0.5), grad(f)(0.5)
        assert len(traces) >= count + 2


def test_a_large_array_is_not_compared(traces: list[Any]) -> None:
    large = np.zeros(MOST_BYTES // 8 + 1)
    assert outer_values(lambda x: large * x, ()) is None
    run = grad(lambda x: np.sum(large) + x)
    run(1.0), run(1.0)
    assert len(traces) == 2


def test_arguments_that_always_differ_are_no_longer_compared(traces: list[Any]) -> None:
    def f(x: Any, k: Any) -> Any:
        return x * k

    for k in range(kept_traces.MISSES + 5):
        assert grad(f)(1.0, float(k)) == k
    count = len(traces)
    grad(f)(1.0, 0.0), grad(f)(1.0, 0.0)
    assert len(traces) == count + 2


def test_watched_work_is_traced(traces: list[Any]) -> None:
    f = KEPT["a loop"]
    run = grad(f)
    run(1.0)
    sys.setprofile(lambda *event: None)
    try:
        run(1.0)
    finally:
        sys.setprofile(None)
    with np.errstate(over="raise"):
        run(1.0)
    assert len(traces) == 3


def test_arguments_that_are_not_plain_are_traced(traces: list[Any]) -> None:
    class Pair(tuple):  # type: ignore[type-arg]
        __slots__ = ()

    def f(p: Any) -> Any:
        return p[0] * p[1]

    for given in ([1.0, 2.0], (1.0, 2.0), {0: 1.0, 1: 2.0}):
        count = len(traces)
        grad(f)(given), grad(f)(given)
        assert len(traces) == count + 1
    assert outer_values(f, Pair((1.0,))) is None


def test_a_function_is_not_kept_alive(traces: list[Any]) -> None:
    def f(x: Any) -> Any:
        return helper(x) * SCALE

    assert grad(f)(1.0) == 6.0
    assert len(traces) == 1
    gone = weakref.ref(f)
    traces.clear()
    del f
    gc.collect()
    assert gone() is None
