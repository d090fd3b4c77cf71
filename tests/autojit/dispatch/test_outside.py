"""Numbers from outside of a compiled function that change after it was traced."""

from __future__ import annotations

import collections
import functools
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.sparse import csr_array

import autojit
from autojit import grad, jit
from autojit.errors import StaleValueWarning


class Layer:
    def __init__(self) -> None:
        self.rate, self.w, self.unused = 2.0, np.full(3, 2.0), 0

    shared = 2.0

    def call(self, x: Any) -> Any:
        return self.w * x

    @property
    def double(self) -> Any:
        return 2 * self.rate

    def __call__(self, x: Any) -> Any:
        return self.rate * x


def world() -> dict[str, Any]:
    """Return the globals of a user's script, which the functions read."""
    space: dict[str, Any] = {
        "np": np, "grad": grad, "Layer": type("Layer", (Layer,), {"shared": 2.0}),
        "__name__": "__main__", "Namespace": types.SimpleNamespace, "deque": collections.deque,
        "Counter": collections.Counter, "partial": functools.partial, "csr_array": csr_array,
        "CubicSpline": CubicSpline,
    }  # fmt: skip
    code = """
scale, w, rates, layer, count, big = 2.0, np.full(3, 2.0), [2.0, 2.0], Layer(), 0, np.ones(100_000)
def helper(x): return 2.0 * x
def other(x): return 3.0 * x
def read(object, x): return object.rate * x
class Slotted: __slots__ = ("rate",)
slotted = Slotted()
slotted.rate = 2.0
space, queue, counts, chosen = Namespace(rate=2.0), deque([2.0]), Counter(a=2), {2.0}
part, sparse = partial(np.multiply, np.ones(3)), csr_array(np.eye(3))
spline = CubicSpline(np.arange(4.0), np.arange(4.0) ** 2)
def closed():
    scale = 2.0
    def change():
        nonlocal scale
        scale = 3.0
    return (lambda x: scale * x), change
inner, change_inner = closed()
"""
    exec(code, space)
    return space


#: A function, the statement that changes a global, and its name in the warning.
CHANGED = {
    "a number": ("lambda x: scale * x", "scale = 3.0", "`scale` (2.0, now 3.0)"),
    "an array": ("lambda x: w * x", "w[1] = 3.0", "`w`"),
    "another array": ("lambda x: w * x", "w = np.ones(3)", "`w`"),
    "a large array": ("lambda x: big[0] * x", "big = 3.0 * big", "`big`"),
    "an element": ("lambda x: rates[0] * x", "rates[0] = 3.0", "`rates[0]` (2.0, now 3.0)"),
    "a length": ("lambda x: len(rates) * x", "rates.append(1.0)", "`rates[2]`"),
    "an attribute": ("lambda x: layer.rate * x", "layer.rate = 3.0", "`layer.rate` (2.0, now 3.0)"),
    "a helper": ("lambda x: helper(x)", "helper = other", "`helper`"),
    "in a helper": ("lambda x: (lambda y: scale * y)(x)", "scale = 3.0", "`scale`"),
    "in a gradient": ("grad(lambda x: scale * x)", "scale = 3.0", "`scale`"),
    "around": ("inner", "change_inner()", "`scale` (2.0, now 3.0)"),
    "of a method": ("layer.call", "layer.w = np.ones(3)", "`self.w`"),
    "of another's method": ("lambda x: layer.call(x)", "layer.w = np.ones(3)", "`layer.w`"),
    "read by a helper": ("lambda x: read(layer, x)", "layer.rate = 3.0", "`layer.rate`"),
    "in a property": ("lambda x: layer.double * x", "layer.rate = 3.0", "`layer.rate`"),
    "of a class": ("lambda x: Layer.shared * x", "Layer.shared = 3.0", "`Layer.shared`"),
    "of an object that is called": ("lambda x: layer(x)", "layer.rate = 3.0", "`layer.rate`"),
    "in a slot": ("lambda x: slotted.rate * x", "slotted.rate = 3.0", "`slotted.rate`"),
    "in a namespace": ("lambda x: space.rate * x", "space.rate = 3.0", "`space.rate`"),
    "in a deque": ("lambda x: queue[0] * x", "queue[0] = 3.0", "`queue[0]` (2.0, now 3.0)"),
    "in a Counter": ("lambda x: counts['a'] * x", "counts['a'] = 3", "`counts['a']` (2, now 3)"),
    "in a set": ("lambda x: sum(chosen) * x", "chosen.add(1.0)", "`chosen[1]`"),
    "of a partial": ("lambda x: part(x)", "part.args[0][0] = 3.0", "`part.args[0]`"),
    "a sparse matrix": ("lambda x: sparse @ (x * w)", "sparse.data *= 2", "`sparse.data`"),
    "a spline": ("lambda x: spline(x)", "spline.c *= 2", "`spline.c`"),
}
#: Changes that do not affect the program.
UNUSED = {
    "a counter": ("lambda x: x * (count >= 0)", "count += 1"),
    "a message": ("lambda x: (str(count), x * 2.0)[1]", "count += 1"),
    "the same numbers": ("lambda x: w * x", "w = w.copy()"),
    "another attribute": ("lambda x: layer.rate * x", "layer.unused = 1"),
    "what it appends to": ("lambda x: (rates.append(0.0), x * len(rates))[1]", "rates.append(1.0)"),
    "nothing": ("lambda x: scale * x", "pass"),
}


