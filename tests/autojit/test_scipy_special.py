"""Functions of scipy.special that do not dispatch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from autojit import grad, jit
from autojit.scipy import special
from autojit.testing import check_grads

X = np.array([[0.5, -1.0, 3.0], [700.0, 701.0, -np.inf]])


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_values(name: str, axis: Any) -> None:
    ours, theirs = getattr(special, name), getattr(scipy.special, name)
    wanted = theirs(X, axis=axis)
    np.testing.assert_allclose(ours(X, axis=axis), wanted)
    np.testing.assert_allclose(jit(lambda x: ours(x, axis=axis))(X), wanted)


def test_weights_and_kept_axes() -> None:
    b = np.array([1.0, 2.0, 0.5])
    made = jit(lambda x: special.logsumexp(x, axis=1, b=b, keepdims=True))(X)
    np.testing.assert_allclose(made, scipy.special.logsumexp(X, axis=1, b=b, keepdims=True))


def test_derivatives() -> None:
    x = X[:1]
    np.testing.assert_allclose(grad(special.logsumexp)(x), scipy.special.softmax(x))
    check_grads(lambda x: special.log_softmax(x, axis=1) ** 2, (x,), order=2)
    np.testing.assert_array_equal(grad(special.logsumexp)(np.array([-np.inf, 0.0])), [0, 1])


def test_float32_stays() -> None:
    assert jit(special.softmax)(X[:1].astype("f4")).dtype == np.float32
