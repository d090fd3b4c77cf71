"""Texts of traced values may be shown, and are refused elsewhere."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from autojit import grad, jit, vmap
from autojit.errors import ConcreteValueError

X = np.arange(12.0) + 1.5


class Point:
    def __init__(self, at: Any) -> None:
        self.at = at

    def __repr__(self) -> str:
        return f"Point({self.at})"


class Pair(NamedTuple):
    a: Any
    b: Any


def in_a_long_loop(x: Any) -> Any:
    found = {}
    for i in range(300):
        found[f"a{i}"] = x[i % 12]
    return sum(found.values())


def by_percent(x: Any) -> Any:
    found = {}
    for i in range(40):
        found["a%s" % i] = x[i % 12]  # noqa: UP031
    return sum(found.values())


def compared(x: Any) -> Any:
    total = 0.0
    for i in range(40):
        if str(i).startswith("1"):
            total = total + x[i % 12]
    return total


def names(x: Any) -> Any:
    found: list[str] = []
    for i in range(40):
        found.append("a{}".format(i))  # noqa: UP032
    return dict(zip(found, x, strict=False))["a3"] + len(set(found))


@pytest.mark.parametrize("function", [in_a_long_loop, by_percent, compared, names])
def test_loops_with_texts_of_their_counters_are_unrolled(function: Callable[..., Any]) -> None:
    assert jit(function)(X) == pytest.approx(function(X))


def text_by_name(x: Any) -> Any:
    text = f"{x}"
    print(text)
    return x * len(text)


REFUSED: dict[str, Callable[..., Any]] = {
    "length": lambda x: len(f"{x}") * x,
    "key": lambda x: {f"{x}": x}["1.0"],
    "equal": lambda x: x if f"{x}" == "1.0" else -x,
    "part": lambda x: x * len(f"value: {x}, {2}"),
    "str": lambda x: x * len(str(x)),
    "repr": lambda x: x * len(repr(x)),
    "in an object": lambda x: x * len(f"{Point(x)}"),
    "in a tuple": lambda x: x * len(str((x, x))),
    "in a named tuple": lambda x: x * len(str(Pair(x, x))),
    "format": lambda x: x * len("{}".format(x)),  # noqa: UP032
    "percent": lambda x: x * len("%s" % x),  # noqa: UP031
    "by its name": text_by_name,
    "joined": lambda x: x * len(", ".join([str(x)])),
    "beside print": lambda x: print(x) or x * len(str(x)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    with pytest.raises(ConcreteValueError, match="making a text of x"):
        jit(REFUSED[name])(1.0)


def test_values_at_hand_have_texts() -> None:
    assert grad(lambda x: x * len(f"{x}"))(2.5) == 3.0
    with pytest.raises(ConcreteValueError, match="making a text of x"):
        vmap(lambda x: x * len(f"{x}"))(X)


def test_shown(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    def f(x: Any) -> Any:
        print(f"first {x}", Point(x), [x])
        text = f"second {x:}"
        print(text)
        logging.getLogger("autojit-tests").warning("third %s", x)
        logging.getLogger("autojit-tests").warning(f"fourth {x}")
        if x > 100:
            raise ValueError(text)
        warnings.warn(
            f"fifth {x}",
            stacklevel=1,
        )
        (lambda: print(x))()
        return x

    with pytest.warns(UserWarning, match="fifth Tracer"):
        assert jit(f)(1.0) == 1.0
    shown = capsys.readouterr().out.splitlines()
    assert shown[0] == "first Tracer<f64[]> Point(Tracer<f64[]>) [Tracer<f64[]>]"
    assert shown[1:] == ["second Tracer<f64[]>", "Tracer<f64[]>"]
    assert caplog.messages == ["third Tracer<f64[]>", "fourth Tracer<f64[]>"]


def test_code_without_source(capsys: pytest.CaptureFixture[str]) -> None:
    made: dict[str, Any] = {}
    exec("def f(x):\n    print(x)\n    return x\ndef g(x):\n    return x * len(f'{x}')", made)
    assert jit(made["f"])(1.0) == 1.0
    assert capsys.readouterr().out == "Tracer<f64[]>\n"
    with pytest.raises(ConcreteValueError, match="making a text of x"):
        jit(made["g"])(1.0)
