"""Well-known algorithms, as other people write them, run under `jit` and `grad` as they are."""

from __future__ import annotations

import time

import numpy as np
import pytest

from autojit import grad, jit
from autojit.errors import AutojitError

from . import (  # noqa: F401
    decorated,
    generators,
    growing,
    idioms,
    matrices,
    newcomers,
    numerics,
    polygons,
    searches,
    sequences,
    series,
    simulations,
    textbook,
)
from .program import PROGRAMS

#: The limit of the first call in seconds; an idle machine needs a fraction of it.
MOST_FOR_FIRST_CALL = 20.0

#: Programs that `jit` refuses, each with a part of the message.
REFUSED = {
    "gauss_on_lists": "values of different structure",
    "romberg": "may share memory",
}

_COVERED = [p for p in PROGRAMS if p.name not in REFUSED]
_CALLS = [
    pytest.param(p.function, arguments, id=f"{p.name}-{number}")
    for p in _COVERED
    for number, arguments in enumerate(p.calls)
]
_DERIVATIVES = [
    pytest.param(p.function, arguments, p.by, id=f"{p.name}-{number}")
    for p in _COVERED
    for number, arguments in enumerate(p.calls)
    if p.by
]


def plain(f):
    """The Python function under Numba's decorator."""
    return getattr(f, "py_func", f)


def by_differences(f, arguments, number):
    """Return the derivative by one argument, by central differences of the plain function."""
    x = np.asarray(arguments[number], float)
    found = np.zeros(x.shape)
    for place in np.ndindex(x.shape):
        ends = []
        for h in (1e-6, -1e-6):
            moved = x.copy()
            moved[place] += h
            value = moved if x.shape else float(moved)
            ends.append(f(*arguments[:number], value, *arguments[number + 1 :]))
        found[place] = (ends[0] - ends[1]) / 2e-6
    return found


@pytest.mark.sampled(48)
@pytest.mark.parametrize(("f", "arguments"), _CALLS)
def test_value(f, arguments):
    compiled = jit(f)
    began = time.process_time()
    found = compiled(*arguments)
    assert time.process_time() - began < MOST_FOR_FIRST_CALL
    wanted = plain(f)(*arguments)
    for a, b in zip(np.atleast_1d(found), np.atleast_1d(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.sampled(256)
@pytest.mark.parametrize("compiled", [True, False], ids=["jit", "grad"])
@pytest.mark.parametrize(("f", "arguments", "by"), _DERIVATIVES)
def test_gradient(f, arguments, by, compiled):
    gradient = grad(f, argnums=by)
    found = (jit(gradient) if compiled else gradient)(*arguments)
    for number, slope in zip(by, found, strict=True):
        wanted = by_differences(plain(f), arguments, number)
        np.testing.assert_allclose(slope, wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    (program,) = (p for p in PROGRAMS if p.name == name)
    with pytest.raises(AutojitError, match=REFUSED[name]):
        jit(program.function)(*program.calls[0])


def test_there_are_fifty():
    assert len({p.name for p in _COVERED}) >= 50
