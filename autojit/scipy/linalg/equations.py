"""Linear and quadratic equations for matrices, as in ``scipy.linalg``.

Derivatives come from the equations (the implicit function theorem), not from the method that found
the solution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.control_flow.control import while_loop
from autojit.scipy.arguments import floating, refused
from autojit.scipy.registry import answers
from autojit.solvers.implicit import custom_linear_solve, custom_root
from autojit.transformations.derivatives import stop_gradient

#: Newton's iterations converge quadratically; only one that does not converge takes this many.
MOST_STEPS = 100


def _h(a: Any) -> Any:
    return np.conjugate(a.T)


def _linear(matvec: Callable[[Any], Any], q: Any, matrix: Callable[[], Any]) -> Any:
    """The x with ``matvec(x) = q``, from the matrix of this map on ``ravel(x)``."""

    def solve(_: Any, y: Any) -> Any:
        return np.reshape(np.linalg.solve(matrix(), np.ravel(y)), y.shape)

    def transposed(_: Any, y: Any) -> Any:
        return np.reshape(np.linalg.solve(matrix().T, np.ravel(y)), y.shape)

    return custom_linear_solve(matvec, q, solve, transposed)


@answers("scipy.linalg.solve_sylvester")
def solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The x with ``a x + x b = q``.

    For traced matrices, it solves for all m n elements of x at once, which takes (m n)**3
    operations. Raises ``numpy.linalg.LinAlgError`` if a and -b have a common eigenvalue.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import solve_sylvester
    >>> grad(lambda q: solve_sylvester(np.eye(2), np.eye(2), q)[0, 1])(np.ones((2, 2)))
    array([[0. , 0.5],
           [0. , 0. ]])
    """
    a, b, q = floating(a), floating(b), floating(q)
    m, n = a.shape[0], b.shape[0]
    return _linear(
        lambda x: a @ x + x @ b,
        q,
        lambda: np.kron(a, np.eye(n)) + np.kron(np.eye(m), b.T),
    )


@answers("scipy.linalg.solve_continuous_lyapunov")
def solve_continuous_lyapunov(a: Any, q: Any) -> Any:
    """The x with ``a x + x a^H = q``; see :func:`solve_sylvester`.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import solve_continuous_lyapunov
    >>> grad(lambda q: solve_continuous_lyapunov(np.eye(2), q)[0, 1])(np.ones((2, 2)))
    array([[0. , 0.5],
           [0. , 0. ]])
    """
    a = floating(a)
    return solve_sylvester(a, _h(a), q)


@answers("scipy.linalg.solve_discrete_lyapunov")
def solve_discrete_lyapunov(a: Any, q: Any, method: Any = None) -> Any:
    """The x with ``a x a^H - x + q = 0``.

    Traced equations are solved for all elements at once, for any ``method``.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import solve_discrete_lyapunov
    >>> f = lambda a: solve_discrete_lyapunov(a * np.eye(2), np.eye(2))[0, 0]
    >>> round(float(grad(f)(0.5)), 9)                       # of 1 / (1 - a ** 2)
    1.777777778
    """
    a, q = floating(a), floating(q)
    n = a.shape[0]
    return _linear(
        lambda x: x - a @ x @ _h(a), q, lambda: np.eye(n * n) - np.kron(a, np.conjugate(a))
    )


def stable_sylvester(a: Any, b: Any, q: Any) -> Any:
    """The x with ``a x + x b = q`` if all eigenvalues of a and b have positive real parts.

    It uses Newton's iteration for the sign of a matrix (Roberts, Int. J. Control 32 (1980),
    677-687), which takes O(n**3) operations. It is for use in solvers, because its derivative is
    that of the iteration.
    """

    def step(state: Any) -> Any:
        a, b, q, n, change = state
        inverse_a, inverse_b = np.linalg.inv(a), np.linalg.inv(b)
        scale = np.where(change > 1e-2, np.sqrt(_size(inverse_a) / _size(a)), 1.0)
        new_q = (scale * q + inverse_a @ q @ inverse_b / scale) / 2
        new_a = (scale * a + inverse_a / scale) / 2
        new_b = (scale * b + inverse_b / scale) / 2
        return new_a, new_b, new_q, n + 1, _change(new_a, a) + _change(new_b, b)

    state = (a, b, q, np.int64(0), 1.0 + 0 * q[0, 0])
    return while_loop(lambda s: _unfinished(s[3], s[4]), step, state)[2] / 2


def sign_of(a: Any) -> Any:
    """The sign of a matrix, by Newton's iteration, scaled by norms.

    Higham, "Functions of Matrices", 2008, 5.5.
    """

    def step(state: Any) -> Any:
        a, n, change = state
        inverse = np.linalg.inv(a)
        scale = np.where(change > 1e-2, np.sqrt(_size(inverse) / _size(a)), 1.0)
        new = (scale * a + inverse / scale) / 2
        return new, n + 1, _change(new, a)

    state = (a, np.int64(0), 1.0 + 0 * a[0, 0])
    return while_loop(lambda s: _unfinished(s[1], s[2]), step, state)[0]


def _size(a: Any) -> Any:
    return np.sqrt(np.sum(a * a))


def _change(new: Any, old: Any) -> Any:
    return _size(new - old) / _size(new)


def _unfinished(count: Any, change: Any) -> Any:
    """Whether to go on; as convergence is quadratic, a change after one of 1e-9 is rounding."""
    return np.logical_and(count < MOST_STEPS, change > 1e-9)


