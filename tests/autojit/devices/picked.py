"""Masks on GPU arrays, in numba's simulator; `test_in_simulator.py` runs this file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import device_put
from autojit.codegen.cuda.arrays import DeviceArray

X = np.arange(24.0).reshape(4, 6) % 7
M, ROWS, COLUMNS = X > 3, np.array([1, 0, 1, 1], bool), np.array([1, 0, 0, 1, 1, 1], bool)
EVERY: dict[str, Callable[[Any, Any], Any]] = {
    "a mask": lambda x, m: x[m],
    "one of NumPy's": lambda x, m: x[M],
    "rows": lambda x, m: x[ROWS],
    "a list": lambda x, m: x[[True, False, True, True]],
    "rows, and a slice": lambda x, m: x[ROWS, None, 1:3],
    "behind an ellipsis": lambda x, m: x[..., COLUMNS],
    "with an integer": lambda x, m: x[1, COLUMNS],
    "two": lambda x, m: x[ROWS, np.arange(6) < 3],
    "a new axis": lambda x, m: x[None, ROWS],
    "nothing": lambda x, m: x[x > 99],
    "nonzero": lambda x, m: np.nonzero(x),
    "the method": lambda x, m: x.nonzero(),
    "flatnonzero": lambda x, m: np.flatnonzero(x),
    "argwhere": lambda x, m: np.argwhere(m),
    "where": lambda x, m: np.where(m),
    "where of three": lambda x, m: np.where(m, x, 0),
    "extract": lambda x, m: np.extract(m, x),
    "their places": lambda x, m: x[np.nonzero(m)],
}


@pytest.mark.parametrize("name", EVERY)
def test_what_masks_pick(name: str) -> None:
    f, x = EVERY[name], device_put(X)
    found, wanted = f(x, x > 3), f(X, M)
    for got, want in zip(_leaves(found), _leaves(wanted), strict=True):
        assert isinstance(got, DeviceArray)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(np.asarray(got), want)


def _leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def test_masks_of_other_shapes() -> None:
    with pytest.raises(IndexError, match=r"shape \(6,\) cannot select from axes of shape \(4,\)"):
        device_put(X)[COLUMNS]
    with pytest.raises(IndexError, match="too many indices"):
        device_put(X)[M, 1]
