"""Errors of the user's that compiled code raises: `ensured`, in every place that a program has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import autojit
from autojit.codegen.loop_ir.errors import ENSURED, FIRST, bits
from autojit.codegen.loop_text.interpreter import interpret_loops as run_loops
from autojit.codegen.loop_text.parse import parse_loops
from autojit.codegen.lowering.lower import lower
from autojit.codegen.scheduling.traits import CPU
from autojit.errors import TracingError, UnsupportedTargetError
from autojit.functions.checks import ensured
from autojit.ir.ops.checks import is_failure
from autojit.ir.passes.pipeline import optimize

ERRORS = [
    ValueError("x is 'not' positive: \u00e9\u4e2d, 50%"), IndexError("a\nb"), AssertionError(),
    ZeroDivisionError("n"), RuntimeError("r"), OverflowError("o"), ArithmeticError("a"),
    KeyError("k"), TypeError("t"), NotImplementedError("i"), UnboundLocalError("u"),
    StopIteration("s"), OSError("e"),
]  # fmt: skip


def positive(x: Any, error: Exception = ERRORS[0], **settings: bool) -> Any:
    return ensured(x, np.real(x) > 0, error, **settings)


def failed(f: Callable[..., Any], *arguments: Any) -> Exception:
    with pytest.raises(Exception) as caught:  # noqa: PT011
        f(*arguments)
    return caught.value


def same(got: Exception, want: Exception) -> bool:
    return type(got) is type(want) and got.args == want.args


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_every_class(error: Exception) -> None:
    f = autojit.jit(lambda x: 2 * positive(x, error))
    assert f(1.5) == 3.0
    assert same(failed(f, -1.0), error)
    with autojit.disable_jit():
        assert same(failed(f, -1.0), error)


@pytest.mark.parametrize("value", [1, 1.0, np.float32(1), True, 1 + 1j, np.uint8(3)])
def test_every_dtype(value: Any) -> None:
    f = autojit.jit(positive)
    result = f(value)
    assert result == value
    assert np.asarray(result).dtype == np.asarray(value).dtype
    assert same(failed(f, value * type(value)(0)), ERRORS[0])


def test_the_line_is_named() -> None:
    error = failed(autojit.jit(positive), -1.0)
    assert "test_checks.py" in error.__notes__[0]
    assert "ensured(x, np.real(x) > 0" in error.__notes__[0]


def test_the_line_with_that_message_is_named() -> None:
    def f(x: Any) -> Any:
        a = ensured(x, x > 0, ValueError("not positive"))
        return autojit.while_loop(
            lambda c: c < 9, lambda c: c + ensured(a, a < 5, ValueError("too large")), a
        )

    note, _ = failed(autojit.jit(f), 7.0).__notes__
    assert "too large" in note
    note, _ = failed(autojit.jit(f), -1.0).__notes__
    assert "not positive" in note


def test_the_first_failure_counts() -> None:
    """Of two checks of which one depends on the other, the first failure is raised."""

    def f(x: Any) -> Any:
        x = ensured(x, x > 0, RuntimeError("first"))
        x = ensured(x, x > 1, IndexError("second"))
        return np.arange(3.0)[x.astype(int)]

    compiled = autojit.jit(f)
    got = [failed(compiled, np.float64(v)) for v in (-1.0, 0.5, 7.0)]
    assert [str(e) for e in got] == [
        "first",
        "second",
        "index 7 is out of bounds for axis 0 with size 3",
    ]


def test_many_errors() -> None:
    def f(x: Any, count: int) -> Any:
        for i in range(count):
            x = ensured(x, x > i, ValueError(f"{i}"))
        return x

    many = autojit.jit(lambda x: f(x, 300))
    for v in (0.5, 33.5, 45.5, 46.5, 255.5, 298.5):
        assert str(failed(many, v)) == str(int(v + 0.5))
    assert many(301.0) == 301.0
    with pytest.raises(
        UnsupportedTargetError, match=r"at most 46 different errors .* this one has 300"
    ):
        autojit.source(lambda x: f(x, 300), 301.0, target="c")


def with_messages(x: Any) -> Any:
    s = 0.0
    for i in range(len(x)):
        if x[i] < -9:
            raise ValueError(f"low {i} {x[i]}")
        s += x[i] ** 2
    return s


def low_element(x: Any) -> Any:
    for v in x:
        if v < -9:
            raise ValueError("low")
    return np.sum(x**2)


def low_place(x: Any) -> Any:
    for i in range(8):
        for j in range(8):
            if x[(8 * i + j) % len(x)] < -9:
                raise ValueError(i, j)
    return np.sum(x**2)


@pytest.mark.parametrize("n", [20, 47, 64, 1000])
@pytest.mark.parametrize("f", [with_messages, low_element, low_place])
def test_loops_that_check_their_elements(f: Any, n: int) -> None:
    x = np.random.default_rng(0).normal(size=n)
    compiled = autojit.jit(f)
    np.testing.assert_allclose(compiled(x), f(x), rtol=1e-12)
    np.testing.assert_allclose(autojit.jit(autojit.grad(f))(x), 2 * x, rtol=1e-12)
    x[n // 2 % 64] = -10
    assert same(failed(compiled, x), failed(f, x))
    if n == 1000 and f is not low_place:
        assert compiled.cache_info().loops == 1


def test_elements_and_threads() -> None:
    x = np.ones(200_000)
    f = autojit.jit(lambda x: np.sum(np.sin(positive(x))))
    np.testing.assert_allclose(f(x), 200_000 * np.sin(1))
    x[177_777] = 0
    assert same(failed(f, x), ERRORS[0])


# -- derivatives --------------------------------------------------------------


def test_derivatives_pass_and_are_checked() -> None:
    f = autojit.jit(autojit.grad(lambda x: 3 * positive(x)))
    assert f(2.0) == 3.0
    assert same(failed(f, -2.0), ERRORS[0])
    assert autojit.jit(autojit.grad(autojit.grad(lambda x: positive(x) ** 3)))(2.0) == 12.0
    assert autojit.jvp(positive, (2.0,), (5.0,)) == (2.0, 5.0)


def test_derivatives_that_pass_unchecked() -> None:
    f = autojit.jit(autojit.grad(lambda x: 3 * positive(x, derivatives=False)))
    assert f(2.0) == f(-2.0) == 3.0


# -- branches, loops, batches ---------------------------------------------------


def loop(x: Any) -> Any:
    return autojit.fori_loop(0, 3, lambda i, c: c * positive(x + 1 - i), 1.0)


def test_in_loops() -> None:
    assert autojit.jit(loop)(5.0) == 6 * 5 * 4
    assert autojit.jit(autojit.grad(loop))(5.0) == 5 * 4 + 6 * 4 + 6 * 5
    for f in (loop, autojit.grad(loop), lambda x: autojit.vmap(loop)(np.stack([5.0, x]))):
        assert same(failed(autojit.jit(f), 0.5), ERRORS[0])


def test_a_step_that_is_not_made() -> None:
    def f(x: Any, n: Any) -> Any:
        return autojit.while_loop(lambda c: c < n, lambda c: c + positive(x), 0.0)

    assert autojit.jit(f)(-1.0, 0.0) == 0.0
    assert autojit.jit(f)(1.0, 3.0) == 3.0
    assert same(failed(autojit.jit(f), -1.0, 3.0), ERRORS[0])


def branch(x: Any) -> Any:
    return autojit.cond(x > -1, lambda x: positive(x) ** 2, lambda x: -x, x)


def test_a_branch_that_is_not_taken() -> None:
    x = np.array([2.0, -3.0])
    assert [autojit.jit(branch)(v) for v in x] == [4.0, 3.0]
    np.testing.assert_array_equal(autojit.jit(autojit.vmap(branch))(x), [4.0, 3.0])
    gradients = autojit.jit(autojit.vmap(autojit.grad(branch)))
    np.testing.assert_array_equal(gradients(x), [4.0, -1.0])
    assert same(failed(autojit.jit(autojit.vmap(branch)), np.append(x, -0.5)), ERRORS[0])
    assert same(failed(gradients, np.append(x, -0.5)), ERRORS[0])


# -- texts, keys, targets -------------------------------------------------------


def test_programs_as_text() -> None:
    program = autojit.trace(branch)(1.0)
    assert autojit.parse(str(program)) == program
    lowered = lower(optimize(autojit.trace(lambda x: positive(x) * 2)(1.0)), CPU)
    again = parse_loops(str(lowered))
    assert str(again) == str(lowered)
    (result,) = run_loops(again, [np.array([4.0])])
    assert result == 8.0
    assert same(failed(run_loops, again, [np.array([-4.0])]), ERRORS[0])


def test_a_text_with_an_unknown_error() -> None:
    text = str(lower(optimize(autojit.trace(lambda x: positive(x) * 2)(1.0)), CPU))
    with pytest.raises(ValueError, match=r"builtin exception, .*got ensure_Nothing"):
        parse_loops(text.replace("ensure_ValueError", "ensure_Nothing"))


def test_programs_differ_by_the_message() -> None:
    def program(words: str) -> Any:
        return autojit.trace(lambda x: positive(x, ValueError(words)))(1.0)

    assert program("a") == program("a") != program("b")
    assert hash(program("a")) != hash(program("b"))
    first, second = (autojit.jit(lambda x, e=e: positive(x, e)) for e in (ERRORS[0], ERRORS[2]))
    assert same(failed(first, -1.0), ERRORS[0])
    assert same(failed(second, -1.0), ERRORS[2])


def test_on_a_gpu() -> None:
    from autojit.codegen.cuda.executor.run import execute
    from autojit.codegen.cuda.mapping.program import device_program
    from autojit.codegen.scheduling.traits import CUDA

    device = device_program(lower(optimize(autojit.trace(positive)(np.ones(9))), CUDA))
    assert len(execute(device, [np.ones(9)])) == 1
    with pytest.raises(ValueError, match=ERRORS[0].args[0]) as raised:
        execute(device, [-np.ones(9)])
    assert same(raised.value, ERRORS[0])


def test_bits_of_words() -> None:
    found = bits(["sin", "ensure_ValueError: a", "ensure_overflow", "ensure_ValueError: a"])
    assert found["ensure_ValueError: a"] == 1 << FIRST
    assert len(found) == len(ENSURED) + 1


# -- what cannot be raised --------------------------------------------------------


class OwnError(ValueError):
    pass


@pytest.mark.parametrize(
    "error",
    [OwnError("a"), ValueError("a", 3), ValueError(3), KeyboardInterrupt(), ValueError("a\0b"),
     ValueError("\ud800")],
    ids=["own class", "two arguments", "number", "no Exception", "zero", "surrogate"],
)  # fmt: skip
def test_refused(error: BaseException) -> None:
    words = r"compiled code cannot raise .*\n?.*Write raise ValueError\("
    with pytest.raises(TracingError, match=words):
        autojit.jit(lambda x: ensured(x, x > 0, error))(1.0)


def test_what_is_no_failure() -> None:
    assert not any(map(is_failure, ["nothing", ("int", "a"), ("UnicodeDecodeError", "a"), 3]))
    assert is_failure(("UnicodeDecodeError", "a")) is False
    assert is_failure(("FileNotFoundError", "a"))


def test_a_handler_around_it(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        try:
            return positive(x, ZeroDivisionError("never"))
        except ZeroDivisionError:
            return x

    assert [autojit.jit(f)(x) for x in (1.0, -1.0)] == [1.0, -1.0]
