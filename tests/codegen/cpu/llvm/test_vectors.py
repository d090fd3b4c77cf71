"""Which loops are vector code: the stage that shows this, and loops that must be vectorised."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from autojit import grad, jit, scan, while_loop
from autojit.codegen.loop_ir.machine import has_masks
from tests.codegen.cpu.host.test_stopwatch import rosenbrock

X = np.linspace(0.1, 0.9, 1000)
ELEMENTWISE = [
    np.exp, np.exp2, np.expm1, np.log, np.log1p, np.log2, np.log10, np.sin, np.cos, np.tan,
    np.arcsin, np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arctanh, np.sqrt, np.cbrt,
    np.abs, scipy.special.erf, scipy.special.expit, scipy.special.ndtr,
]  # fmt: skip


def lanes(function: Callable[..., Any], *arguments: Any) -> list[int]:
    """The number of elements per iteration of each innermost loop, as the stage shows it."""
    text = jit(function).lower(*arguments).text("vectors")
    found = re.findall(r"# (?:vectors of (\d+)|(scalar code))$", text, re.MULTILINE)
    return [int(n or 1) for n, _ in found]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("function", ELEMENTWISE, ids=lambda f: f.__name__)
def test_mathematics_is_vector_code(function: Any, dtype: Any) -> None:
    """Gradients too; no element causes a call of the C library."""
    x = X.astype(dtype)
    found = lanes(grad(lambda x: np.sum(function(x))), x)
    assert found
    assert min(found) > 1
    assert "@" + function.__name__ not in jit(function).lower(x).text("llvm")


def test_reductions_and_stencils() -> None:
    assert min(lanes(grad(rosenbrock), X)) > 1
    assert min(lanes(lambda x: np.max(x * x), X)) > 1
    assert min(lanes(lambda a: np.sum(np.exp(a), axis=0), X.reshape(20, 50))) > 1
    assert min(lanes(lambda x: np.where(x > 0.5, np.sin(x), x), X)) > 1


def test_loops_that_push_to_tapes_or_swap_arrays() -> None:
    """LLVM is told that tapes and swapped arrays have separate memory."""

    def damped(x: Any, y: Any) -> Any:
        def step(state: Any) -> Any:
            a, b = state
            return a - 0.1 * np.sin(b) / (1.0 + np.cos(a) ** 2), np.tanh(a) + b * np.exp(-a * a)

        return while_loop(lambda s: np.max(s[0]) > 0.2, step, (x, y))

    def loss(x: Any, y: Any) -> Any:
        a, b = damped(x, y)
        return np.sum(a * b)

    assert min(lanes(damped, X, X)) > 1
    assert min(lanes(grad(loss, (0, 1)), X, X)) > 1


def test_steps_that_wait_for_each_other_are_scalar_code() -> None:
    def logistic_map(x: Any) -> Any:
        return scan(lambda x, _: (3.9 * x * (1 - x), None), x, length=1000)[0]

    assert lanes(logistic_map, 0.3) == [1]


def test_only_innermost_loops_are_told_of() -> None:
    text = jit(lambda a: np.sum(np.exp(a), axis=1)).lower(X.reshape(20, 50)).text("vectors")
    outer, inner = re.findall(r"^ *for .*$", text, re.MULTILINE)[:2]
    assert "0..20" in outer
    assert "vectors" not in outer
    assert "# vectors of " in inner


def test_stencils_of_several_stages_and_their_gradients() -> None:
    """No loop stays scalar because LLVM carries neighbours from one iteration to the next."""

    def chain(x: Any, start: Any) -> Any:
        def slope(y: Any) -> Any:
            return x * np.concatenate([np.ones(1), y[:-1]])

        def step(y: Any, _: Any) -> Any:
            k1 = slope(y)
            k2 = slope(y + 0.01 * k1)
            k3 = slope(y + 0.01 * k2)
            return y + 0.003 * (k1 + k2 + k3 + slope(y + 0.02 * k3)), None

        return np.sum(scan(step, start, length=10)[0])

    assert min(lanes(grad(chain), X, X)) > 1


def test_a_joined_array_is_written_once_and_seen_in_another_shape() -> None:
    """It is not a selection per element, and it is not copied for each product that reads it."""

    def columns(x: Any, w: Any) -> Any:
        parts = [x[:, i : i + 30] for i in range(3)]
        return np.sum((w @ np.reshape(np.stack(parts, axis=1), (60, 30))) ** 2)

    x, w = np.ones((20, 32)), np.ones((40, 60))
    text = jit(grad(columns, (0, 1))).lower(x, w).text("loops")
    assert "//" not in text
    assert text.count(", tiles") == 3
    assert text.count("[1800]") == 2  # the array, and its cotangent


@pytest.mark.sampled(2)
@pytest.mark.skipif(not has_masks(), reason="this processor's vectors have no masks")
@pytest.mark.parametrize("extent", [1, 7, 8, 9, 31, 1003])
def test_the_rest_of_a_dear_loop_is_a_vector_under_a_mask(extent: int) -> None:
    x = np.linspace(-2.03, 3.01, extent)
    x[-1] = np.nan

    def f(x: Any) -> Any:
        return np.exp(x) * scipy.special.erf(x) + np.log(np.abs(x))

    np.testing.assert_allclose(jit(f)(x), f(x), rtol=1e-13)
    llvm = jit(f).lower(np.zeros(1003)).text("llvm")
    assert llvm.count("llvm.masked.store") > 0
    # Sums keep a loop for the remainder.
    assert "llvm.masked" not in jit(lambda x: np.sum(np.exp(x))).lower(np.zeros(1003)).text("llvm")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("reduce", [np.max, np.min])
def test_extrema_are_vector_code_and_keep_nan(reduce: Any, dtype: Any) -> None:
    """Numbers and NaN are reduced separately, over all elements and over rows."""
    assert min(lanes(lambda x: reduce(x * 2.0), X.astype(dtype))) > 1
    assert min(lanes(lambda a: reduce(a * 2.0, axis=1), X.astype(dtype).reshape(10, 100))) > 1
    rng = np.random.default_rng(0)
    for shape in ((1,), (7,), (1000,), (50_000,), (13, 40), (200, 33)):
        plain = rng.standard_normal(shape).astype(dtype)
        for odd in (None, np.nan, np.inf, -np.inf):
            x = plain.copy()
            if odd is not None:
                x.flat[rng.integers(x.size)] = odd
            for values in (x, np.full_like(x, -np.inf), np.full_like(x, np.inf)):
                for axis in (None, *range(x.ndim)):
                    found = jit(lambda a, axis: reduce(a * 2.0, axis=axis), static_argnums=1)
                    np.testing.assert_array_equal(
                        found(values, axis), reduce(values * 2.0, axis=axis)
                    )
