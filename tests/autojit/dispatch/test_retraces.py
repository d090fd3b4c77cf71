"""Retraces: named in the user's words, warned of, and forbidden in tests."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit
from autojit.dispatch.retraces import HANDFUL
from autojit.errors import RetraceWarning, StructureError
from autojit.testing import assert_no_retrace

X = np.array([1.0, 2.0, 3.0])


@dataclasses.dataclass
class Layer:
    weights: Any


def total(*args: Any, **kwargs: Any) -> Any:
    from autojit.staging import pytrees

    return sum(np.sum(leaf) for leaf in pytrees.flatten((args, kwargs))[0])


#: Arguments of a first and a second call, and the message about their difference.
RETRACES: dict[str, tuple[Any, Any, str]] = {
    "shape": (((X,), {}), ((X[:2],), {}), "argument 0 was f64[3], is f64[2]"),
    "dtype": (((X,), {}), ((X.astype(np.float32),), {}), "argument 0 was f64[3], is f32[3]"),
    "second": (((X, X), {}), ((X, X[:2]), {}), "argument 1 was f64[3], is f64[2]"),
    "by name": (((), {"w": X}), ((), {"w": X[:1]}), "argument 'w' was f64[3], is f64[1]"),
    "key": (
        (({"x": X, "y": X},), {}),
        (({"x": X, "y": X[:2]},), {}),
        "argument 0['y'] was f64[3], is f64[2]",
    ),
    "deep": (
        ((), {"p": [{"w": (X, X)}]}),
        ((), {"p": [{"w": (X, X[0])}]}),
        "argument 'p'[0]['w'][1] was f64[3], is f64[]",
    ),
    "field": (((Layer(X),), {}), ((Layer(X[:2]),), {}), "argument 0.weights was f64[3], is f64[2]"),
    "number": (((2.0,), {}), ((np.float64(2),), {}), "argument 0 was a Python float, is f64[]"),
    "kind of number": (((2.0,), {}), ((2,), {}), "argument 0 was a Python float, is a Python int"),
    "new key": (
        (({"x": X},), {}),
        (({"x": X, "y": X},), {}),
        "argument 0['y'] was not there, is f64[3]",
    ),
    "lost key": (
        (({"x": X, "y": 1.0},), {}),
        (({"x": X},), {}),
        "argument 0['y'] was a Python float, is not there",
    ),
    "more arguments": (((X,), {}), ((X, X), {}), "argument 1 was not there, is f64[3]"),
    "by name or position": (
        ((X, X), {}),
        ((X,), {"y": X}),
        "argument 1 was f64[3], is not there",
    ),
    "container": ((([X],), {}), (((X,),), {}), "argument 0 was a list, is a tuple"),
    "inner container": (
        ((X, {"a": [X]}), {}),
        ((X, {"a": (X,)}), {}),
        "argument 1 was {'a': [*]}, is {'a': (*,)}",
    ),
    "dict": (
        ((), {"p": {"x": X}}),
        ((), {"p": collections.OrderedDict(x=X)}),
        "argument 'p' was a dict, is a OrderedDict",
    ),
    "None more": (((X,), {}), ((X, None), {}), "the tree of arguments was ((*,), {}), "
                  "is ((*, None), {})"),
}  # fmt: skip


@pytest.mark.parametrize(("first", "second", "words"), RETRACES.values(), ids=RETRACES)
def test_what_differed(first: Any, second: Any, words: str) -> None:
    f = jit(total)
    f(*first[0], **first[1])
    assert f.cache_info().last_retrace is None
    f(*second[0], **second[1])
    assert f.cache_info().last_retrace == words


@pytest.mark.parametrize(
    ("settings", "first", "second", "words"),
    [
        ({"static_argnums": 1}, ((X, 2), {}), ((X, 3), {}), "static argument 1 was 2, is 3"),
        ({"static_argnums": 1}, ((X, 1), {}), ((X, True), {}), "static argument 1 was 1, is True"),
        (
            {"static_argnames": "mode"},
            ((X,), {"mode": "sum"}),
            ((X,), {"mode": "max"}),
            "static argument 'mode' was 'sum', is 'max'",
        ),
        (
            {"static_argnames": "mode"},
            ((X,), {}),
            ((X,), {"mode": "max"}),
            "static argument 'mode' was left out, is 'max'",
        ),
        (
            {"static_argnums": 0},
            (("sum", X), {}),
            (("max", X[:2]), {}),
            "static argument 0 was 'sum', is 'max'",
        ),
    ],
)
def test_static_arguments(settings: Any, first: Any, second: Any, words: str) -> None:
    def f(*args: Any, **kwargs: Any) -> Any:
        return X

    jitted = jit(f, **settings)
    jitted(*first[0], **first[1])
    jitted(*second[0], **second[1])
    assert jitted.cache_info().last_retrace == words


def test_the_nearest_of_the_earlier_calls_is_compared_with() -> None:
    f = jit(total)
    f({"x": X, "y": X})
    f([1.0, 2.0, 3.0])
    f({"x": X, "y": X[:2]})
    assert f.cache_info().last_retrace == "argument 0['y'] was f64[3], is f64[2]"


# -- warnings -------------------------------------------------------------------


def test_a_warning_at_each_doubling_names_the_argument_the_line_and_the_fix() -> None:
    @jit
    def loss(w: Any, x: Any) -> Any:
        return np.sum(w * x)

    seen = []
    for n in range(1, 30):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loss(2.0, np.ones(n))
        seen.extend((n - 1, warning) for warning in caught)
    assert [n for n, _ in seen] == [HANDFUL + 1, 2 * (HANDFUL + 1), 4 * (HANDFUL + 1)]
    warning = seen[0][1]
    assert warning.category is RetraceWarning
    assert warning.filename == __file__
    assert str(warning.message) == (
        "loss was traced again 6 times, 6 of them because argument 1 differed (now f64[7], before "
        "f64[6]), and each trace is compiled.\n"
        "Code is compiled for one shape. Keep it: pad to the largest, and mask what is padding:\n"
        "    f(np.pad(x, (0, size - len(x))), len(x))   # inside: np.arange(size) < length"
    )


KINDS = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8]

WARNINGS: dict[str, tuple[Any, list[tuple[Any, ...]], str]] = {
    "dtype": ({}, [(X.astype(k),) for k in KINDS[1:]], r"x\.astype"),
    "static": ({"static_argnums": 1}, [(X, n) for n in range(7)], "need not be static"),
    "keys": ({}, [({f"k{i}": X for i in range(n)},) for n in range(1, 8)], "the same keys"),
    "numbers": (
        {},
        [tuple(np.float64(2) if i == n else 2.0 for i in range(7)) for n in range(7)],
        r"f\(float\(x\)\)",
    ),
}


@pytest.mark.parametrize(("settings", "calls", "fix"), WARNINGS.values(), ids=WARNINGS)
def test_the_fix_is_that_of_the_kind_of_difference(settings: Any, calls: Any, fix: str) -> None:
    f = jit(lambda *args: X, **settings)
    for args in calls[:-1]:
        f(*args)
    with pytest.warns(RetraceWarning, match=fix):
        f(*calls[-1])


def test_functions_inside_of_a_trace_do_not_warn() -> None:
    inner = jit(lambda x, n: x * n, static_argnums=1)
    assert jit(lambda x: sum(inner(x, n) for n in range(20)))(1.0) == sum(range(20))
    assert inner.cache_info().traces == 20


def test_gradients_without_jit_do_not_warn() -> None:
    for n in range(1, 20):
        grad(np.sum)(np.ones(n))


# -- assert_no_retrace ----------------------------------------------------------


def in_block(call: Callable[[], Any], *functions: Any) -> None:
    with assert_no_retrace(*functions):
        call()


def test_a_block_without_traces() -> None:
    f, g = jit(lambda x: x + 1), jit(lambda t: t["x"])
    f(X)
    g({"x": X})
    with assert_no_retrace():
        f(X * 2)
        g({"x": X * 2})
        grad(np.sum)(np.ones(5))


def test_traces_are_refused_with_the_reason() -> None:
    def square(x: Any) -> Any:
        return x * x

    f = jit(square)
    with pytest.raises(AssertionError, match=r"square is traced .* not traced before"):
        in_block(lambda: f(X))
    f(X)
    with pytest.raises(AssertionError, match=r"square .*: argument 0 was f64\[3\], is f64\[2\]"):
        in_block(lambda: f(X[:2]), f)
    assert f.cache_info().traces == 1
    np.testing.assert_array_equal(f(X[:2]), X[:2] ** 2)


def test_only_the_given_functions_count() -> None:
    f, g, h = jit(np.sin), jit(np.cos), jit(np.tan)
    f(X)
    g(X)
    with assert_no_retrace(f, g):
        f(X)
        h(X)
        h(X[:2])
    for trace in (g, g.program, g.lower):
        with pytest.raises(AssertionError, match="cos is traced"):
            in_block(lambda call=trace: call(X[:2]), f, g)


def test_what_is_caught_or_happens_in_another_thread_is_raised_at_the_end() -> None:
    f = jit(np.sin)
    f(X)

    def work() -> None:
        with contextlib.suppress(AssertionError):
            f(X[:2])

    def in_thread() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(10)

    for block in (work, in_thread):
        with pytest.raises(AssertionError, match="sin is traced inside"):
            in_block(block)


def test_what_is_no_compiled_function_is_refused() -> None:
    with pytest.raises(StructureError, match=r"made by jit, not <function total"):
        assert_no_retrace(total)
    with autojit.testing.assert_no_retrace():
        pass
