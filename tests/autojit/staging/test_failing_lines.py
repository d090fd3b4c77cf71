"""The user's line of an error that compiled code raises."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import disable_jit, fori_loop, grad, jit, scan, vmap, while_loop
from autojit.staging import execute, failing_lines
from tests.autojit.staging.asserting import asserted


def line_of(error: BaseException) -> str:
    """The source line that the note of an error shows."""
    note = error.__notes__[0]
    assert f'File "{__file__}"' in note
    return str(note.splitlines()[-1].strip())


def steps(n: Any) -> Any:
    m = n + 1
    k = m * m
    return k // (n - 5)


def with_tree() -> Callable[[int], Any]:
    f = jit(lambda p: steps(p["n"]))
    return lambda n: f({"n": n})


def with_static() -> Callable[[int], Any]:
    f = jit(lambda kind, n: steps(n), static_argnums=0)
    return lambda n: f("kind", n)


def without_jit() -> Callable[[int], Any]:
    """Return the steps, run as ``grad`` and the other transformations run their programs."""
    return lambda n: execute.apply(autojit.trace(steps)(n), [n])


def called_again() -> Callable[[int], Any]:
    """Return the steps as a program that has been called before."""
    run = execute.caller(autojit.trace(steps)(7))
    run([np.asarray(7)])
    return lambda n: run([np.asarray(n)])


WAYS: dict[str, Callable[[], Callable[[int], Any]]] = {
    "native": lambda: jit(steps),
    "tree": with_tree,
    "static": with_static,
    "called again": called_again,
    "interpreted": lambda: jit(steps),
    "without jit": without_jit,
}


@pytest.mark.parametrize(
    ("n", "error", "line"),
    [
        (2**63 - 1, OverflowError, "m = n + 1"),
        (2**62, OverflowError, "k = m * m"),
        (5, ZeroDivisionError, "return k // (n - 5)"),
    ],
)
@pytest.mark.parametrize("way", WAYS)
def test_errors_name_the_line(n: int, error: type[Exception], line: str, way: str) -> None:
    call = WAYS[way]()
    with disable_jit() if way == "interpreted" else nullcontext():
        call(1)
        for _ in range(2):
            with pytest.raises(error) as caught:
                call(n)
            assert line_of(caught.value) == line


def test_the_line_of_a_step_of_a_loop() -> None:
    def f(n: Any) -> Any:
        return fori_loop(0, 70, lambda i, c: c * 2, n)

    with pytest.raises(OverflowError) as caught:
        jit(f)(1)
    assert line_of(caught.value) == "return fori_loop(0, 70, lambda i, c: c * 2, n)"


def two_sums(n: Any) -> Any:
    def step(i: Any, c: Any) -> Any:
        c = c * 2
        return c + n

    return fori_loop(0, 70, step, n)


def test_one_of_several_lines_of_a_loop() -> None:
    with pytest.raises(OverflowError) as caught:
        jit(two_sums)(1)
    assert line_of(caught.value) == "c = c * 2"


@pytest.mark.parametrize(("work", "call"), [(10_000, 1000), (10, 0)])
def test_several_lines_of_a_loop(work: int, call: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """If finding the failing line would take long, the search is skipped."""
    monkeypatch.setattr(failing_lines, "MOST_WORK", work)
    monkeypatch.setattr(failing_lines, "CALL", call)
    with pytest.raises(OverflowError) as caught:
        jit(two_sums)(1)
    note = caught.value.__notes__[0]
    assert note.startswith("It comes from one of these lines:")
    assert "c = c * 2" in note
    assert "return c + n" in note


def test_the_line_of_a_matrix_without_factors() -> None:
    def f(x: Any) -> Any:
        return np.linalg.cholesky(x)

    with pytest.raises(
        np.linalg.LinAlgError, match=r"(?m)^Matrix is not positive definite$"
    ) as caught:
        jit(f)(-np.eye(2))
    assert line_of(caught.value) == "return np.linalg.cholesky(x)"


# -- every error, in every way that a function is run --------------------------------------

TABLE = np.arange(3.0)


def taken(x: Any) -> Any:
    i = (x * 7).astype(int)
    return x * np.take(TABLE, i)  # fails


def picked(x: Any) -> Any:
    i = (x * 7).astype(int)
    return (TABLE * x)[i]  # fails


def of_a_list(x: Any) -> Any:
    return [x, 2 * x][int(x * 7)]  # fails


def assigned(x: Any) -> Any:
    y = np.zeros(3)
    y[int(x * 7)] = x  # fails
    return np.sum(y)


def inverse(x: Any) -> Any:
    return np.sum(np.linalg.inv(x * np.ones((2, 2))))  # fails


def factor(x: Any) -> Any:
    return np.linalg.cholesky(-x * np.eye(2))[0, 0]  # fails


def raised(x: Any) -> Any:
    if x > 0:
        raise KeyError("x is positive")  # fails
    return x * x


def unbound(x: Any) -> Any:
    if x < 0:
        y = x
    return y * x  # fails


def divided(x: Any) -> Any:
    return x * (5 // (int(x) - int(x)))  # fails


def shifted(x: Any) -> Any:
    return x * (1 << int(-x))  # fails


def whole(x: Any) -> Any:
    return x * int(x * np.inf)  # fails


def stepped(x: Any) -> Any:
    total = x
    for i in range(0, 5, int(x) - int(x)):  # fails
        total = total + i
    return total


def powers(x: Any) -> Any:
    n = np.array([2, 3]) * np.array(x).astype(int)
    return x * np.sum(n**-n)  # fails


def called(x: Any) -> Any:
    return np.sin(autojit.pure_callback(refuses, "f64[]", x))  # fails


def refuses(x: Any) -> Any:
    raise PermissionError(f"no {float(x)}")


FAILS: dict[Callable[..., Any], type[Exception]] = {
    taken: IndexError, picked: IndexError, of_a_list: IndexError, assigned: IndexError,
    inverse: np.linalg.LinAlgError, factor: np.linalg.LinAlgError, asserted: AssertionError,
    raised: KeyError, unbound: UnboundLocalError, divided: ZeroDivisionError, shifted: ValueError,
    whole: OverflowError, powers: ValueError, stepped: ValueError, called: PermissionError,
}  # fmt: skip


def in_a_thread(f: Callable[..., Any], x: float) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(f, x).result()


def of_constants(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that can be differentiated, though a callback in it has no derivative."""
    return (lambda x: f(autojit.stop_gradient(x)) * x) if f is called else f


