"""Every function of `autojit` itself, called with bad arguments: the error names what is wrong.

Each argument of a call that works is replaced in turn.  An error is good where it is autojit's and
names the argument, or where the user's own function raises it.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.errors import AutojitError

X = np.ones(3)


def loss(x: Any) -> Any:
    return np.sum(x**2)


class Thing:
    """An object that is neither an array nor a number."""


#: Bad arguments by their kinds.
BAD: dict[str, Any] = {
    "an object": Thing(), "a text": "wrong", "None": None, "a negative number": -1,
    "a tree": {"q": [Thing()]},
}  # fmt: skip
#: Other words that an error may use for an argument, besides its name and number.
_WORDS = {"pred": "predicate", "branches": "branch", "elems": "an array|axis", "xs": "axis"}
_PROGRAM = "program p(%0: f32[3]) {\n  return %0\n}"


def add(i: Any, x: Any) -> Any:
    return x + 1.0


def next_one(x: Any) -> Any:
    return x + 1.0


def small(x: Any) -> Any:
    return x < 3


#: For each function's name: how it is called, and good arguments by name, in order.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "trace": (lambda f: autojit.trace(f)(X), {"f": loss}),
    "source": (lambda f: autojit.source(f, X), {"f": loss}),
    "saved_residuals": (lambda f: autojit.saved_residuals(f, X), {"f": loss}),
    "peak_memory": (lambda f: autojit.peak_memory(f)(X), {"f": loss}),
    "explain_nan": (lambda f: autojit.explain_nan(f, X), {"f": loss}),
    "vjp": (autojit.vjp, {"f": loss, "primals": X}),
    "linearize": (autojit.linearize, {"f": loss, "primals": X}),
    "jvp": (autojit.jvp, {"f": loss, "primals": (X,), "tangents": (X,)}),
    "parse": (autojit.parse, {"text": _PROGRAM}),
    "jit": (
        lambda static_argnums, static_argnames: autojit.jit(
            loss, static_argnums=static_argnums, static_argnames=static_argnames
        ),
        {"static_argnums": (), "static_argnames": ()},
    ),
    "switch": (autojit.switch, {"index": 0, "branches": [loss, loss], "operands": X}),
    "cond": (autojit.cond, {"pred": True, "true_fun": loss, "false_fun": loss, "operands": X}),
    "while_loop": (
        autojit.while_loop, {"cond_fun": small, "body_fun": next_one, "init": 0.0}
    ),
    "fori_loop": (autojit.fori_loop, {"lower": 0, "upper": 3, "body_fun": add, "init": 0.0}),
    "associative_scan": (autojit.associative_scan, {"fn": np.add, "elems": X}),
    "map": (autojit.map, {"f": np.sin, "xs": X}),
}  # fmt: skip

CASES = [
    pytest.param(name, argument, kind, id=f"{name}-{argument}-{kind}")
    for name, (_, good) in CALLS.items()
    for argument in good
    for kind in BAD
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("name", "argument", "kind"), CASES)
def test_the_error_names_the_argument(name: str, argument: str, kind: str) -> None:
    call, good = CALLS[name]
    found: Exception | None = None
    try:
        call(*{**good, argument: BAD[kind]}.values())
    except Exception as error:
        found = error
    if found is None or _raised_in(found) in ("loss", "add", "small", "next_one"):
        return  # as Python does without autojit
    words = rf"\b{argument}\b|argument \d|{_WORDS.get(argument, argument)}"
    if argument == "text":  # a text that is no program is named by its line
        words += "|line 1"
    else:
        assert isinstance(found, AutojitError)
    assert re.search(words, str(found))


def _raised_in(error: Exception) -> str:
    """The name of the last function in a traceback."""
    return traceback.extract_tb(error.__traceback__)[-1].name


@pytest.mark.parametrize("name", CALLS)
def test_the_calls_are_good(name: str) -> None:
    call, good = CALLS[name]
    call(*good.values())
