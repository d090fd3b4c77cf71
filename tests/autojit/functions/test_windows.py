"""Windows that slide, and what is made of them: convolutions and moving averages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autojit
from autojit import grad, jit, trace, vmap
from autojit.errors import AutojitError
from autojit.ir.passes import optimize
from autojit.testing import check_grads

RNG = np.random.default_rng(0)
WINDOWS = np.lib.stride_tricks.sliding_window_view
SIZES = [(5, 3), (3, 5), (1, 1), (4, 4), (7, 2), (2, 7), (1, 6), (30, 11), (64, 64)]


@pytest.mark.sampled(56)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("f", [np.convolve, np.correlate])
def test_convolutions(f: Callable[..., Any], sizes: tuple[int, int], mode: Any) -> None:
    a, v = (RNG.normal(size=n) for n in sizes)
    check_grads(lambda a, v: f(a, v, mode), (a, v), order=2)
    for cast in (lambda x: x, lambda x: x.astype(np.float32), lambda x: (9 * x).astype(int),
                 lambda x: x + 1j * x[::-1] ** 2):  # fmt: skip
        b, w = cast(a), cast(v)
        expected = f(b, w, mode)
        got = jit(lambda b, w: f(b, w, mode))(b, w)
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        rtol = 1e-5 if expected.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=1e2 * rtol)


def test_a_gradient_of_a_convolution_is_one() -> None:
    """The gradient has no array of windows or indices, and no test of bounds."""
    program = optimize(trace(grad(lambda a, v: np.sum(np.convolve(a, v) ** 2), argnums=(0, 1)))(
        RNG.normal(size=100), RNG.normal(size=9)
    ))  # fmt: skip
    kinds = {op.kind.name for op in program.ops}
    assert not kinds & {"shear", "gather", "scatter_add"}
    assert not program.captured


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("shape", "axis"),
    [(3, 1), ((2, 3), None), ((2, 3), (0, 1)), ((2, 2), (1, 1)), (6, 0), (1, 0), ((2, 3), (-1, 0))],
)
def test_sliding_windows(shape: Any, axis: Any) -> None:
    x = RNG.normal(size=(6, 7))
    expected = WINDOWS(x, shape, axis=axis)
    weights = RNG.normal(size=expected.shape)
    np.testing.assert_array_equal(jit(lambda x: WINDOWS(x, shape, axis=axis))(x), expected)
    check_grads(lambda x: np.sum(np.sin(WINDOWS(x, shape, axis=axis)) * weights), (x,), order=2)
    several = np.stack([x, 2 * x])
    got = vmap(lambda x: WINDOWS(x, shape, axis=axis))(several)
    np.testing.assert_array_equal(got, np.stack([expected, 2 * expected]))


def test_what_windows_are_of_is_computed_once() -> None:
    """Each element is in several windows."""
    loops = jit(lambda x: np.max(WINDOWS(np.exp(x), 5), axis=1)).lower(RNG.normal(size=50))
    assert loops.text("loops").count(" = exp(") == 1
    x = RNG.normal(size=50)
    f = jit(lambda x: np.max(WINDOWS(np.exp(x), 5), axis=1))
    np.testing.assert_allclose(f(x), np.max(WINDOWS(np.exp(x), 5), axis=1), rtol=1e-14)


def test_moving_averages_and_filters() -> None:
    x, bank = RNG.normal(size=400), RNG.normal(size=(16, 5))

    def f(x: Any, bank: Any) -> Any:
        averages = WINDOWS(x, 7).mean(axis=1)
        return np.sum(np.tanh(WINDOWS(averages, 16) @ bank) ** 2)

    got = jit(grad(f, argnums=(0, 1)))(x, bank)
    with autojit.disable_jit():
        expected = grad(f, argnums=(0, 1))(x, bank)
    for g, e in zip(got, expected, strict=True):
        np.testing.assert_allclose(g, e, rtol=1e-10, atol=1e-12)
    check_grads(f, (x, bank), order=1)


def test_windows_of_an_array_that_changes_are_refused() -> None:
    """NumPy's windows are views, which would show later assignments."""

    def f(x: Any) -> Any:
        x = x * 1.0
        w = WINDOWS(x, 3)
        x[0] = 5.0
        return np.sum(w)

    with pytest.raises(AutojitError, match="memory"):
        jit(f)(np.arange(6.0))


MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "mode": (lambda x: np.convolve(x, x, "both"), "use 'full', 'same' or 'valid'"),
    "empty": (lambda x: np.convolve(x, x[:0]), "both arrays must have elements"),
    "too long": (lambda x: WINDOWS(x, 9), "windows of 9 along axis 0"),
    "axes": (lambda x: WINDOWS(x, (2, 2), axis=0), "a size for each axis"),
    "writeable": (lambda x: WINDOWS(x, 2, writeable=True), "with writeable="),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name: str) -> None:
    function, words = MISTAKES[name]
    with pytest.raises(AutojitError, match=words):
        jit(function)(np.arange(6.0))
