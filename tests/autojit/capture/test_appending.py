"""Lists to which each way of an ``if`` appends as many elements."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit


def limited_slopes(y):
    slopes = []
    for i in range(1, len(y) - 1):
        if (y[i] - y[i - 1]) * (y[i + 1] - y[i]) <= 0:
            slopes.append(0.0)
        else:
            slopes.append((y[i + 1] - y[i - 1]) / 2)
            slopes[-1] = slopes[-1] ** 2
    return sum(slopes)


def two_at_once(x):
    found = [x]
    if x > 1:
        found.append(2 * x)
        found.append(x * x)
    else:
        found += [x, 3.0]
    return found[1] * found[2] + len(found)


def failing_on_one_way(x):
    found = [x]
    if x < 0:
        raise ValueError("negative")
    else:
        found.append(x * x)
    return found[1]


def on_one_way(x):
    found = [x]
    if x > 1:
        found.append(2 * x)
    return sum(found)


@pytest.mark.parametrize("y", [np.array([0.0, 1.0, 0.5, 2.0, 3.5]), np.arange(40.0) ** 2])
def test_slopes(y):
    np.testing.assert_allclose(jit(limited_slopes)(y), limited_slopes(y), rtol=1e-14)
    np.testing.assert_allclose(jit(grad(limited_slopes))(y), grad(limited_slopes)(y), rtol=1e-14)


@pytest.mark.parametrize("x", [0.5, 2.0])
def test_two_elements(x):
    assert jit(two_at_once)(x) == two_at_once(x)
    assert jit(grad(two_at_once))(x) == (3.0 if x < 1 else 6 * x**2)


def test_a_way_that_fails():
    assert jit(failing_on_one_way)(3.0) == 9.0
    with pytest.raises(ValueError, match="negative"):
        jit(failing_on_one_way)(-3.0)


def test_one_way_alone():
    for x in (2.0, -2.0):
        assert jit(on_one_way)(x) == on_one_way(x)
