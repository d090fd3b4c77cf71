"""Compiled functions in IPython: each cell may change the globals that they read."""

from __future__ import annotations

import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autojit import jit
from autojit.dispatch import cells
from autojit.errors import StaleValueWarning


class Events:
    def __init__(self) -> None:
        self.before: list[Callable[..., Any]] = []

    def register(self, name: str, call: Callable[..., Any]) -> None:
        assert name == "pre_run_cell"
        self.before.append(call)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], list[str]]]:
    """Run a cell and return its warnings."""
    shell = types.SimpleNamespace(events=Events())
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    module = types.ModuleType("cells_of_a_test")
    monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec("import numpy as np; from autojit import grad, jit; W = np.ones(3)", vars(module))

    def cell(text: str) -> list[str]:
        for call in shell.events.before:
            call(None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            exec(compile(text, f"/tmp/ipykernel_1/{id(text)}.py", "exec"), vars(module))
        assert all(each.category is StaleValueWarning for each in caught)
        return [str(each.message) for each in caught]

    cell.__dict__.update(space=vars(module), shell=shell)
    yield cell
    cells._known.clear()


LOSS = "def loss(w): return np.sum(w**2) * rate"


def test_what_has_changed_is_told_once_however_often_a_function_was_called(run: Any) -> None:
    assert not run(f"rate = 0.5\n{LOSS}\nf = jit(grad(loss))\nf(W); f(W); f(W)")
    native = run.space["f"]._fast
    assert native is not None
    assert not run("f(W); f(W)")
    assert run.space["f"]._fast is native  # again, after one look
    (words,) = run("rate = 2.0\ny = f(W); f(W)")
    assert "`rate` (0.5, now 2.0) has changed" in words
    np.testing.assert_array_equal(run.space["y"], np.ones(3))
    assert not run("f(W); f(W)")


def test_functions_of_an_earlier_shell_do_not_hide_a_new_one(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = types.SimpleNamespace(events=Events())
    with monkeypatch.context() as patched:
        ipython = types.SimpleNamespace(get_ipython=lambda: earlier)
        patched.setitem(sys.modules, "IPython", ipython)
        held = [jit(np.sin), jit(np.cos)]
    assert len(earlier.events.before) == 1
    run("f = jit(np.sin); g = jit(np.cos)")
    assert run.__dict__["shell"].events.before == earlier.events.before
    assert len(held) == 2


def test_a_function_that_is_defined_anew(run: Any) -> None:
    assert not run(f"rate = 0.5\n{LOSS}\nf = jit(grad(loss))\nf(W); f(W); f(W)")
    assert not run(f"\n\n{LOSS}\nf(W)")  # the same, further down
    (words,) = run("def loss(w): return np.sum(w**3)\nf(W); f(W)")
    assert "`loss` has been redefined" in words
    assert not run("f(W)")
    fix = re.findall(r"^    (.*)", words, re.MULTILINE)
    assert fix == ["f = jit(grad(loss))"]
    assert not run(f"{fix[0]}\ny = f(W)")
    np.testing.assert_array_equal(run.space["y"], [3.0, 3.0, 3.0])


def test_code_that_is_replaced_in_place_and_compiled_functions_that_are_loaded_anew(
    run: Any,
) -> None:
    """IPython's autoreload replaces code in place and reloads functions this way."""
    run("def loss(w): return np.sum(w)\nf = jit(loss)\n@jit\ndef g(w): return 2 * w")
    run("old = g; f(W); f(W); g(W); g(W)")
    run("def other(w): return np.sum(w) * 5\nloss.__code__ = other.__code__.replace()")
    assert "f = jit(other)" not in (words := run("f(W)"))[0]
    assert "f = jit(loss)" in words[0]
    (words,) = run("@jit\ndef g(w): return 3 * w\nold(W); old(W)")
    assert words.endswith("\n    from cells_of_a_test import g")


def test_outside_of_ipython_no_function_looks_at_itself() -> None:
    f = jit(lambda x: x + 1.0)
    f(1.0)
    assert f._fast is not None
    assert f not in cells._known