def called(text: str, change: str, calls: int) -> tuple[Any, list[warnings.WarningMessage]]:
    space = world()
    compiled = jit(eval(text, space))
    for _ in range(calls):
        compiled(1.0)
    exec(change, space)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return compiled(1.0), caught


@pytest.mark.parametrize("name", CHANGED)
def test_what_has_changed_is_named_at_the_second_call(name: str) -> None:
    text, change, words = CHANGED[name]
    _, caught = called(text, change, 1)
    assert [w.category for w in caught] == [StaleValueWarning]
    assert words in str(caught[0].message)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("name", UNUSED)
def test_what_is_not_in_the_program_is_no_mistake(name: str) -> None:
    assert called(*UNUSED[name], 1)[1] == []


def test_later_calls_look_only_when_they_are_asked_to() -> None:
    text, change, words = CHANGED["a number"]
    assert called(text, change, 2)[1] == []
    with autojit.debug_stale():
        (warning,) = called(text, change, 3)[1]
        assert words in str(warning.message)
        with autojit.debug_stale(active=False):
            assert called(text, change, 3)[1] == []


def test_what_a_static_object_holds() -> None:
    layer, compiled = Layer(), jit(Layer.call, static_argnums=0)
    compiled(layer, 1.0)
    layer.w = np.ones(3)
    with pytest.warns(StaleValueWarning, match=r"`self\.w`"):
        compiled(layer, 1.0)


def test_the_fixes_run() -> None:
    def fix_of(name: str) -> str:
        return str(called(*CHANGED[name][:2], 1)[1][0].message).partition("\n")[2]

    space: dict[str, Any] = {"f": jit(lambda x, rate: x * rate), "x": 1.0}
    space["layer"] = types.SimpleNamespace(rate=3.0)
    exec(fix_of("an attribute").strip(), space)
    space["jit"], old = jit, space["f"]
    exec(fix_of("a helper").strip(), space)
    assert space["f"] is not old


def test_the_third_call_is_native(monkeypatch: pytest.MonkeyPatch) -> None:
    space = world()
    compiled: Any = jit(eval("lambda x: scale * x", space))
    slow: list[Any] = []
    original: Callable[..., Any] = type(compiled)._call

    def counted(*args: Any) -> Any:
        slow.append(args)
        return original(*args)

    monkeypatch.setattr(type(compiled), "_call", counted)
    for _ in range(4):
        compiled(1.0)
    assert len(slow) == 2
