"""Exceptions of the user's classes leave compiled code as they are."""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, parse, trace, value_and_grad, vmap
from autojit.capture.blocks.messages import Own


class NotConverged(ArithmeticError):
    def __init__(self, steps, residual):
        super().__init__(f"residual {residual:.3e} after {steps} steps")
        self.steps, self.residual = steps, residual


class Rejected(Exception):
    def __str__(self) -> str:
        return f"rejected: {self.args}"


class Missing(KeyError):
    pass


class Kept(ValueError):
    def __init__(self, x):
        words = f"value {x}"
        self.words = words
        super().__init__(words)


class Outer(RuntimeError):
    pass


class Inner(Outer):
    pass


def root(x, n):
    y = x
    for _ in range(n):
        y = 0.5 * (y + x / y)
        if abs(y * y - x) < 1e-3:
            return y
    raise NotConverged(n, y * y - x)


def with_values(x, n):
    if x > 1:
        raise Rejected("large", x, [x * n, n], (n, None))
    return x * x


def with_nothing(x, n):
    if x > 1:
        raise Rejected
    return x * x


def with_a_key(x, n):
    if x > 1:
        raise Missing(n)
    return x * x


def kept_words(x, n):
    if x > 1:
        raise Kept(x + n)
    return x * x


def one_of_two(x, n):
    if x > 3:
        raise Inner("large")
    if x > 1:
        raise Outer("large")
    return x * x


def handled_by_base(x, n):
    try:
        if x > 3:
            raise Inner("large")
        if x > 1:
            raise NotConverged(n, x)
    except Outer:
        x = -x
    return x * x


FUNCTIONS = [
    root, with_values, with_nothing, with_a_key, kept_words, one_of_two, handled_by_base,
]  # fmt: skip


def raised(f: Callable[..., Any], *args: Any) -> Any:
    """The result of a call, or the class, text, arguments and attributes of its exception."""
    try:
        return float(f(*args))
    except Exception as error:
        known = {k: v for k, v in vars(error).items() if k != "__notes__"}
        return type(error), str(error), error.args, known


@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("x", [0.5, 2.0, 5.0])
def test_it_is_raised_as_it_is(f: Callable[..., Any], x: float) -> None:
    for n in (1, 2, 30):
        wanted = raised(f, x, n)
        assert raised(jit(f), x, n) == wanted
        assert raised(lambda x, n, f=f: jit(value_and_grad(f))(x, n)[0], x, n) == wanted
        if type(wanted) is tuple:
            assert raised(grad(f), x, n)[:3] == wanted[:3]
            assert raised(jit(grad(f)), x, n) == wanted


def test_every_call_raises_it_anew() -> None:
    compiled = jit(root)
    found = []
    for x in (2.0, 1e6, 1e8):
        with pytest.raises(NotConverged) as caught:
            compiled(x, 2)
        found.append(caught.value.residual)
        assert caught.value.__notes__[0].startswith("  File")
        assert caught.value.__cause__ is None
    assert len(set(found)) == 3
    assert float(compiled(1.0, 2)) == 1.0


def test_the_traceback_shows_the_users_line() -> None:
    with pytest.raises(Rejected) as caught:
        jit(with_values)(2.0, 3)
    shown = "".join(traceback.format_exception(caught.value))
    assert "raise Rejected(" in shown
    assert "autojit/dispatch" not in shown


def test_in_a_batch_it_has_the_values_of_the_first_row_that_fails() -> None:
    with pytest.raises(Rejected, match=r"2\.0"):
        jit(vmap(with_values, in_axes=(0, None)))(np.array([0.5, 2.0, 3.0]), 3)


def test_a_class_by_its_name_survives_pickle() -> None:
    compiled = jit(root)
    raised(compiled, 1e6, 2)
    again = pickle.loads(pickle.dumps(compiled))
    assert raised(again, 1e6, 2) == raised(root, 1e6, 2)


def test_a_class_without_a_global_name_is_its_base_elsewhere() -> None:
    class Local(RuntimeError):
        pass

    def f(x):
        if x > 1:
            raise Local("large")
        return x

    compiled = jit(f)
    assert raised(compiled, 2.0)[0] is Local
    again = pickle.loads(pickle.dumps(compiled))
    assert raised(again, 2.0)[:2] == (RuntimeError, "Local: large")


def test_a_program_with_such_a_class_reads_back() -> None:
    program = trace(with_values)(2.0, 3)
    assert "'Rejected'" in str(program)
    assert str(parse(str(program))) == str(program)


def test_classes_with_one_name_differ() -> None:
    first, second = type("E", (ValueError,), {}), type("E", (ValueError,), {})
    assert Own.of(first, "E") == Own.of(first, "E") != Own.of(second, "E")
    assert Own.of(first, "E") != "E"
