"""``out=`` of functions that are no ufuncs: NumPy's result in the array given, or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import jit, vmap
from autojit.errors import DtypeError, InPlaceError, ShapeError
from autojit.testing import check_grads

M = np.array([[0.3, -1.2, 2.0, 0.7], [1.1, 0.4, -0.6, 1.9], [-0.8, 2.2, 0.1, -1.7]])
OUTSIDE = np.zeros(4)


def clipped(x: Any) -> Any:
    y = x * 2
    np.clip(y, -1, 1, out=y)
    y.clip(-0.5, 0.5, out=y)
    return y


def reduced(x: Any) -> Any:
    out = np.empty((4, 4))
    row = np.sum(x, axis=0, out=out[0])
    x.mean(0, out=out[1])
    np.add.reduce(x, axis=0, out=out[2])
    np.nanmax(x, 0, out[3])
    return out + row


def accumulated(x: Any) -> Any:
    y = x.copy()
    np.cumsum(y, axis=1, out=y)
    np.add.accumulate(y, 0, out=y)
    return y


def multiplied(x: Any) -> Any:
    out = np.empty((3, 3))
    np.dot(x, x.T, out=out)
    np.linalg.multi_dot([out, out, out], out=out)
    return out


def joined(x: Any) -> Any:
    out = np.empty((6, 4))
    np.concatenate([x, x * x], out=out)
    np.stack([x[0], x[2]], out=out[1:3])
    return out


def taken(x: Any) -> Any:
    out = np.zeros((2, 4))
    np.take(x, [0, 2], 0, out)
    return out


def on_a_side(x: Any) -> Any:
    y = x * 1
    if x[0, 0] > 0:
        np.clip(y, -0.15, 0.15, out=y)
    else:
        np.cumsum(y, 1, None, y)
    return y


def in_a_loop(x: Any) -> Any:
    for k in range(40):
        x = x * 1.01
        np.clip(x, -1, 1 + k * 0.01, out=x)
    return x


WRITERS: list[Callable[..., Any]] = [
    clipped, reduced, accumulated, multiplied, joined, taken, on_a_side, in_a_loop,
]  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("f", WRITERS)
def test_out_gets_the_result(f: Callable[..., Any]) -> None:
    for x in (M, -M) if f is on_a_side else (M,):
        want = f(x.copy())
        np.testing.assert_allclose(jit(f)(x), want, rtol=1e-14)
        np.testing.assert_allclose(jit(vmap(f))(np.stack([x, x]))[1], want, rtol=1e-14)
        check_grads(lambda x: np.sum(f(x) ** 2), (x,), order=1)


def test_out_is_the_result() -> None:
    def f(x: Any) -> Any:
        out, places = np.empty(3), np.zeros(3, np.intp)
        assert np.median(x, axis=1, out=out) is out
        assert x.argmax(1, out=places) is places
        return out, places

    for got, want in zip(jit(f)(M), f(M), strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


def test_other_arrays_are_refused() -> None:
    with pytest.raises(InPlaceError, match=r"np.sum with out= would write a traced value into"):
        jit(lambda x: np.sum(x, 0, out=OUTSIDE))(M)
    with pytest.raises(ShapeError, match=r"type f64\[4\], and out= has type f64\[3\]"):
        jit(lambda x: np.sum(x, 0, out=np.zeros(3)))(M)
    with pytest.raises(DtypeError, match=r"out = np.empty\(\(4,\), 'float64'\)"):
        jit(lambda x: np.mean(x, 0, out=np.zeros(4, np.float32)))(M)
    assert not OUTSIDE.any()
