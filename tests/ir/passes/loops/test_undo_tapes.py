"""Arrays that steps change in branches and in inner loops: no tapes of them, the same gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from autojit import grad, trace
from autojit.ir.core.program import Program
from autojit.ir.passes import optimize

N = 13


def by_elements(A: Any) -> Any:
    """The Gauss-Jordan algorithm; the last column is the right-hand side."""
    n, M = A.shape[0], A.copy()
    for k in range(n - 1):
        p = M[k, k]
        for j in range(k, n):
            M[k, j] = M[k, j] / p
        for i in range(n):
            if i != k:
                f = M[i, k]
                for j in range(k, n):
                    M[i, j] -= f * M[k, j]
    return np.sum(M[:, n - 1] * M[:, n - 1])


def by_rows(A: Any) -> Any:
    n, M = A.shape[0], A.copy()
    for k in range(n):
        M[k] = M[k] / (M[k, k] + 0.5)
        for i in range(n):
            if i != k:
                M[i] -= M[i, k] * M[k]
    return np.sum(M * M)


def in_both_branches(A: Any) -> Any:
    """A place that is written twice, and nested branches."""
    n, M = A.shape[0], A.copy()
    for k in range(n):
        for i in range(n):
            if (i + k) % 3 == 0:
                M[i, k] = np.sin(M[k, i])
                M[i, k] = M[i, k] * M[i, k] + M[k, k]
            elif M[i, k].real > 0.2:
                M[k, i] = M[k, i] * M[i, k]
                if i < k:
                    M[i] = M[i] - 0.1 * M[k]
            else:
                M[k, 0] += 0.1 * M[i, k]
    return np.sum(M * M)


def with_pivots(A: Any) -> Any:
    n, M = A.shape[0], A.copy()
    for k in range(n):
        m = k
        for i in range(k + 1, n):
            if abs(M[i, k].real) > abs(M[m, k].real):
                m = i
        if m != k:
            for j in range(n):
                t = M[k, j]
                M[k, j] = M[m, j]
                M[m, j] = t
        for i in range(k + 1, n):
            M[i, k] = M[i, k] / M[k, k]
            for j in range(k + 1, n):
                M[i, j] -= M[i, k] * M[k, j]
    return np.sum(M[-1] * M[-1])


def arrays_of(program: Program) -> Iterator[int]:
    for op in program.ops:
        yield from (v.type.size for v in op.results)
        for body in op.programs:
            yield from arrays_of(body)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", [by_elements, by_rows, in_both_branches, with_pivots])
def test_gradients_keep_no_matrix_for_each_element(f: Callable[[Any], Any]) -> None:
    A = np.random.default_rng(0).standard_normal((N, N)) + np.eye(N) * (f is not with_pivots)
    program = optimize(trace(grad(f))(A))
    if f is not in_both_branches:
        # A step with pivots needs a row and a column.
        assert max(arrays_of(program)) <= (N**2 if f is with_pivots else 2 * N**3)
    along = np.random.default_rng(1).standard_normal((N, N))
    expected = np.imag(f(A + 1e-30j * along)) / 1e-30
    gradient = program(A)
    np.testing.assert_allclose(np.sum(gradient * along), expected, rtol=1e-8)
