"""Arrays that are made before a loop or branch, and read and changed in it."""

from __future__ import annotations

import numpy as np
import pytest

from autojit import grad, jit, trace
from autojit.testing import check_grads


def read_then_changed(a, n):
    made = np.zeros(4)
    total = 0.0
    k = 0
    while k < n:
        total += made[k]
        made[k + 1] = a * (k + 1)
        k += 1
    return total


def changed_in_a_branch(a, n):
    made = np.zeros(4)
    made[0] = a
    total = 0.0
    k = 0
    while k < n:
        total += made[k]
        if total < 5:
            made[k + 1] = 2 * a
        k += 1
    return total


def view_of_what_is_changed(a, n):
    made = np.zeros(4)
    made[1] = a
    part = made[1:]
    total = 0.0
    k = 0
    while k < n:
        made[1] = 2 * made[1]
        total += part[0]
        k += 1
    return total


@pytest.mark.parametrize("f", [read_then_changed, changed_in_a_branch, view_of_what_is_changed])
@pytest.mark.parametrize("a", [0.5, 3.0])
def test_each_step_reads_the_present_elements(f, a):
    assert jit(f)(a, 3) == f(a, 3)
    slope = (f(a + 1e-6, 3) - f(a - 1e-6, 3)) / 2e-6
    for derivative in (jit(grad(f)), grad(f)):
        np.testing.assert_allclose(derivative(a, 3), slope, rtol=1e-6)


def growing_part(r):
    y = np.empty_like(r)
    y[0] = r[0]
    for k in range(1, r.shape[0]):
        y[:k] += r[k] * np.flip(y[:k])
        y[k] = 1.0
    return np.sum(np.cos(y))


def test_a_part_of_traced_length_is_changed_in_place():
    r = np.linspace(0.1, 0.9, 60) / 60
    assert len(trace(growing_part)(r).ops) < 60
    np.testing.assert_allclose(jit(growing_part)(r), growing_part(r), rtol=1e-12)
    check_grads(growing_part, (r,), order=1, modes=("rev",))
