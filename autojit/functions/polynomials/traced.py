"""``np.poly1d`` with traced coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.protocols.lifting import as_tracer
from autojit.tracing.created_arrays import bare
from autojit.tracing.tracer import Tracer


def is_poly1d(x: Any) -> bool:
    return isinstance(x, np.poly1d)


def coefficients(p: Any) -> Any:
    """The coefficients of a polynomial; anything else is returned unchanged."""
    return p.coeffs if is_poly1d(p) else p


class Poly1d(np.poly1d):
    """A polynomial that keeps all leading coefficients.

    >>> from autojit import grad
    >>> grad(lambda c: (np.poly1d([c, 1.0]) ** 2)(3.0))(2.0)
    np.float64(42.0)
    """

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        given = coefficients(c_or_r)
        row: Any = np.atleast_1d(as_tracer(bare(given)))
        if row.ndim > 1:
            raise ValueError("np.poly1d: the polynomial must be a row of coefficients")
        if r:
            row = as_tracer(np.poly(row))
        self.__dict__["coeffs"] = row
        self._variable = variable or getattr(c_or_r, "variable", "x")

    @property
    def coeffs(self) -> Any:
        return self.__dict__["coeffs"]

    @coeffs.setter
    def coeffs(self, value: Any) -> None:
        raise AttributeError(
            "the coefficients of an np.poly1d cannot be replaced: create a new polynomial"
        )

    c = coef = coefficients = coeffs

    @property
    def roots(self) -> Any:
        return np.roots(self.coeffs)

    r = roots

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.coeffs.__array__(*args, **kwargs)

    def __neg__(self) -> Poly1d:
        return Poly1d(-self.coeffs)

    def __mul__(self, other: Any) -> Poly1d:
        if _is_number(other):
            return Poly1d(self.coeffs * other)
        return Poly1d(np.polymul(self.coeffs, coefficients(other)))

    __rmul__ = __mul__

    def __add__(self, other: Any) -> Poly1d:
        return Poly1d(np.polyadd(self.coeffs, coefficients(other)))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Poly1d:
        return Poly1d(np.polysub(self.coeffs, coefficients(other)))

    def __rsub__(self, other: Any) -> Poly1d:
        return Poly1d(np.polysub(coefficients(other), self.coeffs))

    def __pow__(self, n: Any) -> Poly1d:
        result = Poly1d(np.ones(1))
        for _ in range(n):
            result = result * self
        return result

    def __truediv__(self, other: Any) -> Any:
        if _is_number(other):
            return Poly1d(self.coeffs / other)
        quotient, rest = np.polydiv(self.coeffs, coefficients(other))
        return Poly1d(quotient), Poly1d(rest)

    def __rtruediv__(self, other: Any) -> Any:
        if _is_number(other):
            return Poly1d(other / self.coeffs)
        quotient, rest = np.polydiv(coefficients(other), self.coeffs)
        return Poly1d(quotient), Poly1d(rest)

    def __call__(self, value: Any) -> Any:
        if is_poly1d(value):
            result = Poly1d(np.zeros(1))
            for c in self.coeffs:
                result = result * value + c
            return result
        return np.polyval(self.coeffs, value)

    def __eq__(self, other: object) -> Any:
        if not is_poly1d(other):
            return NotImplemented
        return np.array_equal(self.coeffs, coefficients(other))

    __hash__ = None

    def __getitem__(self, power: int) -> Any:
        degree = self.coeffs.shape[0] - 1
        return self.coeffs[degree - power] if 0 <= power <= degree else 0

    def integ(self, m: Any = 1, k: Any = 0) -> Poly1d:
        return Poly1d(np.polyint(self.coeffs, m, k))

    def deriv(self, m: Any = 1) -> Poly1d:
        return Poly1d(np.polyder(self.coeffs, m))


def _is_number(x: Any) -> bool:
    return np.isscalar(x) or (isinstance(x, Tracer) and x.ndim == 0)
