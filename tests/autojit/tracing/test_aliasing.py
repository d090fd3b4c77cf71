"""Views and what is written through them: what NumPy has in the end, or a refusal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autojit
from autojit import jit
from autojit.errors import InPlaceError
from autojit.testing import check_grads
from tests.autojit.functions.test_assignment import leaves, same
from tests.sampling import share

M = np.arange(12.0).reshape(3, 4)

VIEWS: dict[str, Callable[[Any], Any]] = {
    "T": lambda a: a.T, "flip": np.flip, "reversed": lambda a: a[::-1], "tail": lambda a: a[1:],
    "last": lambda a: a[..., -1], "every second": lambda a: a[::2], "new axis": lambda a: a[None],
    "ravel": lambda a: a.ravel(), "flat": lambda a: a.reshape(-1), "row": lambda a: a[0],
    "split axis": lambda a: a.reshape((1, *a.shape)), "picked": lambda a: a[[0]],
    "copy": lambda a: a.copy(), "times": lambda a: a * 2, "squeeze": np.squeeze,
    "0, ...": lambda a: a[0, ...], "real": lambda a: a.real, "whole": lambda a: a[...],
    "rows": lambda a: a.reshape(a.shape[0], -1), "swapped": lambda a: np.swapaxes(a, 0, -1),
    "astype": lambda a: a.astype(float), "astype same": lambda a: a.astype(float, copy=False),
    "diagonal": np.diagonal, "broadcast": lambda a: np.broadcast_to(a, (2, *a.shape)),
    "flatten": lambda a: a.flatten(), "tile": lambda a: np.tile(a, 1), "view": lambda a: a.view(),
    "part": lambda a: np.split(a, [1])[0], "einsum": lambda a: np.einsum("ij->ji", a),
    "at least 2": np.atleast_2d, "array": np.array, "asarray": np.asarray, "rot90": np.rot90,
    "contiguous": np.ascontiguousarray, "zeros like": np.zeros_like,
    "pairs": lambda a: a.reshape(-1, 2), "broadcasts": lambda a: np.broadcast_arrays(a, a)[0],
    "by columns": lambda a: a.reshape(-1, order="F"),
    "last of list": lambda a: list(a)[-1], "stack": lambda a: np.stack([a, a]),
    "F copy": lambda a: a.copy(order="F"), "every fifth": lambda a: np.ravel(a)[::5],
}  # fmt: skip


def _add(a: Any, v: Any) -> None:
    a += v


def _add_to_tail(a: Any, v: Any) -> None:
    a[1:] += v


def _scale_picked(a: Any, v: Any) -> None:
    a[[0, -1]] *= v


def _set(index: Any) -> Callable[..., None]:
    return lambda a, v: a.__setitem__(index, v)


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "[0] =": _set(0), "[...] =": _set(...), "+=": _add, "[1:] +=": _add_to_tail,
    "picked *=": _scale_picked, "[:] = reversed": lambda a, v: a.__setitem__(slice(None), a[::-1]),
    "[1:] = times": lambda a, v: a.__setitem__(slice(1, None), a[1:] * v),
    "out": lambda a, v: np.multiply(a, v, out=a), "fill": lambda a, v: a.fill(v),
    "put": lambda a, v: np.put(a, [0, 1], v), "copyto": np.copyto,
    "add.at": lambda a, v: np.add.at(a, [0, 0], v),
}  # fmt: skip

MAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "argument": lambda x, s: x * np.ones(s), "zeros": lambda x, s: np.zeros(s),
    "arange": lambda x, s: np.arange(1.0, 1 + np.prod(s)).reshape(s),
    "F": lambda x, s: np.ones(s, order="F"), "list": lambda x, s: np.array([1.0, 2.0, 3.0, 4.0]),
    "T": lambda x, s: np.zeros(s[::-1]).T, "imag": lambda x, s: np.zeros(s, complex).imag,
}  # fmt: skip

STEPS = st.one_of(
    st.tuples(st.integers(0, 9), st.sampled_from(sorted(VIEWS)), st.none()),
    st.tuples(
        st.integers(0, 9), st.sampled_from(sorted(WRITES)), st.booleans() | st.integers(2, 9)
    ),
)


def story(x: Any, make: str, shape: Any, steps: list[Any]) -> list[Any]:
    """Arrays that come from each other, and are written to; True stands for x."""
    arrays = [MAKERS[make](x, shape)]
    for which, name, value in steps:
        array = arrays[which % len(arrays)]
        if value is None:
            arrays.append(VIEWS[name](array))
        else:
            WRITES[name](array, x if value is True else float(value))
    return arrays


@settings(
    max_examples=share(400),
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    st.sampled_from(sorted(MAKERS)),
    st.sampled_from([(3, 4), (4,), (2, 3, 2)]),
    st.lists(STEPS, max_size=8),
)
def test_any_story_of_views(make: str, shape: Any, steps: list[Any]) -> None:
    """Every array has in the end what NumPy has, or something is refused on the way."""
    try:
        want = [np.copy(a) for a in story(3.5, make, shape, steps)]
    except Exception:  # NumPy refuses too
        return
    try:
        program = autojit.trace(lambda x: story(x, make, shape, steps))(3.5)
    except autojit.errors.AutojitError:
        return
    for got, w in zip(leaves(program(3.5)), want, strict=True):
        np.testing.assert_array_equal(got, w)
        assert np.asarray(got).dtype == w.dtype


def test_views_are_written_through() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        column, corner = y.T[1], y[1:, 1:]
        corner[...] = -1.0
        y[1] = column[1] * 2.0
        corner.T[0, 1] = y[0, 1]
        np.fliplr(y)[0, 0] = 99.0
        z = y + 1j
        z.real[0] = z.imag[1:2] = y[0]
        z.imag += 0.5
        return y, column, corner, z

    same(f, M)
    check_grads(lambda x: np.sum(np.abs(f(x)[3]) ** 2), (M,))


@pytest.mark.parametrize(
    "change",
    [
        lambda y, flat: flat.__setitem__(0, 1.0),
        lambda y, flat: y.__setitem__(0, 1.0),
        lambda y, flat: y.T.__iadd__(1.0),
    ],
)
def test_perhaps_views_are_refused_once_one_has_changed(change: Any) -> None:
    def f(x: Any, which: int) -> Any:
        y = x * 1.0
        flat = y.reshape(-1)
        change(y, flat)
        return (y, flat)[which] + 1

    refused = 0
    for which in (0, 1):
        with contextlib.suppress(InPlaceError):
            jit(lambda x, w=which: f(x, w))(M)
            continue
        refused += 1
        with pytest.raises(InPlaceError, match="depends on the layout in memory"):
            jit(lambda x, w=which: f(x, w))(M)
    assert refused == 1  # what was changed itself stays usable


def test_reshapes_of_copies_are_views() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y.ravel()[::5] = 0.0
        y.reshape(2, 6)[1] *= 2.0
        return y

    same(f, M)


def test_read_only_views() -> None:
    for view in (np.diagonal, lambda x: np.broadcast_to(x, (2, 3, 4)), np.imag):
        with pytest.raises(InPlaceError, match="read-only"):
            jit(lambda x, f=view: f(x).__setitem__(0, 1.0))(M)
