"""The user's line of an error that compiled code raises."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import disable_jit, fori_loop, jit
from autojit.staging import execute


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
    """As ``grad`` and the other transformations run what they make."""
    return lambda n: execute.apply(autojit.trace(steps)(n), [n])


WAYS: dict[str, Callable[[], Callable[[int], Any]]] = {
    "native": lambda: jit(steps),
    "tree": with_tree,
    "static": with_static,
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


def test_several_lines_of_a_loop() -> None:
    """Which one failed is not looked for, as it could take long."""

    def f(n: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            c = c * 2
            return c + n

        return fori_loop(0, 70, step, n)

    with pytest.raises(OverflowError) as caught:
        jit(f)(1)
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
