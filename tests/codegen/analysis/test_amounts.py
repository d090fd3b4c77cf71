"""Operations and bytes of simple programs, counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import autojit
from autojit import jit
from autojit.codegen.analysis.amounts import Traffic, of_step, own_buffers
from autojit.codegen.driver.executable import Executable

X = np.ones(1000)
A = np.ones((300, 400))
B = np.ones((40, 50))


def stencil(x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:-1] = x[:-2] + x[2:] - 2 * x[1:-1]
    return y


def scanned(x: Any) -> Any:
    def step(c: Any, row: Any) -> Any:
        return c * 0.5 + row, c

    return autojit.scan(step, 0.0, x)[1]


def amounts(f: Any, *args: Any) -> tuple[int, int, int]:
    """Flops, bytes read and bytes written of all steps."""
    loops = Executable(jit(f).lower(*args).program).loops
    flops = read = written = 0
    for step, own in zip(loops.steps, own_buffers(loops), strict=True):
        r, w = Traffic(step).bytes(own)
        flops, read, written = flops + of_step(step).flops, read + r, written + w
    return flops, read, written


@pytest.mark.parametrize(
    ("f", "args", "flops", "read", "written"),
    [
        (lambda x: 2 * x + 1, (X,), 2 * 1000, 8000, 8000),
        (lambda x: 2 * x + 1, (X.astype(np.float32),), 2 * 1000, 4000, 4000),
        # an exponential and a sum for each element
        (lambda x: np.sum(np.exp(x)), (X,), 2 * 1000, 8000, 8),
        # every other element
        (lambda x: x[::2] * 3, (X,), 500, 500 * 8, 500 * 8),
        # two sums and a product for each inner element; each element is read once
        (stencil, (X,), 3 * 998, 8000, 8000),
        # each multiply-add is two operations
        (lambda a, b: a @ b, (A, np.ones((400, 50))), 2 * 300 * 400 * 50,
         8 * (300 * 400 + 400 * 50), 8 * 300 * 50),
        # 20 columns of one operand, 20 rows of the other
        (lambda a, b: a[:, :20] @ b[::2], (A, B), 2 * 300 * 20 * 50,
         8 * (300 * 20 + 20 * 50), 8 * 300 * 50),
        # a complex product is four products and two sums, and two more sums to accumulate it
        (lambda a, b: a @ b, (B + 0j, B.T + 0j), 8 * 40 * 50 * 40, 16 * 2 * 40 * 50, 16 * 40 * 40),
        # a quotient of two elements at different places: the array is read once
        (lambda a: a / a.T, (np.ones((50, 50)),), 50 * 50, 8 * 50 * 50, 8 * 50 * 50),
        # moves, and operations on integers, are not floating-point operations
        (lambda x: x[::-1], (X,), 0, 8000, 8000),
        (lambda n: n + 1, (np.arange(10),), 0, 80, 80),
        # a product and a sum per step
        (scanned, (X,), 2 * 1000, 8000, 8000),
    ],
)  # fmt: skip
def test_counted_by_hand(f: Any, args: Any, flops: int, read: int, written: int) -> None:
    assert amounts(f, *args) == (flops, read, written)


def test_tasks_are_no_work() -> None:
    """A loop divided into tasks has the same operations, except for combining the tasks' sums."""
    flops, read, written = amounts(lambda x: np.exp(x) * 2, np.ones(10**6))
    assert (flops, read, written) == (2 * 10**6, 8 * 10**6, 8 * 10**6)


def test_places_that_are_computed_are_bounded() -> None:
    loops = Executable(jit(lambda x, i: x[i]).lower(X, np.arange(3)).program).loops
    (step,) = loops.steps
    traffic = Traffic(step)
    assert traffic.at_most
    assert traffic.bytes() == (8000 + 3 * 8, 3 * 8)


def test_a_loop_of_unknown_length_is_counted_once() -> None:
    def halved(x: Any) -> Any:
        while x > 1:
            x = x * 0.5
        return x

    (step,) = Executable(jit(halved).lower(8.0).program).loops.steps
    found = of_step(step)
    assert found.is_open
    assert found.flops == 2  # a comparison and a product


def test_functions_are_named() -> None:
    (step,) = Executable(jit(lambda x: np.exp(x) + np.sin(x)).lower(X).program).loops.steps
    assert of_step(step).functions == {"exp": 1000, "sin": 1000}


@pytest.mark.parametrize(
    ("f", "args", "flops"),
    [
        (np.linalg.cholesky, (np.eye(20),), sum(k * k for k in range(1, 21))),
        (np.sort, (X,), 0),
        (np.fft.fft, (np.ones(1024) + 0j,), 5 * 1024 * 10),
    ],
)
def test_library_calls(f: Any, args: Any, flops: int) -> None:
    loops = Executable(jit(f).lower(*args).program).loops
    assert max(of_step(step).flops for step in loops.steps) == flops
