"""Functions as people write them: values and derivatives under `jit`, beside plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit

from .functions import CASES


def _by_differences(f, arguments, number):
    h = 1e-6
    x = np.asarray(arguments[number], float)
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += h
        down[place] -= h
        ends = [
            f(*arguments[:number], a if x.shape else float(a), *arguments[number + 1 :])
            for a in (up, down)
        ]
        found[place] = (ends[0] - ends[1]) / (2 * h)
    return found


_PARAMETERS = [
    pytest.param(f, arguments, id=f"{f.__name__}-{number}")
    for f, lists in CASES
    for number, arguments in enumerate(lists)
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("f", "arguments"), _PARAMETERS)
def test_value(f, arguments):
    np.testing.assert_allclose(jit(f)(*arguments), f(*arguments), rtol=1e-12)


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("f", "arguments"), _PARAMETERS)
def test_gradient(f, arguments):
    inexact = [
        number
        for number, a in enumerate(arguments)
        if np.asarray(a).dtype.kind == "f" and not isinstance(f(*arguments), int)
    ]
    for number in inexact:
        wanted = _by_differences(f, arguments, number)
        for gradient in (jit(grad(f, argnums=number)), grad(f, argnums=number)):
            np.testing.assert_allclose(gradient(*arguments), wanted, rtol=1e-5, atol=1e-6)
