"""The masks of slices with traced bounds are computed in the loops that need them."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit import grad, jit


def rows_of_a_sparse_matrix(data: Any, x: Any, start: Any, column: Any) -> Any:
    y = np.empty(start.size - 1)
    for i in range(start.size - 1):
        inside = slice(start[i], start[i + 1])
        y[i] = data[inside] @ x[column[inside]]
    return np.sum(y * y)


def element_by_element(data: Any, x: Any, start: Any, column: Any) -> Any:
    y = np.empty(start.size - 1)
    for i in range(start.size - 1):
        y[i] = 0.0
        for k in range(start[i], start[i + 1]):
            y[i] += data[k] * x[column[k]]
    return np.sum(y * y)


def arguments() -> tuple[Any, ...]:
    random = np.random.default_rng(3)
    entries, rows = 96, 40
    start = np.sort(random.integers(0, entries + 1, rows + 1))
    column = random.integers(-rows, rows, entries)
    return random.normal(size=entries), random.normal(size=rows), start, column


def test_loops_of_the_gradient_have_bounds() -> None:
    text = jit(grad(rows_of_a_sparse_matrix, (0, 1))).lower(*arguments()).text("loops")
    over_entries = [line for line in text.splitlines() if "in 0..96" in line]
    assert sum("below" in line for line in over_entries) >= 2
    assert ": f64[3840]" not in text  # no array of all rows and entries


def test_the_gradient_is_that_of_loops() -> None:
    found = jit(grad(rows_of_a_sparse_matrix, (0, 1)))(*arguments())
    expected = grad(element_by_element, (0, 1))(*arguments())
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_values_outside_do_not_reach_the_gradient() -> None:
    data, x, start, column = arguments()
    start[0], x[-1] = 3, np.nan
    data[:3] = np.inf, np.nan, -np.inf
    column[column == len(x) - 1] = 0
    column[column == -1] = 0
    column[0] = len(x) - 1
    start = np.maximum(start, 3)
    found, by_x = jit(grad(rows_of_a_sparse_matrix, (0, 1)))(data, x, start, column)
    assert np.all(np.isfinite(found[3:]))
    assert np.all(found[:3] == 0)
    assert np.all(np.isfinite(by_x[:-1]))
    assert by_x[-1] == 0
