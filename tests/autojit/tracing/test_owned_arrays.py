"""Assignments into plain arrays that the traced function has made by whatever means."""

from __future__ import annotations

import copy  # noqa: F401 - evaluated
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy import array as numpys_array  # noqa: F401 - evaluated
from numpy import zeros as numpys_zeros  # noqa: F401 - evaluated

from autojit import grad, jacfwd, jit
from autojit.errors import ArgumentChangedError, InPlaceError, TracingError

GRID = np.linspace(0.0, 1.0, 5)
TABLE = {"grid": GRID}


def made() -> Any:
    return GRID * 2


@functools.lru_cache
def cached() -> Any:
    return GRID * 3


MADE = [
    "np.sin(GRID)", "GRID.copy()", "GRID.astype(float)", "np.sort(GRID)", "GRID ** 2", "-GRID",
    "np.array([1.0, 2.0, 3.0, 4.0, 5.0])", "GRID * 1.0", "numpys_zeros(5)", "made()",
    "numpys_array([1.0, 2, 3, 4, 5])", "np.linalg.inv(np.eye(5))[0]", "GRID.copy().reshape(5)",
    "GRID[[0, 1, 2, 3, 4]]", "np.interp(GRID, GRID, GRID)", "np.where(GRID > 0.5, GRID, 0.0)",
    "np.concatenate([GRID[:2], GRID[2:]])", "np.cumsum(GRID)", "np.eye(5) @ GRID", "GRID.flatten()",
    "np.random.default_rng(0).normal(size=5)", "GRID * 2 if True else GRID", "np.roll(GRID, 1)",
    "np.pad(GRID[:3], 1)", "np.outer(GRID, GRID)[0]", "np.meshgrid(GRID, GRID)[0][0]",
    "copy.deepcopy(GRID)", "[GRID * i for i in range(3)][1]",
]  # fmt: skip
#: The line that changes the array, and its derivative by x where x is 2.
CHANGES = ["u[1:-1] += x * u[:-2]", "u[0] = x", "u += x", "np.multiply(u, x, out=u)"]
NOT_ITS_OWN = [
    "GRID", "GRID[:]", "cached()", "np.asarray(GRID)", "TABLE['grid']", "GRID.T", "GRID.reshape(5)",
]  # fmt: skip


@pytest.fixture
def defined(tmp_path: Any) -> Callable[[str, str], Any]:
    """A function of x that makes u and changes it."""

    def define(how: str, change: str) -> Any:
        text = f"def f(x):\n    u = {how}\n    {change}\n    return u\n"
        file = tmp_path / f"made{len(list(tmp_path.iterdir()))}.py"
        file.write_text(text)
        names = dict(globals())
        exec(compile(text, str(file), "exec"), names)
        return names["f"]

    return define


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", MADE)
def test_arrays_of_the_functions_own_change(how: str, defined: Any) -> None:
    before = GRID.copy()
    for change in CHANGES:
        f = defined(how, change)
        np.testing.assert_allclose(jit(f)(2.0), f(2.0), err_msg=change)
        difference = (f(2.0 + 1e-6) - f(2.0 - 1e-6)) / 2e-6
        np.testing.assert_allclose(jacfwd(f)(2.0), difference, atol=1e-8, err_msg=change)
        np.testing.assert_array_equal(GRID, before)


@pytest.mark.parametrize("how", NOT_ITS_OWN)
def test_arrays_of_others_do_not(how: str, defined: Any) -> None:
    before, shared = GRID.copy(), cached().copy()
    for change in CHANGES:
        for transformed in (jit, jacfwd):
            with pytest.raises((TracingError, InPlaceError)):
                transformed(defined(how, change))(2.0)
        np.testing.assert_array_equal(GRID, before)
        np.testing.assert_array_equal(cached(), shared)


def two_names(x: Any) -> Any:
    u = v = np.sin(GRID)
    w = u
    u[0] = x
    return v + w


def views(x: Any) -> Any:
    u = np.sin(GRID)
    v = u[1:3]
    u[1:3] *= x
    v[0] += x
    return u, v


def two_at_once(x: Any) -> Any:
    u, v = np.sin(GRID), [GRID * 2]
    u[0] = x
    v[0][0] += u[0]
    return u + v[0]


def write(u: Any, x: Any) -> None:
    u[0] = x


def by_a_helper(x: Any) -> Any:
    u = np.cos(GRID)
    write(u, x)
    write(u[2:], x * x)
    return u


def in_holders(x: Any) -> Any:
    class State:
        u: Any

    state = State()
    state.u = np.cos(GRID)
    held = {"u": state.u}
    held["u"][1] = x
    held["w"] = GRID * 2
    held["w"][1] = x * state.u[1]
    return state.u + held["w"]


def in_a_loop(x: Any) -> Any:
    u = GRID * 0
    for i in range(300):
        u[i % 5] += x * i
    return u


def in_a_branch(x: Any) -> Any:
    u = np.sin(GRID)
    if x > 0:
        u[0] = x
    else:
        u = GRID * x
    return u


def by_functions(x: Any) -> Any:
    u = np.sort(GRID[::-1])
    u.fill(x)
    np.copyto(u, u * GRID)
    u[u > 0.5] = 0
    return u


def to_complex(x: Any) -> Any:
    u = GRID.astype(complex)
    u[1:] *= np.exp(1j * x)
    return u.real


SHARED = [two_names, views, two_at_once, by_a_helper, in_holders, in_a_loop, in_a_branch,
          by_functions, to_complex]  # fmt: skip


@pytest.mark.parametrize("f", SHARED, ids=lambda f: f.__name__)
def test_every_name_sees_a_change(f: Any) -> None:
    for got, want in zip(jit(f)(2.0), f(2.0), strict=True):
        np.testing.assert_allclose(got, want)


def test_an_outer_functions_array_is_not_changed_inside() -> None:
    def f(x: Any) -> Any:
        u = GRID * 2.0

        def inner(y: Any) -> Any:
            v = u * 1.0
            v[0] = y
            return np.sum(v * u)

        return grad(inner)(x)

    assert jit(f)(2.0) == 0.0

    def wrong(x: Any) -> Any:
        u = GRID * 2.0

        def inner(y: Any) -> Any:
            u[0] = y
            return np.sum(u)

        return grad(inner)(x)

    with pytest.raises((TracingError, InPlaceError)):
        jit(wrong)(2.0)


def test_changes_of_arguments_are_refused_with_the_users_statement() -> None:
    def centred(x: Any) -> Any:
        x -= x.mean()
        return x

    def nested(x: Any, weights: Any) -> Any:
        weights["a"][0] = 3.0
        return x

    x = np.array([1.0, 3.0])
    with pytest.raises(ArgumentChangedError) as error:
        jit(centred)(x)
    assert "    x = x - x.mean()                   # not: x -= x.mean()\n" in str(error.value)
    with pytest.raises(ArgumentChangedError, match=r"    y = weights\['a'\].copy\(\)  "):
        jit(nested)(x, {"a": x})
    np.testing.assert_array_equal(x, [1.0, 3.0])
    np.testing.assert_array_equal(jit(lambda x: x - x.mean())(x), [-1.0, 1.0])
