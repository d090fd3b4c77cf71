"""Polynomials through points, and radial basis functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autojit.functions.polynomials.traced import Poly1d
from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import at_hand, either, known, refused
from autojit.scipy.registry import answers, answers_class, returns_array


class _Polynomial:
    """The polynomial through points, in Lagrange's form, which is exact at the points too."""

    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        places, values = at_hand(xi), either(yi)
        self.xi: Any = either(xi)
        self.axis: int = normalize_axis(axis, values.ndim)
        self._rows = np.moveaxis(values, self.axis, 0)
        if places is not None and len(np.unique(places)) < places.size:
            raise refused("scipy.interpolate.KroghInterpolator", "repeated points, which "
                          "prescribe derivatives, are not covered.")  # fmt: skip

    @returns_array
    def __call__(self, x: Any) -> Any:
        points = either(x)
        flat = np.reshape(points, (-1,))
        n = self.xi.shape[0]
        others = np.nonzero(~np.eye(n, dtype=bool))[1].reshape(n, n - 1)
        apart = self.xi[:, None] - self.xi[others]
        factors = (flat[:, None, None] - self.xi[others]) / apart
        made = np.tensordot(np.prod(factors, axis=-1), self._rows, 1)
        made = np.reshape(made, (*points.shape, *self._rows.shape[1:]))
        m = points.ndim
        order = [*range(m, m + self.axis), *range(m), *range(m + self.axis, made.ndim)]
        return np.transpose(made, order)


@answers_class("scipy.interpolate.BarycentricInterpolator")
class BarycentricInterpolator(_Polynomial):
    """The polynomial through values yi at places xi.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import BarycentricInterpolator
    >>> f = BarycentricInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    >>> round(float(grad(lambda t: f(t))(1.0)), 9)
    2.0
    """

    def __init__(
        self, xi: Any, yi: Any, axis: int = 0, *, wi: Any = None, rng: Any = None,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(xi, yi, axis)


@answers_class("scipy.interpolate.KroghInterpolator")
class KroghInterpolator(_Polynomial):
    """Like :class:`BarycentricInterpolator`; repeated places are refused."""


@answers("scipy.interpolate.barycentric_interpolate")
@returns_array
def barycentric_interpolate(
    xi: Any, yi: Any, x: Any, axis: int = 0, *, der: int = 0, rng: Any = None
) -> Any:
    """The polynomial through points, at x.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import barycentric_interpolate
    >>> grad(lambda y: barycentric_interpolate([0.0, 1.0], y, 0.25))(np.ones(2))
    array([0.75, 0.25])
    """
    if der:
        raise refused("scipy.interpolate.barycentric_interpolate", "der is not covered: "
                      "differentiate by x.")  # fmt: skip
    return BarycentricInterpolator(xi, yi, axis)(x)


@answers("scipy.interpolate.krogh_interpolate")
@returns_array
def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """The polynomial through points, at x.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import krogh_interpolate
    >>> grad(lambda y: krogh_interpolate([0.0, 1.0], y, 0.25))(np.ones(2))
    array([0.75, 0.25])
    """
    if der:
        raise refused("scipy.interpolate.krogh_interpolate", "der is not covered: differentiate "
                      "by x.")  # fmt: skip
    return KroghInterpolator(xi, yi, axis)(x)


@answers("scipy.interpolate.lagrange")
def lagrange(x: Any, w: Any) -> Any:
    """The polynomial through values w in a few places x, by its coefficients (``np.poly1d``).

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import lagrange
    >>> grad(lambda w: lagrange([0.0, 1.0], w)(0.25))(np.zeros(2))
    array([0.75, 0.25])
    """
    places, values = either(x), either(w)
    n = places.shape[0]
    total: Any = np.zeros(n)
    for j in range(n):
        part = values[j : j + 1]
        for k in range(n):
            if k != j:
                factor = np.stack([np.ones(()), -places[k]])
                part = np.convolve(part, factor / (places[j] - places[k]))
        total = total + part
    return Poly1d(total)


def _thin_plate(r: Any) -> Any:
    zero = r == 0
    return np.where(zero, 0.0, r**2 * np.log(np.where(zero, 1.0, r)))


#: Each kernel as a function of distance, and the least degree of its polynomial (-1: none).
_KERNELS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linear": (lambda r: -r, 0),
    "thin_plate_spline": (_thin_plate, 1),
    "cubic": (lambda r: r**3, 1),
    "quintic": (lambda r: -(r**5), 2),
    "multiquadric": (lambda r: -np.sqrt(r**2 + 1), 0),
    "inverse_multiquadric": (lambda r: 1 / np.sqrt(r**2 + 1), -1),
    "inverse_quadratic": (lambda r: 1 / (r**2 + 1), -1),
    "gaussian": (lambda r: np.exp(-(r**2)), -1),
}
_SCALE_FREE = ("linear", "thin_plate_spline", "cubic", "quintic")


