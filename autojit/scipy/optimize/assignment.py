"""Assignments of least cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.callbacks.pure import pure_callback
from autojit.protocols.lifting import as_tracer
from autojit.scipy.arguments import known
from autojit.scipy.registry import answers, original
from autojit.transformations.derivatives import stop_gradient


@answers("scipy.optimize.linear_sum_assignment")
def linear_sum_assignment(cost_matrix: Any, maximize: Any = False) -> tuple[Any, Any]:
    """The rows and columns of a matrix whose elements have the least sum, one in each row and
    column.

    SciPy finds them, called back from the compiled code. The places have no derivative; the sum of
    the chosen elements has that of its elements.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import linear_sum_assignment
    >>> grad(lambda c: np.sum(c[linear_sum_assignment(c)]))(np.array([[1.0, 2.0], [1.0, 3.0]]))
    array([[0., 1.],
           [1., 0.]])
    """
    name = "scipy.optimize.linear_sum_assignment"
    cost, most = as_tracer(cost_matrix), bool(known(maximize, "maximize", name))
    if cost.ndim != 2:
        raise ValueError(f"expected a matrix (2-D array), got a {cost.ndim} array")
    places = np.zeros(min(cost.shape), np.int64)

    def search(cost: Any) -> Any:
        return tuple(original(name)(cost, most))

    found: tuple[Any, Any] = pure_callback(
        search, (places, places), stop_gradient(cost), vmap_method="sequential"
    )
    return found
