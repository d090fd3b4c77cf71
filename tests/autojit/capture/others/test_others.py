"""Well-known algorithms, as other people write them, run under `jit` and `grad` as they are.

There are 181, with programs of newcomers. In 142 of them a traced value decides a branch. Their
values and derivatives are compared with those of plain Python, compiled and not.
"""

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
    "gauss_on_lists": "Keep the rows in one array",
    "romberg": "may share memory",
}

_COVERED = [p for p in PROGRAMS if p.name not in REFUSED]
#: Programs without a branch on a traced value. Their loops may end by one.
WITHOUT_BRANCHES = frozenset(
    """
    agm_of_two arithmetic_geometric_mean bernstein bessel_series bilinear_interpolation clenshaw
    conjugate_gradients descent_with_history dynamic_time_warping element_or_default
    elementary_automaton euclid euler_cooling exponential_smoothing filtered_comprehension
    horner huffman_cost hull_by_monotone_chains kadane kalman_filter knapsack
    largest_sum_of_a_run legendre_by_recursion loan mean_of_logarithms moving_average_of_five
    natural_cubic_spline neville next_with_default nsmallest power_iteration running_totals
    safe_square_root segments_then_path shell_sort sum_of_positive thomas trimmed_mean welford
    """.split()  # noqa: SIM905
)
_BRANCHING = [p for p in _COVERED if p.name not in WITHOUT_BRANCHES]
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


@pytest.mark.sampled(64)
@pytest.mark.parametrize("p", _BRANCHING, ids=lambda p: p.name)
def test_values_decide_the_way(p):
    compiled = jit(p.function)
    for arguments in p.calls:
        compiled(*arguments)
    assert compiled.cache_info().branches


def test_there_are_a_hundred_and_fifty():
    assert len({p.name for p in _COVERED}) >= 150
    assert len({p.name for p in _BRANCHING}) >= 120
