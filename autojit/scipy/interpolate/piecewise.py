"""Piecewise polynomials of ``scipy.interpolate``, such as splines from their values and slopes.

Values, places and queries may be traced, and have derivatives. Traced places are not checked to
increase.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from autojit.ir.core.shapes import normalize_axis
from autojit.scipy.arguments import at_hand, either
from autojit.scipy.linalg.banded import solve_banded
from autojit.scipy.registry import answers_class, returns_array


def interval_of(x: Any, points: Any) -> Any:
    """The interval of sorted places that has each point; the first or the last one beyond them."""
    return np.clip(np.searchsorted(x, points, side="right") - 1, 0, x.shape[0] - 2)


@answers_class("scipy.interpolate.PPoly")
class PPoly:
    """A piecewise polynomial: ``sum(c[m, i] * (t - x[i]) ** (k - m))`` for t from x[i] to x[i + 1].

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import PPoly
    >>> p = PPoly(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([0.0, 1.0, 2.0]))
    >>> grad(lambda t: p(t))(0.5), grad(lambda t: p(t))(1.5)
    (np.float64(1.0), np.float64(2.0))
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self.c: Any = either(c)
        self.x: Any = either(x)
        self.axis = axis
        if axis:
            self.c = np.moveaxis(np.moveaxis(self.c, axis, 0), axis + 1, 1)
        self.extrapolate = True if extrapolate is None else extrapolate

    def _like(self, c: Any) -> PPoly:
        made = PPoly(c, self.x, self.extrapolate)
        made.axis = self.axis
        return made

    @returns_array
    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value of the polynomial or of a derivative at points."""
        if nu:
            derived = self.derivative(nu) if nu > 0 else self.antiderivative(-nu)
            return derived(x, 0, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        points = either(x)
        t = np.reshape(points, (-1,))
        first, end = self.x[0], self.x[-1]
        if isinstance(extrapolate, str) and extrapolate == "periodic":
            t = first + np.mod(t - first, end - first)
        i = interval_of(self.x, t)
        rest = self.c.shape[2:]
        off = np.reshape(t - self.x[i], (-1, *[1] * len(rest)))
        total = self.c[0][i]
        for row in range(1, self.c.shape[0]):
            total = total * off + self.c[row][i]
        if extrapolate is False:
            inside = np.logical_and(t >= first, t <= end)
            total = np.where(np.reshape(inside, off.shape), total, np.nan)
        total = np.reshape(total, (*points.shape, *rest))
        if not self.axis:
            return total
        n = points.ndim
        order = [*range(n, n + self.axis), *range(n), *range(n + self.axis, total.ndim)]
        return np.transpose(total, order)

    def derivative(self, nu: int = 1) -> PPoly:
        """The derivative, a piecewise polynomial."""
        if nu < 0:
            return self.antiderivative(-nu)
        k = self.c.shape[0] - 1
        if nu > k:
            return self._like(0.0 * self.c[:1])
        powers = np.arange(k, nu - 1, -1)
        factors = np.array([math.perm(int(p), nu) for p in powers], float)
        kept = self.c[: k + 1 - nu]
        return self._like(kept * np.reshape(factors, (-1, *[1] * (kept.ndim - 1))))

    def antiderivative(self, nu: int = 1) -> PPoly:
        """The continuous antiderivative that is 0 at the first place."""
        if nu <= 0:
            return self.derivative(-nu)
        k = self.c.shape[0]
        factors = np.reshape(np.arange(k, 0, -1.0), (-1, *[1] * (self.c.ndim - 1)))
        raised = self.c / factors
        width = np.reshape(self.x[1:] - self.x[:-1], (-1, *[1] * (self.c.ndim - 2)))
        pieces = 0.0 * raised[0]
        for row in range(k):
            pieces = (pieces + raised[row]) * width
        before = np.cumsum(pieces, axis=0) - pieces
        made = self._like(np.concatenate([raised, before[None]]))
        if made.extrapolate == "periodic":
            made.extrapolate = False
        return made if nu == 1 else made.antiderivative(nu - 1)

    @returns_array
    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        if isinstance(extrapolate, str):
            raise ValueError(
                "integrate does not cover periodic extrapolation of traced values: pass "
                "extrapolate=True"
            )
        whole = self.antiderivative()
        whole.axis = 0
        made = whole(either(b), 0, extrapolate) - whole(either(a), 0, extrapolate)
        return made


def _given(x: Any, y: Any, axis: int) -> tuple[Any, Any, Any, int]:
    """The places, their distances (shaped to broadcast with y), the values with the axis in front,
    and the axis."""
    known, x, y = at_hand(x), either(x), either(y)
    axis = normalize_axis(axis, y.ndim)
    if x.ndim != 1 or x.shape[0] < 2:
        raise ValueError("`x` must be 1-dimensional, and contain at least 2 elements.")
    if y.shape[axis] != x.shape[0]:
        raise ValueError(f"The length of `y` along `axis`={axis} doesn't match the length of `x`")
    y = np.moveaxis(y, axis, 0)
    dx = x[1:] - x[:-1]
    if known is not None and np.any(np.diff(known) <= 0):
        raise ValueError("`x` must be strictly increasing sequence.")
    return x, np.reshape(dx, (-1, *[1] * (y.ndim - 1))), y, axis


@answers_class("scipy.interpolate.CubicHermiteSpline")
class CubicHermiteSpline(PPoly):
    """The piecewise cubic with given values and slopes.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import CubicHermiteSpline
    >>> grad(lambda d: CubicHermiteSpline([0.0, 1.0], [0.0, 0.0], d)(0.5))(np.zeros(2))
    array([ 0.125, -0.125])
    """

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, dx, y, axis = _given(x, y, axis)
        self._set(x, dx, y, np.moveaxis(either(dydx), axis, 0), axis, extrapolate)

    def _set(self, x: Any, dx: Any, y: Any, slopes: Any, axis: int, extrapolate: Any) -> None:
        secant = (y[1:] - y[:-1]) / dx
        t = (slopes[:-1] + slopes[1:] - 2 * secant) / dx
        c = np.stack([t / dx, (secant - slopes[:-1]) / dx - t, slopes[:-1] + 0 * t, y[:-1] + 0 * t])
        super().__init__(c, x, extrapolate)
        self.axis = axis


@answers_class("scipy.interpolate.PchipInterpolator")
class PchipInterpolator(CubicHermiteSpline):
    """The monotone piecewise cubic (Fritsch and Butland, SIAM J. Sci. Comput. 5 (1984), 300-304).

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import PchipInterpolator
    >>> grad(lambda y: PchipInterpolator([0.0, 1.0, 2.0], y)(1.0))(np.array([0.0, 1.0, 3.0]))
    array([0., 1., 0.])
    """

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, dx, y, axis = _given(x, y, axis)
        self._set(x, dx, y, _monotone(dx, (y[1:] - y[:-1]) / dx), axis, extrapolate)


def _monotone(h: Any, m: Any) -> Any:
    """The slopes at all places, from the distances h and the secants m."""
    if m.shape[0] == 1:
        return np.concatenate([m, m])
    flat = np.logical_or(np.sign(m[1:]) != np.sign(m[:-1]), m[1:] * m[:-1] == 0)
    w1, w2 = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    before, after = np.where(flat, 1.0, m[:-1]), np.where(flat, 1.0, m[1:])
    inner = np.where(flat, 0.0, (w1 + w2) / (w1 / before + w2 / after))
    first = _end_slope(h[0], h[1], m[0], m[1])
    final = _end_slope(h[-1], h[-2], m[-1], m[-2])
    return np.concatenate([first[None], inner, final[None]])


def _end_slope(h0: Any, h1: Any, m0: Any, m1: Any) -> Any:
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = np.logical_and(np.sign(m0) != np.sign(m1), np.abs(d) > 3.0 * np.abs(m0))
    return np.where(np.sign(d) != np.sign(m0), 0.0, np.where(steep, 3.0 * m0, d))


@answers_class("scipy.interpolate.Akima1DInterpolator")
class Akima1DInterpolator(CubicHermiteSpline):
    """Akima's piecewise cubic (J. ACM 17 (1970), 589-602), or the modified Akima cubic.

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import Akima1DInterpolator
    >>> f = lambda y: Akima1DInterpolator(np.arange(5.0), y)(1.5)
    >>> np.round(grad(f)(np.array([0.0, 1.0, 4.0, 9.0, 16.0])).sum(), 9)
    np.float64(1.0)
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        if method not in ("akima", "makima"):
            raise NotImplementedError(f"`method`={method} is unsupported.")
        x, dx, y, axis = _given(x, y, axis)
        secants = (y[1:] - y[:-1]) / dx
        if y.shape[0] == 2:
            slopes = np.concatenate([secants, secants])
        else:
            slopes = _local_slopes(secants, method)
        extrapolate = False if extrapolate is None else extrapolate
        self._set(x, dx, y, slopes, axis, extrapolate)


