"""Names under which NumPy, SciPy and the packages beside them are found."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import autojit
import autojit.numpy as np
from autojit import grad, jit


def wave(x: Any) -> Any:
    out = np.zeros(3)
    for i in range(3):
        out[i] = np.sin(x[i])
    return np.linalg.norm(out) + np.sum([x[0], x[1]])


def test_numpy_by_a_name_of_our_own() -> None:
    x = numpy.array([1.0, 2.0, 3.0])
    assert np.float64 is numpy.float64
    assert "linspace" in dir(np)
    numpy.testing.assert_allclose(jit(wave)(x), wave(x))
    numpy.testing.assert_allclose(jit(grad(wave))(x), grad(wave)(x))
    with pytest.raises(AttributeError, match="has no attribute 'sinn'"):
        np.sinn(x)


@pytest.mark.parametrize(
    "name", ["micrograd", "nn", "numpy", "ode", "optim", "scalar", "scipy", "testing", "torch"]
)
def test_packages_are_loaded_when_they_are_used(name: str) -> None:
    assert getattr(autojit, name).__name__ == f"autojit.{name}"


def test_packages_of_scipy_are_loaded_when_they_are_used() -> None:
    assert autojit.scipy.special.logsumexp([0.0, 0.0]) == numpy.log(2)
    assert "stats" in dir(autojit.scipy)
    with pytest.raises(AttributeError, match=r"'autojit\.scipy' has no attribute 'odd'"):
        autojit.scipy.odd  # noqa: B018
