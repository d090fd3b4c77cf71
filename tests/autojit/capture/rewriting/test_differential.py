"""Random functions and their twins give the same values, errors, side effects."""

from __future__ import annotations

import linecache
import re
from contextlib import suppress
from typing import Any

import pytest

from autojit.capture.rewriting import PlainRuntime, reason_against, twin_of
from tests.autojit.capture.rewriting.random_functions import Writer


def note(trace: list[Any], value: Any) -> Any:
    trace.append(value)
    return value


def helper(x: Any, y: Any, trace: list[Any]) -> Any:
    if x == y:
        return x
    for i in range(3):
        if i == x:
            return i
        trace.append(i)
    return y


class Guard:
    def __init__(self, trace: list[Any]) -> None:
        self.trace = trace

    def __enter__(self) -> int:
        self.trace.append("enter")
        return 5

    def __exit__(self, kind: type | None, *error: Any) -> None:
        self.trace.append(("exit", kind and kind.__name__))


def function_from(text: str, name: str) -> Any:
    """The function ``f`` of a text, in a module of its own; None where Python refuses the text."""
    try:
        code = compile(text, name, "exec")
    except SyntaxError:
        return None
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {
        "note": note, "helper": helper, "Guard": Guard, "suppress": suppress, "__name__": "drawn",
    }  # fmt: skip
    exec(code, space)
    return space["f"]


def shown(value: Any) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def outcome(function: Any, a: int, b: int) -> tuple[str, ...]:
    trace: list[Any] = []
    space = function.__globals__
    space.pop("G", None)
    if a > 1:
        space["G"] = 3
    result: tuple[Any, ...]
    try:
        result = ("value", function(a, b, trace))
    except Exception as error:
        result = (type(error).__name__, str(error), getattr(error, "name", None))
    return shown(result), shown(trace), shown(space.get("G", "nothing"))


@pytest.mark.sampled(6)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("group", range(6))
def test_random_functions(group: int) -> None:
    converted = 0
    for seed in range(1000 + 60 * group, 1060 + 60 * group):
        name = f"<drawn {seed}>"
        text = Writer(seed).text()
        function = function_from(text, name)
        if function is None:
            continue
        twin = twin_of(function, PlainRuntime)
        del linecache.cache[name]
        if twin is None:
            assert reason_against(function) is not None, text
            continue
        converted += 1
        for a, b in ((0, 1), (2, 2), (-1, 3), (5, 0)):
            assert outcome(function, a, b) == outcome(twin, a, b), text
    assert converted > 30