def _local_slopes(m: Any, method: str) -> Any:
    left = 2.0 * m[:1] - m[1:2]
    right = 2.0 * m[-1:] - m[-2:-1]
    m = np.concatenate([2.0 * left - m[:1], left, m, right, 2.0 * right - m[-1:]])
    change = np.abs(m[1:] - m[:-1])
    f1, f2 = change[2:], change[:-2]
    if method == "makima":
        size = np.abs(m[1:] + m[:-1])
        f1, f2 = f1 + 0.5 * size[2:], f2 + 0.5 * size[:-2]
    both = f1 + f2
    known = both > 1e-9 * np.max(both)
    share = f2 / np.where(known, both, 1.0)
    return np.where(known, m[1:-2] + share * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))


@answers_class("scipy.interpolate.CubicSpline")
class CubicSpline(CubicHermiteSpline):
    """The twice differentiable piecewise cubic (de Boor, "A Practical Guide to Splines", 1978).

    >>> from autojit import grad
    >>> from autojit.scipy.interpolate import CubicSpline
    >>> x = np.linspace(0.0, 3.0, 20)
    >>> round(float(grad(lambda t: CubicSpline(x, np.sin(x))(t))(1.0)), 3)      # cos(1)
    0.54
    """

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        x, dx, y, axis = _given(x, y, axis)
        periodic = isinstance(bc_type, str) and bc_type == "periodic"
        if extrapolate is None:
            extrapolate = "periodic" if periodic else True
        secant = (y[1:] - y[:-1]) / dx
        if periodic:
            slopes = _periodic_slopes(dx, secant)
        else:
            slopes = _spline_slopes(dx, y, secant, _ends(bc_type, y))
        self._set(x, dx, y, slopes, axis, extrapolate)


