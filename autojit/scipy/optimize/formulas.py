"""Rosenbrock's function and finite differences, as in ``scipy.optimize``."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import floating
from autojit.scipy.registry import answers
from autojit.staging.bodies import check_function


@answers("scipy.optimize.rosen")
def rosen(x: Any) -> Any:
    """Rosenbrock's function, ``sum(100 (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)``.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import rosen
    >>> grad(rosen)(np.array([0.0, 1.0]))
    array([ -2., 200.])
    """
    x = floating(x)
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0, axis=0)


@answers("scipy.optimize.rosen_der")
def rosen_der(x: Any) -> Any:
    """The gradient of :func:`rosen`.

    >>> from autojit import jit
    >>> from autojit.scipy.optimize import rosen_der
    >>> jit(rosen_der)(np.array([0.0, 1.0]))
    array([ -2., 200.])
    """
    x = floating(x)
    off, zero = x[1:] - x[:-1] ** 2, 0 * x[:1]
    left = -400 * off * x[:-1] - 2 * (1 - x[:-1])
    return np.concatenate([left, zero]) + np.concatenate([zero, 200 * off])


@answers("scipy.optimize.rosen_hess")
def rosen_hess(x: Any) -> Any:
    """The Hessian of :func:`rosen`.

    >>> from autojit import jit
    >>> from autojit.scipy.optimize import rosen_hess
    >>> jit(rosen_hess)(np.array([0.0, 1.0]))
    array([[-398.,    0.],
           [   0.,  200.]])
    """
    x = np.atleast_1d(floating(x))
    beside = np.diag(-400 * x[:-1], 1)
    zero = 0 * x[:1]
    left = np.concatenate([1200 * x[:-1] ** 2 - 400 * x[1:] + 2, zero])
    return beside + beside.T + np.diag(left + np.concatenate([zero, 0 * x[1:] + 200]))


@answers("scipy.optimize.rosen_hess_prod")
def rosen_hess_prod(x: Any, p: Any) -> Any:
    """The Hessian of :func:`rosen` times a vector.

    >>> from autojit import jit
    >>> from autojit.scipy.optimize import rosen_hess_prod
    >>> jit(rosen_hess_prod)(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    array([-398.,    0.])
    """
    return rosen_hess(x) @ np.atleast_1d(floating(p))


@answers("scipy.optimize.approx_fprime", callables=True)
def approx_fprime(xk: Any, f: Any, epsilon: Any = 1.4901161193847656e-08, *args: Any) -> Any:
    """Forward differences of a function of a vector; for exact derivatives use ``grad``.

    >>> from autojit import grad
    >>> from autojit.scipy.optimize import approx_fprime
    >>> round(float(grad(lambda a: approx_fprime([1.0], lambda x: a * x[0])[0])(2.0)), 6)
    1.0
    """
    x = np.atleast_1d(floating(xk))
    f = check_function(f, "argument 1", "approx_fprime")
    here = floating(f(x, *args))
    steps = np.broadcast_to(floating(epsilon), x.shape)
    columns = []
    for i in range(x.shape[0]):
        moved = x + np.where(np.arange(x.shape[0]) == i, steps, 0.0)
        columns.append((floating(f(moved, *args)) - here) / (moved[i] - x[i]))
    return np.stack(columns, axis=-1)