RUN: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "jit": lambda f: jit(f)(1.0),
    "gradient": lambda f: jit(grad(of_constants(f)))(1.0),
    "thread": lambda f: in_a_thread(jit(f), 1.0),
    "inner jit": lambda f: jit(lambda x: jit(f)(x) + 1.0)(1.0),
    "checkpoint": lambda f: jit(lambda x: autojit.checkpoint(f)(x))(1.0),
    "branch": lambda f: jit(lambda x: autojit.cond(x > 0, lambda: 1.0 * f(x), lambda: 0.0))(1.0),
    "batch of scans": lambda f: jit(
        vmap(lambda x: scan(lambda c, _: (c + f(x), None), 0.0, length=2)[0])
    )(np.ones(2)),
    "batch": lambda f: jit(vmap(f))(np.ones(2)),
    "scan": lambda f: jit(lambda x: scan(lambda c, _: (c + f(x), None), 0.0, length=2)[0])(1.0),
    "while": lambda f: jit(
        lambda x: while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 1, s[1] + f(x)), (0, 0.0))
    )(1.0),
}


@pytest.mark.sampled(9)
@pytest.mark.parametrize("way", RUN)
@pytest.mark.parametrize("f", FAILS)
def test_every_error_names_its_line(f: Callable[..., Any], way: str) -> None:
    with pytest.raises(FAILS[f]) as caught:
        RUN[way](f)
    notes = "\n".join(caught.value.__notes__)
    assert f"in {f.__name__}\n" in notes
    assert "# fails" in notes


def test_the_index_is_named() -> None:
    def f(x: Any, i: Any) -> Any:
        return x[i] * x[0]

    for index in (5, -7):
        with pytest.raises(IndexError) as caught:
            jit(f)(TABLE, index)
        assert str(caught.value) == f"index {index} is out of bounds for axis 0 with size 3"


def test_a_caller_is_apply() -> None:
    program = autojit.trace(lambda a: np.linalg.inv(a) * 2.0)(np.eye(2))
    run = execute.caller(program)
    for matrix in (np.eye(2), 4 * np.eye(2), np.asfortranarray([[1.0, 2.0], [0.0, 1.0]])):
        np.testing.assert_array_equal(run([matrix]), execute.apply(program, [matrix]))
    with disable_jit():
        np.testing.assert_array_equal(run([np.eye(2)]), [2 * np.eye(2)])