#: The order and the value of the derivative at an end, by SciPy's names for them.
_NAMED = {"clamped": (1, 0.0), "natural": (2, 0.0)}


def _ends(bc_type: Any, y: Any) -> list[Any]:
    """For each end, ``"not-a-knot"`` or the order and the value of a derivative."""
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(pair) != 2:
        raise ValueError("`bc_type` must contain 2 elements to specify start and end conditions.")
    found: list[Any] = []
    for one in pair:
        one = _NAMED.get(one, one) if isinstance(one, str) else one
        if isinstance(one, str):
            if one != "not-a-knot":
                raise ValueError(f"bc_type={one} is not allowed.")
            found.append(one)
            continue
        order, value = one
        if order not in (1, 2):
            raise ValueError("The specified derivative order must be 1 or 2.")
        found.append((order, either(value) + 0 * y[0]))
    return found


def _spline_slopes(dx: Any, y: Any, secant: Any, ends: list[Any]) -> Any:
    """The slopes for continuous second derivatives, from a tridiagonal system."""
    n = y.shape[0]
    if n == 2:
        ends = [(1, secant[0]) if isinstance(e, str) else e for e in ends]
    if n == 3 and all(isinstance(e, str) for e in ends):  # a parabola
        bend = (secant[1] - secant[0]) / (dx[0] + dx[1])
        middle = (dx[0] * secant[1] + dx[1] * secant[0]) / (dx[0] + dx[1])
        return np.stack([secant[0] - bend * dx[0], middle, secant[1] + bend * dx[1]])
    h = np.reshape(dx, (-1,))
    left = _end_row(ends[0], h, dx, y, secant, 1)
    right = _end_row(ends[1], h[::-1], dx[::-1], y[::-1], secant[::-1], -1)
    zero = 0 * h[:1]
    ab = np.stack([
        np.concatenate([zero, left[1][None], h[: n - 2]]),
        np.concatenate([left[0][None], 2 * (h[:-1] + h[1:]), right[0][None]]),
        np.concatenate([h[1:], right[1][None], zero]),
    ])  # fmt: skip
    inner = 3 * (dx[1:] * secant[:-1] + dx[:-1] * secant[1:])
    b = np.concatenate([left[2][None], inner, right[2][None]])
    return np.reshape(solve_banded((1, 1), ab, np.reshape(b, (n, -1))), b.shape)


def _end_row(end: Any, h: Any, dx: Any, y: Any, secant: Any, way: int) -> tuple[Any, Any, Any]:
    """The two coefficients and the right side of the equation at one end.

    The arrays begin at that end; ``way`` is 1 for the left end and -1 for the right end.
    """
    if isinstance(end, str):
        both, span = h[0] + h[1], dx[0] + dx[1]
        right = ((dx[0] + 2 * span) * dx[1] * secant[0] + dx[0] ** 2 * secant[1]) / span
        return h[1], both, right
    order, value = end
    if order == 1:
        return 0 * h[0] + 1.0, 0 * h[0], value
    return 2 * h[0], h[0], -way * 0.5 * value * dx[0] ** 2 + way * 3 * (y[1] - y[0])


def _periodic_slopes(dx: Any, secant: Any) -> Any:
    """The slopes of a periodic spline, by the full matrix of the cyclic system."""
    n = secant.shape[0]
    if n == 1:
        return np.concatenate([secant, secant])
    h, before = np.reshape(dx, (-1,)), np.roll(np.reshape(dx, (-1,)), 1)
    unit = np.eye(n)
    matrix = (2 * (h + before))[:, None] * unit
    matrix = matrix + h[:, None] * np.roll(unit, -1, axis=1) + before[:, None] * np.roll(unit, 1, 1)
    right = 3 * (dx * np.roll(secant, 1, axis=0) + np.roll(dx, 1, axis=0) * secant)
    slopes = np.reshape(np.linalg.solve(matrix, np.reshape(right, (n, -1))), right.shape)
    return np.concatenate([slopes, slopes[:1]])
