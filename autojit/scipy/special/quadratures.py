"""Nodes and weights of Gaussian quadrature rules, with derivatives by their parameters.

Golub & Welsch, "Calculation of Gauss quadrature rules", Math. Comp. 23 (1969), 221-230. The number
of nodes must be known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special as sc

from autojit.scipy.arguments import floating, known_integer
from autojit.scipy.registry import answers


def _nodes(diagonal: Any, squares: Any, total: Any, mu: bool) -> Any:
    """Nodes and weights from the coefficients of the recurrence and the weight's integral."""
    size = diagonal.shape[0]
    beside = np.sqrt(squares)
    matrix = diagonal * np.eye(size)
    if size > 1:
        places = np.eye(size, k=1)[:-1]
        upper = np.concatenate([beside[:, None] * places, np.zeros((1, size))])
        matrix = matrix + upper + upper.T
    x, vectors = np.linalg.eigh(matrix)
    weights = total * vectors[0] ** 2
    return (x, weights, total) if mu else (x, weights)


def _answers(*names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        for name in names[1:]:
            answers(f"scipy.special.{name}")(function)
        return answers(f"scipy.special.{names[0]}")(function)

    return register


@_answers("roots_jacobi", "j_roots")
def roots_jacobi(n: int, alpha: Any, beta: Any, mu: bool = False) -> Any:
    """``(nodes, weights)`` for ``(1 - x)**alpha (1 + x)**beta`` on [-1, 1] (DLMF 18.9.2).

    >>> from autojit import grad
    >>> from autojit.scipy.special import roots_jacobi
    >>> grad(lambda b: roots_jacobi(1, 0.0, b)[0][0])(0.0)
    np.float64(0.5)
    """
    n, a, b = known_integer(n, "n", "roots_jacobi"), floating(alpha), floating(beta)
    total = 2.0 ** (a + b + 1) * np.exp(sc.betaln(a + 1, b + 1))
    k = np.arange(1.0, n)
    twice = 2 * k + a + b
    first = np.reshape((b - a) / (a + b + 2), (1,))
    diagonal = np.concatenate([first, (b - a) * (b + a) / (twice * (twice + 2))])
    second = 4 * (1 + a) * (1 + b) / ((2 + a + b) ** 2 * (3 + a + b))
    j, twice = k[1:], twice[1:]
    others = 4 * j * (j + a) * (j + b) * (j + a + b) / (twice**2 * (twice - 1) * (twice + 1))
    squares = np.concatenate([np.reshape(second, (1,)), others])[: n - 1]
    return _nodes(diagonal, squares, total, mu)


@_answers("roots_sh_jacobi", "js_roots")
def roots_sh_jacobi(n: int, p1: Any, q1: Any, mu: bool = False) -> Any:
    """``(nodes, weights)`` for ``(1 - x)**(p1 - q1) x**(q1 - 1)`` on [0, 1]."""
    p1, q1 = floating(p1), floating(q1)
    x, weights, total = roots_jacobi(n, p1 - q1, q1 - 1, True)
    made = (x + 1) / 2, weights / 2.0**p1
    return (*made, total / 2.0**p1) if mu else made


@_answers("roots_gegenbauer", "cg_roots")
def roots_gegenbauer(n: int, alpha: Any, mu: bool = False) -> Any:
    """``(nodes, weights)`` for ``(1 - x**2)**(alpha - 1/2)`` on [-1, 1]."""
    power = floating(alpha) - 0.5
    return roots_jacobi(n, power, power, mu)


@_answers("roots_genlaguerre", "la_roots")
def roots_genlaguerre(n: int, alpha: Any, mu: bool = False) -> Any:
    """``(nodes, weights)`` for ``x**alpha exp(-x)`` on the positive half line.

    >>> from autojit import grad
    >>> from autojit.scipy.special import roots_genlaguerre
    >>> grad(lambda a: roots_genlaguerre(1, a)[0][0])(0.5)
    np.float64(1.0)
    """
    n, a = known_integer(n, "n", "roots_genlaguerre"), floating(alpha)
    k = np.arange(1.0, n)
    diagonal = 2 * np.arange(float(n)) + a + 1
    return _nodes(diagonal, k * (k + a), sc.gamma(a + 1), mu)
