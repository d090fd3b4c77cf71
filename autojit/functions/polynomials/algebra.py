"""Polynomials as vectors of coefficients, the highest power first.

NumPy drops leading coefficients that are zero; a traced coefficient counts as nonzero, so that
the number of coefficients is known.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from autojit.ir.core.halves import kind_of
from autojit.ir.core.types import is_half
from autojit.protocols.lifting import as_tracer, dtype_of, shape_of
from autojit.protocols.registry import implements

from .traced import Poly1d, coefficients, is_poly1d


def _as_given(result: Any, *operands: Any) -> Any:
    """The result as a polynomial object if one of the operands is one."""
    return Poly1d(result) if any(map(is_poly1d, operands)) else result


@implements(np.polyval)
def polyval(p: Any, x: Any) -> Any:
    x = coefficients(x) if is_poly1d(x) else x
    result: Any = np.zeros(shape_of(x), dtype_of(x))
    for coefficient in coefficients(p):
        result = result * x + coefficient
    return result


def _coefficients(p: Any) -> Any:
    return as_tracer(coefficients(p))


def _padded(a: Any, n: int) -> Any:
    missing = n - shape_of(a)[0]
    return np.concatenate([np.zeros(missing, dtype_of(a)), a]) if missing else a


def _both(a1: Any, a2: Any) -> list[Any]:
    both = [np.atleast_1d(coefficients(a)) for a in (a1, a2)]
    longest = max(shape_of(a)[0] for a in both)
    return [_padded(a, longest) for a in both]


@implements(np.polyadd)
def polyadd(a1: Any, a2: Any) -> Any:
    return _as_given(np.add(*_both(a1, a2)), a1, a2)


@implements(np.polysub)
def polysub(a1: Any, a2: Any) -> Any:
    return _as_given(np.subtract(*_both(a1, a2)), a1, a2)


@implements(np.polymul)
def polymul(a1: Any, a2: Any) -> Any:
    factors: list[Any] = [np.atleast_1d(coefficients(a)) for a in (a1, a2)]
    factors = [a if shape_of(a)[0] else np.zeros(1, dtype_of(a)) for a in factors]
    return _as_given(np.convolve(*factors), a1, a2)


@implements(np.polydiv)
def polydiv(u: Any, v: Any) -> Any:
    """The remainder has one coefficient less than the divisor, even if its leading ones are 0."""
    dividend, divisor = (np.atleast_1d(coefficients(a)) + 0.0 for a in (u, v))
    kind = np.result_type(dtype_of(dividend), dtype_of(divisor))
    rest, n = as_tracer(dividend).astype(kind), shape_of(divisor)[0]
    steps = shape_of(rest)[0] - n + 1
    if steps < 1:
        return _as_given(np.zeros(1, kind), u, v), _as_given(rest, u, v)
    quotient, scale = [], 1.0 / divisor[0]
    for _ in range(steps):
        quotient.append(scale * rest[0])
        rest = np.concatenate([rest[1:n] - quotient[-1] * divisor[1:], rest[n:]])
    if n == 1:
        rest = np.zeros(1, kind)
    return _as_given(np.stack(quotient), u, v), _as_given(rest, u, v)


@implements(np.polyder, known=("m",))
def polyder(p: Any, m: int = 1) -> Any:
    m, c = index(m), _coefficients(p)
    if m < 0:
        raise ValueError("np.polyder: m, the order of the derivative, must be positive")
    for _ in range(m):
        c = c[:-1] * np.arange(c.shape[0] - 1, 0, -1)
    return _as_given(c, p)


@implements(np.polyint, known=("m",))
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    m, c = index(m), _coefficients(p)
    if m < 0:
        raise ValueError("np.polyint: m, the order of the integral, must be positive")
    constants = np.atleast_1d(np.zeros(m) if k is None else k)
    if shape_of(constants)[0] == 1 and m > 1:
        constants = constants[0] * np.ones(m)
    if shape_of(constants)[0] < m:
        raise ValueError("np.polyint: k must be a number, or have m entries")
    for i in range(m):
        c = np.concatenate([c / np.arange(c.shape[0], 0, -1), constants[i : i + 1]])
    return _as_given(c, p)


@implements(np.poly)
def poly(seq_of_zeros: Any) -> Any:
    """The coefficients are complex if the roots are complex."""
    roots = np.atleast_1d(seq_of_zeros)
    if len(shape_of(roots)) == 2:
        roots = np.linalg.eigvals(roots)
    elif len(shape_of(roots)) > 2:
        raise ValueError("np.poly takes a 1-D array of roots, or a square matrix")
    is_wide = kind_of(dtype_of(roots)) in "fc" and not is_half(dtype_of(roots))
    kind = dtype_of(roots) if is_wide else np.dtype(np.float64)
    result: Any = np.ones(1, kind)
    for k in range(shape_of(roots)[0]):
        zero = np.zeros(1, kind)
        result = np.concatenate([result, zero]) - roots[k] * np.concatenate([zero, result])
    return result if shape_of(roots)[0] else 1.0


@implements(np.roots)
def roots(p: Any) -> Any:
    """The eigenvalues of the companion matrix; the first coefficient must not be zero."""
    c = as_tracer(np.atleast_1d(coefficients(p)))
    if c.ndim != 1:
        raise ValueError("np.roots: p must be a row of coefficients")
    c = c if kind_of(c.dtype) in "fc" else c.astype(np.float64)
    n = c.shape[0]
    if n < 2:
        return np.zeros(0)
    first = (-c[1:] / c[0])[None]
    below = np.eye(n - 2, n - 1, dtype=c.dtype)
    return np.linalg.eigvals(np.concatenate([first, below]))


@implements(np.vander, known=("N",))
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    powers = range(shape_of(x)[0] if N is None else N)
    x = x.astype(np.promote_types(dtype_of(x), int))
    if not powers:
        return x[:, None][:, :0]
    return np.stack([x**k for k in (powers if increasing else reversed(powers))], axis=1)


@implements(np.polyfit, known=("deg",))
def polyfit(
    x: Any, y: Any, deg: int, rcond: float | None = None, full: bool = False, w: Any = None,
    cov: Any = False,
) -> Any:  # fmt: skip
    """Fit by least squares; as in NumPy, the columns are scaled to length 1."""
    order = index(deg) + 1
    x, y = as_tracer(x) + 0.0, as_tracer(y) + 0.0
    _check_points(x, y, order)
    matrix, right = vander(x, order), y
    if w is not None:
        w = as_tracer(w) + 0.0
        matrix, right = matrix * w[:, None], right * (w[:, None] if y.ndim == 2 else w)
    scale = np.sqrt(np.sum(matrix * matrix, axis=0))
    matrix = matrix / scale
    rcond = x.shape[0] * np.finfo(x.dtype).eps if rcond is None else rcond
    found, residuals, rank, singular = np.linalg.lstsq(matrix, right, rcond)
    result = (found.T / scale).T
    if full:
        return result, residuals, rank, singular, rcond
    return (result, _covariance(matrix, scale, residuals, x, y, cov)) if cov else result


def _check_points(x: Any, y: Any, order: int) -> None:
    if order < 1:
        raise ValueError("np.polyfit: deg must be at least 0")
    if x.ndim != 1 or not x.size:
        raise TypeError("np.polyfit: x must be a row of at least one point")
    if y.ndim not in (1, 2) or y.shape[0] != x.shape[0]:
        raise TypeError("np.polyfit: y must have as many rows as x has points")


def _covariance(matrix: Any, scale: Any, residuals: Any, x: Any, y: Any, cov: Any) -> Any:
    base = np.linalg.inv(matrix.T @ matrix) / np.outer(scale, scale)
    factor: Any = 1.0
    if cov != "unscaled":
        points, order = matrix.shape
        if points <= order:
            raise ValueError("np.polyfit: cov=True needs more points than deg + 1")
        factor = residuals / (points - order)
    return base * factor if y.ndim == 1 else base[:, :, None] * factor
