"""`solve_ivp` under ``jit`` without times: the ends of its solution are what they are in SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from autojit import grad, jit, vmap
from autojit.errors import UncoveredFunctionError


def spring(k: Any, method: str = "RK45") -> Any:
    return solve_ivp(
        lambda t, y: [y[1], -k * y[0]], (0, 2 * k), [1.0, 0.5], method, rtol=1e-8, atol=1e-10
    )


def both_rows(k: Any) -> Any:
    x, v = spring(k).y
    return x[-1] * v[-1] + x[0]


ENDS: dict[str, Callable[[Any], Any]] = {
    "column": lambda k: np.sum(spring(k).y[:, -1]),
    "number and time": lambda k: spring(k).y[0, -1] + spring(k).t[-1],
    "transposed": lambda k: spring(k).y.T[-1][1] + spring(k).y[..., -1][0],
    "row": lambda k: spring(k).y[-1][-1] * spring(k).y[0, :][-1],
    "both rows": both_rows,
    "first": lambda k: k * spring(k).y[:, 0].sum() + spring(k).t[0],
    "stiff": lambda k: np.where(spring(k, "Radau").success, spring(k, "Radau").y[1, -1], 0.0),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("f", ENDS.values(), ids=ENDS)
def test_ends_and_their_derivatives(f: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(jit(f)(1.3), f(1.3), rtol=1e-6)
    difference = (f(1.3 + 1e-5) - f(1.3 - 1e-5)) / 2e-5
    np.testing.assert_allclose(jit(grad(f))(1.3), difference, rtol=1e-4)


def test_a_batch() -> None:
    ks = np.array([1.0, 1.3])
    result = jit(vmap(ENDS["column"]))(ks)
    np.testing.assert_allclose(result, [ENDS["column"](k) for k in ks], rtol=1e-6)


OTHERS: dict[str, Callable[[Any], Any]] = {
    "all": lambda k: spring(k).y,
    "sum": lambda k: spring(k).y.sum(),
    "mean": lambda k: np.mean(spring(k).y),
    "ufunc": lambda k: np.sin(spring(k).y),
    "second": lambda k: spring(k).y[0, 1],
    "last two": lambda k: spring(k).y[:, -2:],
    "arithmetic": lambda k: 2 * spring(k).t + 1,
    "with a traced number": lambda k: k * spring(k).y,
    "length": lambda k: len(spring(k).t) * k,
    "shape": lambda k: spring(k).y.shape[1] * k,
    "loop": lambda k: [t * k for t in spring(k).t],
    "interpolation": lambda k: np.interp(0.5, spring(k).t, spring(k).y[0]),
    "comparison": lambda k: spring(k).t > k,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("f", OTHERS.values(), ids=OTHERS)
def test_whatever_depends_on_the_number_of_steps_is_refused(f: Callable[[Any], Any]) -> None:
    with pytest.raises(UncoveredFunctionError, match=r"t_eval=np\.linspace"):
        jit(f)(1.3)