@answers_class("scipy.interpolate.RBFInterpolator")
class RBFInterpolator:
    """Radial basis functions and a polynomial through scattered values; ``neighbors`` is refused.

    Fasshauer, "Meshfree Approximation Methods with MATLAB", 2007.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import RBFInterpolator
    >>> y = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> f = RBFInterpolator(y, 2 * y[:, 0])
    >>> np.round(grad(lambda x: f(x)[0])(np.array([[1.5]])), 6)
    array([[2.]])
    """

    def __init__(
        self, y: Any, d: Any, neighbors: Any = None, smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline", epsilon: Any = None, degree: Any = None,
    ) -> None:  # fmt: skip
        if neighbors is not None:
            raise refused("scipy.interpolate.RBFInterpolator", "neighbors= is not covered.")
        kernel = kernel.lower()
        if kernel not in _KERNELS:
            raise ValueError(f"`kernel` must be one of {set(_KERNELS)}.")
        if epsilon is None:
            if kernel not in _SCALE_FREE:
                raise ValueError(f"`epsilon` must be specified if `kernel` is not one of "
                                 f"{set(_SCALE_FREE)}.")  # fmt: skip
            epsilon = 1.0
        self._y, values = either(y), either(d)
        self._kernel, least = _KERNELS[kernel]
        degree = (
            max(least, 0) if degree is None else int(known(degree, "degree", "RBFInterpolator"))
        )
        if least < 0 and degree == 0:
            degree = 0
        self._powers = _monomials(self._y.shape[1], degree)
        self._epsilon, self._rest = either(epsilon), values.shape[1:]
        low, high = np.min(self._y, axis=0), np.max(self._y, axis=0)
        self._shift = (high + low) / 2
        width = (high - low) / 2
        self._scale = np.where(width == 0, 1.0, width)
        self._solve(values, either(smoothing))

    def _solve(self, values: Any, smoothing: Any) -> None:
        p, r = self._y.shape[0], self._powers.shape[0]
        polynomial = self._polynomial(self._y)
        radial = self._kernel(self._distances(self._y, self._y))
        radial = radial + smoothing * np.eye(p)
        matrix = np.concatenate([
            np.concatenate([radial, polynomial], axis=1),
            np.concatenate([polynomial.T, np.zeros((r, r))], axis=1),
        ])  # fmt: skip
        right = np.concatenate(
            [np.reshape(values, (p, -1)), np.zeros((r, int(np.prod(self._rest))))]
        )
        self._c = np.linalg.solve(matrix, right)

    def _distances(self, x: Any, y: Any) -> Any:
        apart = (x[:, None, :] - y[None, :, :]) * self._epsilon
        return np.linalg.norm(apart, axis=-1)

    def _polynomial(self, x: Any) -> Any:
        scaled = (x - self._shift) / self._scale
        return np.prod(scaled[:, None, :] ** self._powers, axis=-1)

    def __call__(self, x: Any) -> Any:
        points = either(x)
        rows = [self._kernel(self._distances(points, self._y)), self._polynomial(points)]
        made = np.concatenate(rows, axis=1) @ self._c
        return np.reshape(made, (points.shape[0], *self._rest))


def _monomials(n: int, degree: int) -> np.ndarray:
    """The exponents of all monomials of n variables up to a degree."""
    if degree < 0:
        return np.zeros((0, n), int)
    grid = np.stack(np.meshgrid(*[np.arange(degree + 1)] * n, indexing="ij"), axis=-1)
    powers = grid.reshape(-1, n)
    return powers[powers.sum(axis=1) <= degree]
