"""Exceptions that show that autojit itself is wrong are not taken for Python's."""

from __future__ import annotations

import pytest

from autojit import jit
from autojit.capture import calls
from autojit.capture.calls.numbers import mathematics
from autojit.session.frames import is_defect
from autojit.tracing.tracer import Tracer


def caught(f, *args):
    try:
        f(*args)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("f", [
    lambda: None.nothing, lambda: int("one"), lambda: [][0], lambda: 1 // 0,
])  # fmt: skip
def test_users_exceptions_are_no_defects(f):
    error = caught(f)
    assert error is not None
    assert not is_defect(error)


def test_exceptions_that_our_code_raises_for_python_are_no_defects():
    from autojit.capture.rewriting.plain import UNBOUND, PlainRuntime

    runtime = PlainRuntime(())
    assert not is_defect(caught(runtime.bound, UNBOUND, "x"))
    assert not is_defect(caught(runtime.assert_, 0, False, None))


@pytest.mark.parametrize(
    "source",
    ["def broken(x):\n    return None.nothing_like_it", "def broken(x):\n    assert x is None",
     "def broken(x):\n    return nothing_like_it"],
)  # fmt: skip
def test_a_defect_is_not_hidden(source, monkeypatch):
    """Not by a loop that can be unrolled instead, nor by a branch that need not be taken."""
    space = {}
    exec(compile(source, mathematics.__file__, "exec"), space)

    def broken(x, container):
        return space["broken"](x) if isinstance(x, Tracer) else x in container

    monkeypatch.setattr(calls, "in_", broken)

    def in_a_loop(x):
        for i in range(100):
            if i in (5, 7):
                x = x + 1.0
        return x

    def in_a_branch(x):
        if x > 0:
            return 1.0 if x in (5.0, 7.0) else x
        return -x

    for f in (in_a_loop, in_a_branch):
        with pytest.raises((AttributeError, AssertionError, NameError)):
            jit(f)(-1.0)
