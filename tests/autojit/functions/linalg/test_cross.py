"""``np.cross``, also of vectors in a plane, which NumPy deprecates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autojit import errors, grad, jit

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, int]]] = {
    "plane": ((2,), (2,), {}),
    "planes": ((5, 2), (2,), {}),
    "plane and space": ((5, 2), (5, 3), {}),
    "space and plane": ((3,), (4, 2), {}),
    "first axes": ((2, 5), (2, 5), {"axis": 0}),
    "axes": ((2, 5), (5, 3), {"axisa": 0, "axisc": 0}),
    "space": ((4, 1, 3), (7, 3), {}),
}


@pytest.mark.filterwarnings("ignore:Arrays of 2-dimensional vectors")
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_cross(name: str) -> None:
    left, right, axes = CASES[name]
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=left), rng.normal(size=right)

    def f(a: Any, b: Any) -> Any:
        return np.cross(a, b, **axes)

    found = jit(f)(a, b)
    np.testing.assert_allclose(found, f(a, b), rtol=1e-12, atol=1e-12)
    assert np.shape(found) == np.shape(f(a, b))
    weights = rng.normal(size=np.shape(found))
    slope = grad(lambda a: np.sum(weights * f(a, b)))(a)
    unit = rng.normal(size=left)
    expected = np.sum(weights * f(unit, b))  # the product is linear in each operand
    assert np.sum(slope * unit) == pytest.approx(expected, rel=1e-10)


def test_other_lengths_are_refused() -> None:
    with pytest.raises(errors.ShapeError, match="2 or 3 components"):
        jit(np.cross)(np.ones(4), np.ones(3))
    with pytest.raises(errors.ShapeError, match="3 components"):
        jit(np.linalg.cross)(np.ones(2), np.ones(3))