def implied(
    residual: Callable[[Any], Any],
    found: Any,
    solve: Callable[[Any], Any],
    transposed: Callable[[Any], Any],
) -> Any:
    """A root that was found, with the derivatives that follow from ``residual(root) = 0``.

    ``solve`` solves with the residual's derivative at the root, ``transposed`` with its transpose.
    """

    def tangent(derivative: Callable[[Any], Any], y: Any) -> Any:
        return custom_linear_solve(derivative, y, lambda _, y: solve(y), lambda _, y: transposed(y))

    return custom_root(residual, stop_gradient(found), lambda _, x: x, tangent)


@answers("scipy.linalg.solve_continuous_are")
def solve_continuous_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """The stabilising x with ``a^T x + x a - (x b + s) r^-1 (b^T x + s^T) + q = 0``.

    It comes from the sign of the Hamiltonian matrix (Roberts 1980) and Newton steps. Traced
    matrices must be real, and ``e`` is refused: multiply a and b by its inverse.

    >>> from autojit import grad
    >>> from autojit.scipy.linalg import solve_continuous_are
    >>> one = np.eye(1)
    >>> f = lambda a: solve_continuous_are(a * one, one, one, one)[0, 0]   # a + sqrt(a ** 2 + 1)
    >>> round(float(grad(f)(0.75)), 9)
    1.6
    """
    a, b, q, r = _real("scipy.linalg.solve_continuous_are", e, a, b, q, r)
    if s is not None:  # by completing the square
        gain = np.linalg.solve(r, np.atleast_2d(floating(s)).T)
        a, q = a - b @ gain, q - np.atleast_2d(floating(s)) @ gain
    g, n = b @ np.linalg.solve(r, b.T), a.shape[0]

    def residual(x: Any) -> Any:
        return a.T @ x + x @ a - x @ g @ x + q

    rows = [np.concatenate([a, -g], axis=1), np.concatenate([-q, -a.T], axis=1)]
    sign = stop_gradient(sign_of(np.concatenate(rows)))
    left = np.concatenate([sign[:n, n:], sign[n:, n:] + np.eye(n)])
    right = -np.concatenate([sign[:n, :n] + np.eye(n), sign[n:, :n]])
    found = np.linalg.solve(left.T @ left, left.T @ right)
    for _ in range(2):  # Newton-Kleinman steps
        closed = g @ found - a
        found = found + stable_sylvester(closed.T, closed, residual(found))
    closed = g @ found - a
    return implied(
        residual,
        found,
        lambda y: -stable_sylvester(closed.T, closed, y),
        lambda y: -stable_sylvester(closed, closed.T, y),
    )


def _real(name: str, e: Any, *matrices: Any) -> list[Any]:
    if e is not None:
        raise refused(name, "e= is not covered; multiply a and b by its inverse.")
    given = [np.atleast_2d(floating(m)) for m in matrices]
    if any(m.dtype.kind == "c" for m in given):
        raise refused(name, "complex matrices are not covered.")
    return given


@answers("scipy.linalg.solve_discrete_are")
def solve_discrete_are(
    a: Any, b: Any, q: Any, r: Any, e: Any = None, s: Any = None, balanced: bool = True
) -> Any:
    """The stabilising x with ``x = a^T x a - (a^T x b + s) (r + b^T x b)^-1 (b^T x a + s^T) + q``.

    It comes from doubling (Chu, Fan, Lin and Wang, Int. J. Control 77 (2004), 767-788). Traced
    matrices must be real, and ``e`` is refused: multiply a and b by its inverse.

    >>> from autojit import jit
    >>> from autojit.scipy.linalg import solve_discrete_are
    >>> one = np.eye(1)
    >>> np.round(jit(solve_discrete_are)(one, one, one, one), 6)      # the golden ratio
    array([[1.618034]])
    """
    a, b, q, r = _real("scipy.linalg.solve_discrete_are", e, a, b, q, r)
    if s is not None:
        gain = np.linalg.solve(r, np.atleast_2d(floating(s)).T)
        a, q = a - b @ gain, q - np.atleast_2d(floating(s)) @ gain
    g, unit = b @ np.linalg.solve(r, b.T), np.eye(a.shape[0])

    def residual(x: Any) -> Any:
        return a.T @ x @ np.linalg.solve(unit + g @ x, a) - x + q

    def double(state: Any) -> Any:
        a, g, h, n, _ = state
        inner = np.linalg.solve(unit + g @ h, np.concatenate([a, g], axis=1))
        first, second = inner[:, : a.shape[0]], inner[:, a.shape[0] :]
        new = h + a.T @ h @ first
        return a @ first, g + a @ second @ a.T, new, n + 1, _change(new, h)

    state = (a, g, q, np.int64(0), 1.0 + 0 * a[0, 0])
    found = while_loop(lambda s: _unfinished(s[3], s[4]), double, state)[2]
    closed = np.linalg.solve(unit + g @ found, a)
    return implied(residual, found, lambda y: -_stein(closed.T, y), lambda y: -_stein(closed, y))


def _stein(a: Any, q: Any) -> Any:
    """The x with ``x - a x a^T = q`` if all eigenvalues of a lie in the unit disk (Smith)."""

    def double(state: Any) -> Any:
        a, x, n, _ = state
        new = x + a @ x @ a.T
        return a @ a, new, n + 1, _size(new - x) / np.maximum(_size(new), 1e-300)

    state = (a, q, np.int64(0), 1.0 + 0 * q[0, 0])
    return while_loop(lambda s: _unfinished(s[2], s[3]), double, state)[1]
